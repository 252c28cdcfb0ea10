"""The corpora of commands: TOML files of groups, each with the rules in force and what must happen."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from maia_kernel.permissions import Behavior, Policy, Rule, RuleSource, Subject, decide, parse_rule

CORPORA = Path(__file__).parents[1] / "corpora"


@dataclass(frozen=True, slots=True)
class Case:
    """One command of a corpus; `rules` are pairs of behaviour and rule text."""

    file: str
    command: str
    expect: str
    rules: tuple[tuple[Behavior, str], ...]

    def decided(self, work: Path, home: Path) -> str:
        """What is decided about it in this working folder, with its rules."""
        return behavior(self.command, policy(work, home, self.rules))


def cases(corpus: str) -> tuple[Case, ...]:
    """Every entry of the files in `tests/corpora/<corpus>/`."""
    found: list[Case] = []
    for file in sorted((CORPORA / corpus).glob("*.toml")):
        for group in tomllib.loads(file.read_text(encoding="utf-8"))["group"]:
            behaviors: tuple[Behavior, ...] = ("allow", "ask", "deny")
            rules = tuple((name, rule) for name in behaviors for rule in group.get(name, ()))
            found += [
                Case(file.stem, command, group["expect"], rules) for command in group["commands"]
            ]
    return tuple(found)


def policy(work: Path, home: Path, rules: tuple[tuple[Behavior, str], ...] = ()) -> Policy:
    """The default policy of a working folder with these rules, as of a person's own settings."""
    source = RuleSource("user", None, work)
    return Policy(tuple(_parsed(text, name, source) for name, text in rules), "default", work, home)


def behavior(command: str, policy: Policy, folder: Path | None = None) -> str:
    """What is decided about a Bash command that starts in `folder`."""
    return decide(Subject("Bash", read_only=False, command=command, folder=folder), policy).behavior


def _parsed(text: str, name: Behavior, source: RuleSource) -> Rule:
    return parse_rule(text, name, source)
