"""What is known of models without asking anybody: windows, abilities, prices.

Families stand in `models.toml`; prices come from the offline catalogue of genai-prices. A model that
neither knows works: guesses for its abilities, None for its price.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from maia_kernel.providers.base import Capabilities
from maia_kernel.usage import Usage

ThinkingStyle = Literal["adaptive", "always", "mixed", "budget", "effort", "none"]

# Whose list price a spec's provider charges; a server of the person's own has no price.
_PRICED = ("anthropic", "openai")
# SAP AI Core's spelling, `anthropic--claude-4.5-sonnet`; the vendor's is `claude-sonnet-4-5`.
_SAP_CLAUDE = re.compile(r"^anthropic--claude-(\d+)(?:\.(\d+))?-([a-z]+)")
_UNKNOWN_WINDOW = 128_000  # a remote model that nobody described


@dataclass(frozen=True, slots=True)
class Family:
    """One row of `models.toml`; `provider` is where it is found when a spec names none."""

    match: tuple[str, ...] = ()
    provider: str | None = None
    context_window: int | None = None
    max_output: int | None = None
    images: bool = False
    pdf: bool = False
    cache: bool = False
    thinking: ThinkingStyle = "none"


def family(model: str) -> Family | None:
    """The row for `model` (without a provider's prefix), or None."""
    lowered = _SAP_CLAUDE.sub(_vendors_own, model.lower().rpartition("/")[2])
    rows = _table()[0]
    return next(
        (row for row in rows if any(fnmatchcase(lowered, pattern) for pattern in row.match)), None
    )


def aliases() -> Mapping[str, str]:
    """Built-in short names -> spec; a person's settings come before them."""
    return _table()[1]


def provider_of(model: str) -> str | None:
    """The provider that serves `model` under its own name, or None."""
    row = family(model)
    return row.provider if row is not None and "/" not in model and "--" not in model else None


def capabilities(provider: str, model: str) -> Capabilities:
    """What `model` of `provider` can do, as far as the table says."""
    row = family(model)
    vendor = provider in _PRICED
    retries = 2 if vendor else 1  # a resend on a server of one's own pays a whole generation
    window = _UNKNOWN_WINDOW if vendor else None
    if row is None:
        return Capabilities(context_window=window, broken_retries=retries)
    return Capabilities(
        images=row.images,
        pdf=row.pdf,
        thinking=row.thinking != "none",
        cache=row.cache and provider == "anthropic",
        context_window=row.context_window or window,
        max_output=row.max_output,
        broken_retries=retries,
    )


def price(model: str, usage: Usage) -> float | None:
    """What `usage` costs in USD at list prices; None when nobody knows. `model` may be a spec."""
    provider, colon, name = model.partition(":")
    if not colon:
        known = provider_of(model)
        if known is None:
            return None
        provider, name = known, model
    if provider not in _PRICED:
        return None
    return _price(provider, name, usage)


def _price(provider: str, name: str, usage: Usage) -> float | None:
    # A heavy SDK: pydantic models of some two thousand prices.
    import genai_prices

    tokens = genai_prices.Usage(
        # genai-prices counts what the cache served and stored as part of the input.
        input_tokens=usage.context_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        found = genai_prices.calc_price(tokens, model_ref=name, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return float(found.total_price)


def _vendors_own(found: re.Match[str]) -> str:
    major, minor, name = found.groups()
    version = f"{major}-{minor}" if minor else major
    # The name came first with the fourth generation.
    return f"claude-{version}-{name}" if int(major) < 4 else f"claude-{name}-{version}"


@cache
def _table() -> tuple[tuple[Family, ...], Mapping[str, str]]:
    source = files("maia_kernel.providers") / "models.toml"
    data: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
    rows = tuple(Family(**{**row, "match": tuple(row["match"])}) for row in data["model"])
    return rows, data["aliases"]
