"""The trust card as data for the panel, and the panel's answer understood. Pure."""

from collections.abc import Mapping
from typing import Any

from maia_kernel.dialogue.trust import trust_lines, trust_note
from maia_kernel.neutral import line
from maia_kernel.questions import TrustAnswer, TrustQuestion
from maia_widgets.permission import Rows, piece


def trust_view(question: TrustQuestion) -> dict[str, Any]:
    """The card as the panel's `question` trait; the page asks for further rows."""
    rows = trust_rows(question)
    return {
        "kind": "trust",
        "id": question.id,
        "folder": line(question.folder),
        "note": trust_note(question),
        "display": {
            "type": "rows",
            "title": "",
            "size": "",
            "rows": piece(rows, 0),
            "total": len(rows),
            "lines": sum(kind != "hunk" for kind, _ in rows),
            "new": False,
        },
    }


def trust_rows(question: TrustQuestion) -> Rows:
    """All that would become active, under headings."""
    return [["hunk" if heading else "same", row] for heading, row in trust_lines(question)]


def trust_answer(content: Mapping[str, Any], question: TrustQuestion) -> TrustAnswer | None:
    """What the panel sent, or None when it is no answer to `question`."""
    if content.get("id") != question.id:
        return None
    match content.get("choice"):
        case "trust":
            return TrustAnswer("trust")
        case "later":
            return TrustAnswer("later")
        case "never":
            return TrustAnswer("never")
        case _:
            return None
