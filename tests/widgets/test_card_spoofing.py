"""Cards cannot be spoofed: the corpus in tests/corpora/cards.toml, in the notebook and as text."""

import asyncio
import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maia_kernel.dialogue import ask_typed
from maia_kernel.display import DiffDisplay, TextDisplay
from maia_kernel.neutral import visible
from maia_kernel.questions import (
    ChoiceOption,
    ChoiceQuestion,
    FormField,
    FormOption,
    FormQuestion,
    PermissionQuestion,
    PlanQuestion,
    Question,
    RuleFile,
    RuleOffer,
    TrustQuestion,
    TrustRow,
)
from maia_widgets.cards import card_rows, card_view

CWD = Path("/proj")
CORPUS = Path(__file__).parent.parent / "corpora" / "cards.toml"
CASES: list[dict[str, Any]] = tomllib.loads(CORPUS.read_text(encoding="utf-8"))["case"]
OFFER = RuleOffer(("Bash(ls)",), (RuleFile("local", ".maia/settings.local.json"),))


def written(text: str) -> str:
    """A text of the corpus, its signs and repetitions resolved."""
    plain = re.sub(r"\\u\{([0-9A-F]+)\}", lambda m: chr(int(m[1], 16)), text)
    return re.sub(r"<(\d+)×([^>]+)>", lambda m: m[2] * int(m[1]), plain)


def asked(**fields: Any) -> PermissionQuestion:
    whole = {"tool": "Bash", "summary": "s", "displays": (), "reason": "r", "offer": OFFER} | fields
    return PermissionQuestion(id="1", **whole)


def form(**field: Any) -> FormQuestion:
    whole = {"question": "q", "header": "h", "options": (FormOption("a"), FormOption("b"))} | field
    return FormQuestion("1", (FormField(**whole),))


WITH: dict[str, Callable[[str], Question]] = {
    "command": lambda t: asked(summary=t, displays=(TextDisplay(t, "bash"),)),
    "diff": lambda t: asked(displays=(DiffDisplay("/proj/a.py", t),)),
    "summary": lambda t: asked(summary=t),
    "tool": lambda t: asked(tool=t),
    "reason": lambda t: asked(reason=t),
    "agent": lambda t: asked(agent=t),
    "path": lambda t: asked(touches=(t,)),
    "rule": lambda t: asked(offer=RuleOffer((t,), OFFER.files)),
    "header": lambda t: form(header=t),
    "question": lambda t: form(question=t),
    "option": lambda t: form(options=(FormOption(t), FormOption("b", t))),
    "preview": lambda t: form(options=(FormOption("a", preview=t), FormOption("b"))),
    "plan": lambda t: PlanQuestion("1", t),
    "title": lambda t: ChoiceQuestion("1", t, (ChoiceOption("a", "a"),)),
    "trust": lambda t: TrustQuestion("1", t, (TrustRow(t, t, f"{t}.", t),)),
    "label": lambda t: ChoiceQuestion("1", "t", (ChoiceOption("a", t, t, t),)),
}


def strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for part in value.values():
                yield from strings(part)
        case list():
            for part in value:
                yield from strings(part)


def in_notebook(question: Question) -> str:
    """Every text of the card, and the rows that it would ask for; pieces of one row joined."""
    view = card_view(question, CWD)
    json.dumps(view).encode()
    rows = [
        ("" if kind.endswith("-on") else "\n") + words
        for display in card_rows(question)
        for kind, words in display
    ]
    return "\n".join(strings(view)) + "".join(rows)


def as_text(question: Question) -> str:
    """All that is written, the rest of what is folded too."""
    shown: list[str] = []
    lines = ["v", "n"] if isinstance(question, PermissionQuestion) else ["q"]

    async def read(prompt: str) -> str:
        shown.append(f"{prompt}\n")
        if not lines:
            raise EOFError
        return lines.pop(0)

    asyncio.run(ask_typed(question, read=read, write=shown.append, cwd=CWD))
    whole = "".join(shown)
    whole.encode()
    return whole


def own_rows(shown: str) -> int:
    """Rows that stand behind no gutter."""
    return sum(not row.startswith(("  │", "  ┆")) for row in shown.splitlines())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_nothing_hides_and_nothing_pretends(case: dict[str, Any]) -> None:
    """Given a text of the corpus, both forms show it as the corpus says, hold no character that
    controls or hides, and the text form has as many rows of its own as with a harmless text."""
    text, question_with = written(case["text"]), WITH[case["field"]]
    question = question_with(text)
    whole = as_text(question)
    for shown in (in_notebook(question), whole.replace("\n  ┆ ", "")):
        for needed in case["shown"]:
            assert written(needed) in shown
        for absent in case.get("never", ()):
            assert written(absent) not in shown
        odd = {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
        assert odd <= {"\n", "\t"}
    folded = whole.count("more lines") > 0
    harmless = as_text(question_with("harmless"))
    # What is folded has a line that says so, and its choices are shown once more after all of it.
    assert own_rows(whole) == own_rows(harmless) or folded
    assert {row for row in whole.splitlines() if re.match("  [a-z]  ", row)} >= {
        row for row in harmless.splitlines() if re.match("  [ony]  ", row)
    }


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    """At least 34 cases, with names of their own, in every field of a question."""
    assert len(CASES) >= 34
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert {case["field"] for case in CASES} == set(WITH)


def decoded(shown: str) -> str:
    """What was shown, with its signs turned back."""
    plain = re.sub(r"⟨U\+([0-9A-F]+)⟩", lambda m: chr(int(m[1], 16)), shown)
    plain = re.sub(r"⟨␣×(\d+)⟩", lambda m: " " * int(m[1]), plain)
    plain = re.sub(r"⟨␉×(\d+)⟩", lambda m: "\t" * int(m[1]), plain)
    return re.sub("[\u2400-\u241f]", lambda m: chr(ord(m[0]) - 0x2400), plain.replace("␡", "\x7f"))


@given(
    st.text(
        st.one_of(
            st.characters(exclude_characters="⟨⟩␡␣␉", max_codepoint=0x2300),
            st.sampled_from(" \n\u202e\u0301\u0430\uff52\ufe0f\U000e0041/-a"),
        ),
        max_size=60,
    )
)
def test_what_is_shown_is_what_runs(text: str) -> None:
    """Whatever the text, what is shown of it can be turned back into it: nothing is lost."""
    assert decoded(visible(text)) == text
