"""The corpus of rules: calls, the rules in force, and what must be decided."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from maia_kernel.permissions import (
    PathAccess,
    Policy,
    Rule,
    RuleSource,
    Subject,
    decide,
    parse_rule,
)

CORPUS = Path(__file__).parents[2] / "corpora" / "rules.toml"
CASES: list[dict[str, Any]] = tomllib.loads(CORPUS.read_text(encoding="utf-8"))["case"]
WORK, HOME = Path("/srv/example/work"), Path("/home/example")
READERS, WRITERS = ("Read", "Glob", "Grep"), ("Edit", "Write", "NotebookEdit")


def subject(call: str, given: dict[str, str]) -> Subject:
    """The call that a case writes."""
    tool, _, rest = call.partition("(")
    inner, parameters = rest.removesuffix(")"), tuple(given.items())
    if tool == "Bash":
        return Subject(tool, read_only=False, command=inner, parameters=parameters)
    if tool in (*READERS, *WRITERS):
        home = inner.replace("~", str(HOME), 1) if inner.startswith("~/") else inner
        path = Path(os.path.normpath(WORK / home))
        access = PathAccess(path, path, write=tool in WRITERS)
        return Subject(tool, tool in READERS, (access,), text=str(path), parameters=parameters)
    return Subject(tool, read_only=False, text=inner, parameters=parameters)


def rules(case: dict[str, Any]) -> tuple[Rule, ...]:
    """The rules in force, allow first: the order of the files must not matter."""
    source = RuleSource("user", None, WORK)
    return tuple(
        parse_rule(written, behavior, source)  # type: ignore[arg-type]
        for behavior in ("allow", "ask", "deny")
        for written in case.get(behavior, ())
    )


@pytest.mark.parametrize("case", CASES, ids=[case["says"] for case in CASES])
def test_the_corpus_of_rules(case: dict[str, Any]) -> None:
    """Given the rules of a case, its call is decided as it says."""
    policy = Policy(rules(case), case.get("mode", "default"), WORK, HOME, resolve=lambda p: p)
    decision = decide(subject(case["call"], case.get("given", {})), policy)
    assert decision.behavior == case["expect"], decision.reason
