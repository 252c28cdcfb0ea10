"""Effort words and thinking budgets, each as the other, for models that take only one of them."""

from typing import Literal

Effort = Literal["low", "medium", "high", "xhigh", "max"]

_BUDGETS: tuple[tuple[Effort, int], ...] = (
    ("low", 2_048),
    ("medium", 8_192),
    ("high", 16_384),
    ("xhigh", 32_768),
    ("max", 60_000),
)


def budget_of(effort: Effort) -> int:
    """Tokens of thinking that `effort` stands for."""
    return dict(_BUDGETS)[effort]


def effort_of(budget: int) -> Effort:
    """The smallest word that allows `budget` tokens."""
    return next((word for word, tokens in _BUDGETS if budget <= tokens), "max")
