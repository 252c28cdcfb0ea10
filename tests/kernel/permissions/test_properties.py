"""What must hold for any rules and any commands."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maia_kernel.permissions import Policy, Rule, RuleSource, Subject, decide, parse_rule

FOLDER = Path("/nowhere/work")
SOURCE = RuleSource("user", None, FOLDER)
HARMLESS = ("ls", "cat a.txt", "npm test", "npm test -- -x", "git status", "echo hi", "make lint")
HARMFUL = ("rm x", "npm publish", "make", "curl http://example.com", "git push", "python x.py")
ALLOW = ("Bash(npm test:*)", "Bash(make lint)", "Bash(ls *)", "Bash(git status)", "Edit(src/**)")
DENY = (
    "Bash(rm:*)",
    "Bash(npm:*)",
    "Bash",
    "Read(.env)",
    "Edit",
    "Bash(git * x)",
    "Bash(*curl*)",
    "*",
)
JOINS = (
    "{a} && {b}", "{a} || {b}", "{a}; {b}", "{a} | {b}", "{a} & {b}", "{a}\n{b}", "({a}); {b}",
    "{{ {a}; {b}; }}", "if {a}; then {b}; fi", "while {a}; do {b}; done", "for i in 1; do {a}; {b}; done",
    "f() {{ {a}; }}; {b}; f", "! {a}; {b}", "case x in x) {a};; *) {b};; esac", "timeout 5 {a}; time {b}",
    "{a} |& {b}", "{a} 2>&1 | {b}", "echo $({a}) {b}", "{a} <({b})", "bash -c '{a}'; {b}", "{a} > out; {b}",
    "xargs {a}; {b}", "env {a}; {b}", "eval {a}; {b}",
)  # fmt: skip

commands = st.sampled_from([*HARMLESS, *HARMFUL])
joins = st.sampled_from(JOINS)


def rules(texts: list[str], behavior: str) -> tuple[Rule, ...]:
    """Parsed rules."""
    return tuple(parse_rule(text, behavior, SOURCE) for text in texts)  # type: ignore[arg-type]


def verdict(command: str, found: tuple[Rule, ...]) -> str:
    """What is decided."""
    return decide(
        Subject("Bash", read_only=False, command=command),
        Policy(found, "default", FOLDER, Path("/nowhere/home"), resolve=lambda path: path),
    ).behavior


@given(
    command=st.one_of(commands, st.text(alphabet="ls rm;|&$(){}'\"`\\\n<>*~/-a", max_size=24)),
    allow=st.lists(st.sampled_from(ALLOW), max_size=3),
    deny=st.lists(st.sampled_from(DENY), max_size=2),
    more=st.sampled_from(DENY),
)
@settings(max_examples=150, deadline=None)
def test_a_deny_never_allows_more(
    command: str, allow: list[str], deny: list[str], more: str
) -> None:
    """Given any rules, one more deny turns nothing into allow."""
    base = rules(allow, "allow") + rules(deny, "deny")
    before, after = verdict(command, base), verdict(command, base + rules([more], "deny"))
    assert after in (before, "deny") or (before, after) == ("allow", "ask")


@given(first=commands, second=commands, join=joins)
@settings(max_examples=200, deadline=None)
def test_a_construct_is_allowed_only_with_all_its_parts(first: str, second: str, join: str) -> None:
    """Given any construct of two commands, it is allowed only if each of them is."""
    found = rules(list(ALLOW), "allow")
    if verdict(join.format(a=first, b=second), found) == "allow":
        assert verdict(first, found) == "allow"
        assert verdict(second, found) == "allow"


@pytest.mark.parametrize("join", JOINS[:17])
def test_ordinary_constructs_of_allowed_commands_run(join: str) -> None:
    """Given two allowed commands, the ordinary constructs of them are allowed as well."""
    assert verdict(join.format(a="npm test", b="make lint"), rules(list(ALLOW), "allow")) == "allow"


@given(command=st.text(max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_text_is_decided(command: str) -> None:
    """Given any text at all, there is a decision and never an exception."""
    assert verdict(command, rules(["Bash(ls:*)"], "allow")) in ("allow", "ask")


@given(tail=st.text(alphabet=" ;|&$(){}[]'\"`\\\n\t\r<>*?~/-=#!ab1@%+", max_size=16))
@settings(max_examples=300, deadline=None)
def test_nothing_after_an_allowed_word_starts_another_command(tail: str) -> None:
    """Given `npm test` and any tail that could start a command named b, b is not run unasked."""
    command = f"npm test{tail}; b"
    assert verdict(command, rules(["Bash(npm test:*)"], "allow")) == "ask" or _quoted(command)


def _quoted(command: str) -> bool:
    """True when bash itself takes the last `; b` for part of a quoted word or a comment."""
    probe = f"npm() {{ :; }}; a() {{ :; }}; b() {{ echo REACHED; }}; {command}"
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            ["bash", "--norc", "-r", "-c", probe],
            capture_output=True, text=True, timeout=10, check=False, cwd=empty,
        )  # fmt: skip
    return "REACHED" not in done.stdout
