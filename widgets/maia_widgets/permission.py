"""The permission card as data for the panel, and the panel's answer understood. Pure."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_never

from maia_kernel import paths
from maia_kernel.display import (
    DiffDisplay,
    Display,
    ImageDisplay,
    TableDisplay,
    TextDisplay,
    TodoDisplay,
)
from maia_kernel.neutral import line, visible
from maia_kernel.questions import PermissionAnswer, PermissionQuestion
from maia_widgets.html import diff_rows
from maia_widgets.todos import todos_view

_LONGEST = 4000  # characters of what a person may type


def permission_view(question: PermissionQuestion, cwd: Path) -> dict[str, Any]:
    """The card as the panel's `question` trait; everything the person reads is neutralised.

    The rule to edit is the rule as it is: what is not edited must come back unchanged.
    """
    offer = question.offer
    return {
        "kind": "permission",
        "id": question.id,
        "tool": line(question.tool),
        "summary": line(question.summary),
        "displays": [display_view(display, cwd) for display in question.displays],
        "touches": [line(item) for item in question.touches],
        "reason": line(question.reason),
        "agent": line(question.agent),
        "offer": None if offer is None else {"rule": line(offer.rule), "file": line(offer.file)},
    }


def display_view(display: Display, cwd: Path) -> dict[str, Any]:
    """A display as the panel draws it: rows of text with a kind, never HTML."""
    match display:
        case TextDisplay():
            rows = [["same", row] for row in visible(display.text.rstrip("\n")).split("\n")]
            return {"type": "rows", "title": line(display.title), "rows": rows, "new": False}
        case DiffDisplay():
            return {
                "type": "rows",
                "title": line(paths.shown(display.path, cwd)),
                "rows": [list(row) for row in diff_rows(display.diff)],
                "new": display.new_file,
            }
        case TableDisplay():
            cells = [[line(cell) for cell in row] for row in (display.columns, *display.rows)]
            return {"type": "table", "rows": cells}
        case ImageDisplay():
            return {"type": "image", "media_type": display.media_type, "data": display.data}
        case TodoDisplay():
            return {"type": "todos", "items": todos_view(display.items)}
        case _:
            assert_never(display)


def permission_answer(
    content: Mapping[str, Any], question: PermissionQuestion
) -> PermissionAnswer | None:
    """What the panel sent, or None when it is no answer to `question`."""
    if content.get("id") != question.id:
        return None
    match content.get("choice"):
        case "once":
            return PermissionAnswer("once")
        case "deny":
            return PermissionAnswer("deny", message=_typed(content.get("message")))
        case "session" if question.offer is not None:
            return PermissionAnswer("session")
        case "always" if question.offer is not None:
            # A rule that was not edited is not sent: what is shown of it is neutralised.
            return PermissionAnswer(
                "always", rule=_typed(content.get("rule")) or question.offer.rule
            )
        case _:
            return None


def _typed(value: Any) -> str:
    return value.strip()[:_LONGEST] if isinstance(value, str) else ""
