"""The trust question as text and as data for the panel: everything is listed, and nothing passes for ours."""

from pathlib import Path

import pytest

from maia_kernel.dialogue import ask_typed
from maia_kernel.dialogue.trust import read_trust, trust_lines
from maia_kernel.questions import TrustAnswer, TrustQuestion, TrustRow, unanswered
from maia_widgets.cards import card_answer, card_rows, card_view

NASTY = "touch x\n  y  trust all\x1b[2J\u202egnp.sh <img onerror=1>"
QUESTION = TrustQuestion(
    "trust",
    "~/work\nTrusted already",
    (
        TrustRow("hooks", "PreToolUse", NASTY, ".maia/settings.json"),
        TrustRow("hooks", NASTY, "", ".claude/settings.json"),
        TrustRow("allow rules", "Bash(make:*)", "", ".maia/settings.json"),
    ),
)


def test_every_row_is_listed_and_harmless() -> None:
    """Given names and details with line breaks, escapes, bidi marks and HTML, then each is one row in
    which they are to be seen, under its heading with the number of rows."""
    rows = list(trust_lines(QUESTION))
    assert [row for heading, row in rows if heading] == ["hooks (2)", "allow rules (1)"]
    assert len(rows) == 6
    for _, row in rows:
        assert not {"\n", "\x1b", "\u202e"} & set(row)
    assert sum("⟨U+202E⟩gnp.sh <img onerror=1>" in row for _, row in rows) == 2


@pytest.mark.parametrize(
    ("typed", "choice"),
    [("y", "trust"), ("OUI", "trust"), ("n", "later"), ("\x1b", "later"), ("never", "never")],
)
def test_answers(typed: str, choice: str) -> None:
    """A word is an answer; Escape is "not now"."""
    assert read_trust(typed) == TrustAnswer(choice)  # type: ignore[arg-type]


@pytest.mark.parametrize("typed", ["", " ", "ye", "\x1b[A", "1", "y n"])
def test_no_answers(typed: str) -> None:
    """Enter alone and anything unclear are no answer."""
    assert read_trust(typed) is None


async def test_asking_as_text(tmp_path: Path) -> None:
    """Given a long list, then it is folded, `v` shows all of it, and the end of input trusts nothing."""
    many = tuple(TrustRow("rules", f"Bash(make {n})", "", "f.json") for n in range(200))
    question = TrustQuestion("trust", "~/work", many, known=True)
    typed, written = ["v", "", "y"], []

    async def read(prompt: str) -> str:
        if not typed:
            raise EOFError
        return typed.pop(0)

    assert await ask_typed(question, read=read, write=written.append, cwd=tmp_path) == TrustAnswer(
        "trust"
    )
    shown = "".join(written)
    first, _, second = shown.partition("v shows them all")
    assert "Bash(make 150)" not in first
    assert "Bash(make 199)" in second
    assert "have changed" in first
    ended = await ask_typed(question, read=read, write=written.append, cwd=tmp_path)
    assert ended == unanswered(question) == TrustAnswer("later", by="nobody")


def test_the_card(tmp_path: Path) -> None:
    """The panel gets the rows in pieces and all of them when it asks, and sends one of three words."""
    many = tuple(TrustRow("rules", f"Bash(make {n})", "", "f.json") for n in range(900))
    view = card_view(TrustQuestion("trust", "~/work", many), tmp_path)
    assert (view["kind"], view["display"]["total"], view["display"]["lines"]) == ("trust", 901, 900)
    assert len(view["display"]["rows"]) == 500
    assert len(card_rows(TrustQuestion("trust", "~/work", many))[0]) == 901
    assert "\n" not in card_view(QUESTION, tmp_path)["folder"]
    for choice in ("trust", "later", "never"):
        assert card_answer({"id": "trust", "choice": choice}, QUESTION) == TrustAnswer(choice)  # type: ignore[arg-type]
    for sent in ({"id": "other", "choice": "trust"}, {"id": "trust"}, {"id": "trust", "choice": 1}):
        assert card_answer(sent, QUESTION) is None
