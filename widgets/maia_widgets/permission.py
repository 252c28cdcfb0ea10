"""The permission card as data for the panel, and the panel's answer understood. Pure."""

from collections import Counter
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
from maia_kernel.neutral import line, shortened, visible
from maia_kernel.questions import (
    PermissionAnswer,
    PermissionQuestion,
    RefusedRules,
    RuleOffer,
    RulePlace,
)
from maia_widgets.html import diff_rows
from maia_widgets.todos import todos_view

Rows = list[list[str]]
"""Lines of a text or a diff, each with its kind."""

_LONGEST = 4000  # characters of what a person may type
_AT_ONCE = 500
"""Rows that the page gets at once; it asks for more. A page stays fast with 500 and with 40,000."""
_AT_ONCE_SIZE = 200_000  # characters
_ROW = 2_000  # characters
CONTINUED = "-on"
"""Ends the kind of a row that goes on with the one before."""
_SUMMARY = 300  # characters


def permission_view(question: PermissionQuestion, cwd: Path) -> dict[str, Any]:
    """The card as the panel's `question` trait; everything the person reads is neutralised."""
    offer, refused = question.offer, question.refused
    return {
        "kind": "permission",
        "id": question.id,
        "tool": line(question.tool),
        "summary": (
            shortened(question.summary, _SUMMARY) if question.displays else line(question.summary)
        ),
        "displays": [display_view(display, cwd) for display in question.displays],
        "touches": [line(item) for item in question.touches],
        "reason": line(question.reason),
        "agent": line(question.agent),
        "offer": None if offer is None else _offer_view(offer),
        "refused": None if refused is None else _refused_view(refused),
    }


def _offer_view(offer: RuleOffer) -> dict[str, Any]:
    files = [{"place": file.place, "path": line(file.path)} for file in offer.files]
    return {"rules": [line(rule) for rule in offer.rules], "files": files}


def _refused_view(refused: RefusedRules) -> dict[str, Any]:
    rules = [line(rule) for rule in refused.rules]
    return {"rules": rules, "place": refused.place, "fault": line(refused.fault)}


def display_view(display: Display, cwd: Path) -> dict[str, Any]:
    """A display as the panel draws it: rows of text with a kind, never HTML."""
    match display:
        case TextDisplay():
            return rows_view(line(display.title), display)
        case DiffDisplay():
            return rows_view(line(paths.shown(display.path, cwd)), display)
        case TableDisplay():
            cells = [[line(cell) for cell in row] for row in (display.columns, *display.rows)]
            return {"type": "table", "rows": cells}
        case ImageDisplay():
            return {"type": "image", "media_type": display.media_type, "data": display.data}
        case TodoDisplay():
            return {"type": "todos", "items": todos_view(display.items)}
        case _:
            assert_never(display)


def display_rows(display: Display) -> Rows:
    """All rows of a display, neutralised; none where it is not made of rows."""
    match display:
        case TextDisplay():
            rows = visible(display.text.rstrip("\n")).split("\n")
            return [part for row in rows for part in _parts("same", row)]
        case DiffDisplay():
            return [part for kind, row in diff_rows(display.diff) for part in _parts(kind, row)]
        case _:
            return []


def _parts(kind: str, row: str) -> Rows:
    """A row, or as many as it takes: a page stays fast with many rows, not with one of a megabyte."""
    parts = [row[place : place + _ROW] for place in range(0, len(row), _ROW)] or [""]
    return [[f"{kind}{CONTINUED if number else ''}", part] for number, part in enumerate(parts)]


def piece(rows: Rows, start: int) -> Rows:
    """The rows from `start` that the page gets at once; at least one, if there is one."""
    size, end = 0, start
    for _, words in rows[start : start + _AT_ONCE]:
        size += len(words)
        if end > start and size > _AT_ONCE_SIZE:
            break
        end += 1
    return rows[start:end]


def rows_view(title: str, display: TextDisplay | DiffDisplay) -> dict[str, Any]:
    """A text or a diff as the panel draws it, with the rows that the page gets at once."""
    rows = display_rows(display)
    kinds = Counter(kind for kind, _ in rows)
    size = f"+{kinds['add']:,} -{kinds['del']:,}" if isinstance(display, DiffDisplay) else ""
    return {
        "type": "rows",
        "title": title,
        "size": size,
        "rows": piece(rows, 0),
        "total": len(rows),
        "lines": sum(n for k, n in kinds.items() if k != "hunk" and not k.endswith(CONTINUED)),
        "new": isinstance(display, DiffDisplay) and display.new_file,
    }


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
            return PermissionAnswer("deny", message=typed(content.get("message")))
        case "session" if question.offer is not None:
            return PermissionAnswer("session")
        case "always" if question.offer is not None:
            return PermissionAnswer(
                "always", rules=_rules(content, question), place=_place(content, question.offer)
            )
        case _:
            return None


def _rules(content: Mapping[str, Any], question: PermissionQuestion) -> tuple[str, ...]:
    """The rules as the page has them: the place of one that was not edited, or what was typed."""
    shown = question.refused.rules if question.refused is not None else ()
    shown = shown or (question.offer.rules if question.offer is not None else ())
    sent = content.get("rules")
    rules = []
    for rule in sent if isinstance(sent, list) else ():
        if isinstance(rule, int) and 0 <= rule < len(shown):
            # What is shown of a rule is neutralised: unedited, it is the rule as it was.
            rules.append(shown[rule])
        elif words := typed(rule):
            rules.append(words)
    return tuple(rules)


def _place(content: Mapping[str, Any], offer: RuleOffer) -> RulePlace:
    known = [file.place for file in offer.files]
    return next((p for p in known if p == content.get("place")), known[0] if known else "local")


def typed(value: Any, limit: int = _LONGEST) -> str:
    """Words that a person typed; empty where the page sent something else."""
    return value.strip()[:limit] if isinstance(value, str) else ""
