"""The shell judge against its corpora, and against what bash really does with their commands."""

import os
import random
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest

from maia_kernel.permissions import Policy
from tests.support.corpora import Case, behavior, cases, policy
from tests.support.throwaway import (
    OUTSIDE_SECRET,
    VARIABLE_SECRET,
    Deed,
    Place,
    do,
    make_place,
    needs_bubblewrap,
)

SHELL = cases("shell")
ORDINARY = cases("ordinary")
UNWRITTEN = (
    "x" * 20_000, "ls " + "a " * 6_000, "(" * 300 + "ls" + ")" * 300, "ls\udcff", "cat a\ud800.txt",
    "ls; " * 2_000 + "rm x", "ls " + "\\\n" * 50 + "; rm x",
    "echo " + "$(" * 200 + "rm x" + ")" * 200, "eval " * 200 + "rm x", "env timeout -x 1 " * 200 + "rm x",
    "bash -c '" * 2 + "rm x''", "rm -rf " + "$a" * 3000 + "/x", "rm {a,b}" + "{a,b}" * 40, "ls " + "{a," * 99 + "}" * 99,
)  # fmt: skip
"""What no TOML file holds: long and deep commands, and half characters."""

ENDLESS = (":(){", "ls | ls &", "npm & npm &", "f() { f; }", "yes")
"""Parts of commands that take the machine with them: decided, but never run."""

SAMPLE = len(SHELL) if os.environ.get("MAIA_SOAK") else 15
SECRETS = (OUTSIDE_SECRET, VARIABLE_SECRET, "root:x:0:0")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A working folder in a repository, a home and a folder outside, with secrets."""
    return make_place(tmp_path_factory.mktemp("corpus") / "base")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The same without links that lead out: an ordinary project."""
    place = make_place(tmp_path_factory.mktemp("ordinary") / "base")
    for link in ("link-out", "link-file"):
        (place.work / link).unlink()
    return place


@pytest.mark.parametrize("file", sorted({case.file for case in SHELL}))
def test_each_command_is_decided_as_its_corpus_says(file: str, place: Place) -> None:
    """Given the rules in force, each command is asked, denied or run as written; none escapes."""
    wrong = [
        (case.command, found)
        for case in SHELL
        if case.file == file and (found := case.decided(place.work, place.home)) != case.expect
    ]
    assert wrong == []


def test_no_command_runs_for_want_of_rules(place: Place) -> None:
    """Given no rule at all, nothing runs that was not allowed with its rules."""
    bare = policy(place.work, place.home)
    harmful = [case.command for case in SHELL if case.expect != "allow"]
    assert [command for command in harmful if behavior(command, bare) == "allow"] == []


@pytest.mark.parametrize("command", UNWRITTEN, ids=range(len(UNWRITTEN)))
def test_what_is_too_long_or_broken_is_asked(command: str, place: Place) -> None:
    """Given a command longer, deeper or stranger than people write, it is asked."""
    rules = policy(place.work, place.home, (("allow", "Bash(ls:*)"), ("allow", "Bash(x*)")))
    assert behavior(command, rules) == "ask"


def test_ordinary_commands_are_decided_as_a_sensible_person_expects(project: Place) -> None:
    """Given no rules, 95 of 100 everyday commands run or ask as expected, and none runs unexpected."""
    decided = [(case, case.decided(project.work, project.home)) for case in ORDINARY]
    unexpected = [case.command for case, found in decided if found == "allow" != case.expect]
    needless = [case.command for case, found in decided if found != "allow" == case.expect]
    assert len(ORDINARY) > 300
    assert unexpected == []
    assert len(needless) <= len(ORDINARY) * 0.05, needless


def test_git_in_another_folder_asks(place: Place) -> None:
    """Given a shell that an earlier call left in a sub-folder, git there may be another repository."""
    bare = policy(place.work, place.home)
    assert behavior("git status", bare) == "allow"
    assert behavior("git status", bare, place.work / "sub") == "ask"


def test_the_corpus_is_large() -> None:
    """There are more than a thousand commands, each once in its file, in every category."""
    assert len({(case.file, case.command) for case in SHELL}) == len(SHELL) > 1500
    assert len({case.file for case in SHELL}) >= 15


@pytest.mark.soak
def test_what_runs_unasked_does_nothing_else(place: Place) -> None:
    """Given any command that runs unasked, bash starts only programs that may run by themselves."""
    needs_bubblewrap()
    everything = (*SHELL, *ORDINARY)
    allowed = [case for case in everything if case.decided(place.work, place.home) == "allow"]
    assert [fault for case in _some(allowed) for fault in _faults(case, place)] == []


@pytest.mark.soak
def test_the_corpus_holds_no_straw_men(place: Place) -> None:
    """Given the commands that hide an `rm`, most of them do run it when bash is let."""
    needs_bubblewrap()
    hiding = [
        case
        for case in SHELL
        if case.file in ("compound", "substitutions", "quoting", "functions", "builtins")
        and "rm x" in case.command
        and _may_run(case.command)
    ]
    tried = _some(hiding)
    ran = [case for case in tried if "rm" in do(case.command, place).names]
    assert len(ran) > len(tried) // 2


def _some(found: list[Case]) -> list[Case]:
    return random.Random(3).sample(found, min(SAMPLE, len(found)))


def _may_run(command: str) -> bool:
    # No argument of a program can hold a NUL.
    return "\0" not in command and not any(part in command for part in ENDLESS)


def _faults(case: Case, place: Place) -> list[str]:
    if not _may_run(case.command):
        return []
    deed = do(case.command, place)
    bare = policy(place.work, place.home)
    rules = policy(place.work, place.home, case.rules)
    unruled = behavior(case.command, bare) == "allow"
    return [f"{case.command!r}: {fault}" for fault in faults(deed, rules, unruled=unruled)]


def faults(deed: Deed, rules: Policy, *, unruled: bool) -> Iterable[str]:
    """What a command that ran unasked did beyond what it may; `unruled`: it needed no rule."""
    for start in deed.starts:
        if behavior(shlex.join(start.words), rules, start.folder) != "allow":
            yield f"started {start.words}"
    if unruled:
        yield from (f"changed {name}" for name in sorted(deed.changed))
        yield from (f"showed {secret}" for secret in SECRETS if secret in deed.output)


def test_a_place_shows_what_was_done(place: Place) -> None:
    """The record itself is true: programs behind wrappers, files changed, what was printed."""
    needs_bubblewrap()
    deed = do("env r\\m x; echo $SECRET; cat link-file", place)
    assert {"env", "rm", "cat"} == deed.names
    assert deed.changed == {"work/x"}
    assert VARIABLE_SECRET in deed.output
    assert OUTSIDE_SECRET in deed.output
    assert Path(place.work / "x").exists()
