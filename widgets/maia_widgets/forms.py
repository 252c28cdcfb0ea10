"""The model's questions as data for the panel, and the panel's answers understood. Pure."""

from collections.abc import Mapping
from typing import Any

from maia_kernel.display import TextDisplay
from maia_kernel.neutral import line, visible
from maia_kernel.questions import FormAnswer, FormField, FormQuestion
from maia_widgets.permission import Rows, display_rows, rows_view, typed


def form_view(question: FormQuestion) -> dict[str, Any]:
    """The form as the panel's `question` trait. Options are told by their place in the list."""
    numbers = iter(range(len(_previews(question))))
    return {
        "kind": "form",
        "id": question.id,
        "agent": line(question.agent),
        "fields": [
            {
                "header": line(field.header),
                "question": visible(field.question),
                "multiple": field.multiple,
                "options": [
                    {
                        "label": line(option.label),
                        "description": line(option.description),
                        "preview": {
                            **rows_view("", TextDisplay(option.preview)),
                            "number": next(numbers),
                        }
                        if option.preview
                        else None,
                    }
                    for option in field.options
                ],
            }
            for field in question.fields
        ],
    }


def form_rows(question: FormQuestion) -> list[Rows]:
    """The previews' rows, by their number in the view."""
    return [display_rows(TextDisplay(preview)) for preview in _previews(question)]


def _previews(question: FormQuestion) -> list[str]:
    return [o.preview for field in question.fields for o in field.options if o.preview]


def form_answer(content: Mapping[str, Any], question: FormQuestion) -> FormAnswer | None:
    """What the panel sent, or None when it is no answer to `question`: each field needs one."""
    if content.get("id") != question.id:
        return None
    if content.get("declined"):
        return FormAnswer(message=typed(content.get("message")))
    sent = content.get("fields")
    if not isinstance(sent, list) or len(sent) != len(question.fields):
        return None
    answers = [_chosen(given, field) for given, field in zip(sent, question.fields, strict=True)]
    known = tuple(answer for answer in answers if answer)
    return FormAnswer(known) if len(known) == len(question.fields) else None


def _chosen(given: Any, field: FormField) -> tuple[str, ...]:
    """The labels picked, then the words typed; empty where that cannot be an answer."""
    if not isinstance(given, Mapping) or not isinstance(given.get("picked"), list):
        return ()
    places = [place for place in given["picked"] if isinstance(place, int)]
    if not all(0 <= place < len(field.options) for place in places):
        return ()
    other = typed(given.get("other"))
    chosen = (*(field.options[place].label for place in places), *((other,) if other else ()))
    return chosen if field.multiple or len(chosen) == 1 else ()
