"""Every kind of question as data for the panel, and the panel's answer understood. Pure."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_never

from maia_kernel.questions import (
    Answer,
    ChoiceQuestion,
    FormQuestion,
    PermissionQuestion,
    PlanQuestion,
    Question,
    TrustQuestion,
)
from maia_widgets.forms import form_answer, form_rows, form_view
from maia_widgets.permission import Rows, display_rows, permission_answer, permission_view
from maia_widgets.picker import choice_answer, choice_view
from maia_widgets.plan import plan_answer, plan_view
from maia_widgets.trust import trust_answer, trust_rows, trust_view


def card_view(question: Question, cwd: Path) -> dict[str, Any]:
    """The card as the panel's `question` trait; `kind` names the function that draws it."""
    match question:
        case PermissionQuestion():
            return permission_view(question, cwd)
        case ChoiceQuestion():
            return choice_view(question)
        case FormQuestion():
            return form_view(question)
        case PlanQuestion():
            return plan_view(question)
        case TrustQuestion():
            return trust_view(question)
        case _:
            assert_never(question)


def card_answer(content: Mapping[str, Any], question: Question) -> Answer | None:
    """What the page sent, or None when it is no answer to `question`."""
    match question:
        case PermissionQuestion():
            return permission_answer(content, question)
        case ChoiceQuestion():
            return choice_answer(content, question)
        case FormQuestion():
            return form_answer(content, question)
        case PlanQuestion():
            return plan_answer(content, question)
        case TrustQuestion():
            return trust_answer(content, question)
        case _:
            assert_never(question)


def card_rows(question: Question) -> list[Rows]:
    """The long texts of a card, by the numbers that the page asks for more of them with."""
    match question:
        case PermissionQuestion():
            return [display_rows(display) for display in question.displays]
        case FormQuestion():
            return form_rows(question)
        case TrustQuestion():
            return [trust_rows(question)]
        case ChoiceQuestion() | PlanQuestion():
            return []
        case _:
            assert_never(question)
