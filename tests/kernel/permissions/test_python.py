"""Python code as deny and ask rules see it, and what the card says of it."""

import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maia_kernel.permissions import Policy, Rule, RuleSource, Subject, decide, parse_rule
from maia_kernel.permissions.python import findings
from maia_kernel.permissions.reached import explained

CORPUS = Path(__file__).parents[2] / "corpora" / "python.toml"
SNIPPETS: list[dict[str, Any]] = tomllib.loads(CORPUS.read_text(encoding="utf-8"))["snippet"]


def policy(folder: Path, entry: dict[str, Any]) -> Policy:
    source = RuleSource("user", folder / "settings.json", folder)
    rules: list[Rule] = []
    for behavior in ("deny", "ask", "allow"):
        rules += [parse_rule(written, behavior, source) for written in entry.get(behavior, ())]
    return Policy(tuple(rules), "default", folder, Path.home())


def python(code: str) -> Subject:
    return Subject("Python", read_only=False, text=code, code=code)


@pytest.mark.parametrize("entry", SNIPPETS, ids=lambda entry: entry["code"][:40])
def test_corpus(entry: dict[str, Any], tmp_path: Path) -> None:
    """Given the rules of an entry, its code is decided and described as it says."""
    decision = decide(python(entry["code"]), policy(tmp_path, entry))
    assert decision.behavior == entry.get("expect", "ask"), decision
    assert {one.kind for one in findings(entry["code"])} == set(entry["found"])


def test_the_corpus_is_large_enough() -> None:
    """It holds at least eighty snippets, most of them hostile."""
    assert len(SNIPPETS) >= 80
    assert sum(entry.get("expect") == "deny" for entry in SNIPPETS) >= 60


def test_the_card_says_what_the_code_does(tmp_path: Path) -> None:
    """Given code that asks, the reason names the command, the file and the address."""
    code = "import os, requests\nos.system('make  all')\nopen('out.txt', 'w')\nrequests.get('https://example.com/a')"
    reason = decide(python(code), policy(tmp_path, {})).reason
    assert reason == (
        "Python can change things, so it asks first. This code runs a shell command: make all; "
        "writes out.txt; connects to https://example.com/a."
    )
    assert explained("1 + 1") == ""
    many = "\n".join(f"open('f{n}', 'w')" for n in range(20))
    assert explained(many).endswith("14 things more.")


@given(
    st.lists(
        st.sampled_from([entry["code"] for entry in SNIPPETS if "%%" not in entry["code"]]),
        max_size=3,
    )
)
def test_more_code_takes_no_finding_away(parts: list[str]) -> None:
    """Given snippets one after the other, each command, written file and address is still found."""
    every = [one for one in parts if "unreadable" not in {f.kind for f in findings(one)}]
    whole = set(findings("\n".join(every)))
    if any(one.kind == "unreadable" for one in whole):
        return
    for part in every:
        named = {one for one in findings(part) if one.what and one.kind != "read"}
        assert named <= whole


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    """Given any text at all, there is an answer."""
    findings(text)
    explained(text)


@pytest.mark.parametrize(
    "code",
    [
        "(" * 5_000 + ")" * 5_000,
        "a + " * 50_000 + "a",
        "x = 1\n" * 33_000,
        "s = s + s\n" * 2_000 + "__import__('os').system(s)",
        "a = b\nb = a\n" * 500 + "a('x')",
        "f(f'{x}' + " * 80 + "'a'" + ")" * 80,
        "!" + "a;" * 90_000,
        "open(" * 150 + ")" * 150,
        "x" * 300_000,
    ],
)
def test_tangled_code_is_given_up_soon(code: str) -> None:
    """Given code that is deep, long or refers to itself, an answer comes in bounded time."""
    started = time.monotonic()
    findings(code)
    assert time.monotonic() - started < 20
