"""The picker as data for the panel, and the panel's answer understood. Pure."""

from collections.abc import Mapping
from typing import Any

from maia_kernel.neutral import line
from maia_kernel.questions import ChoiceAnswer, ChoiceQuestion


def choice_view(question: ChoiceQuestion) -> dict[str, Any]:
    """The picker as the panel's `question` trait. Options are told by their place in the list."""
    return {
        "kind": "choice",
        "id": question.id,
        "title": line(question.title),
        "options": [
            {
                "label": line(option.label),
                "detail": line(option.detail),
                "group": line(option.group),
            }
            for option in question.options
        ],
    }


def choice_answer(content: Mapping[str, Any], question: ChoiceQuestion) -> ChoiceAnswer | None:
    """What the panel sent: a place in the list, or null for leaving; None when it is no answer."""
    if content.get("id") != question.id:
        return None
    picked = content.get("index")
    if picked is None:
        return ChoiceAnswer(None)
    if isinstance(picked, int) and 0 <= picked < len(question.options):
        return ChoiceAnswer(question.options[picked].value)
    return None
