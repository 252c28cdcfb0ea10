"""What was decided so far in a session: how often each rule spoke, and the last question or denial."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from maia_kernel.permissions.policy import Decision, Policy
from maia_kernel.permissions.rules import Rule
from maia_kernel.permissions.subject import Subject


@dataclass(frozen=True, slots=True)
class Noted:
    """A decision with what it was made from. `answer` is what the person said to a question."""

    tool: str
    summary: str
    subject: Subject
    policy: Policy
    decision: Decision
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Count:
    """How many calls, and the summary of the last one."""

    calls: int = 0
    last: str = ""


@dataclass(slots=True)
class Ledger:
    """Owned by a session. `last` is the last call that was not simply allowed.

    `blocked` and `blocked_in_a_row` count what the classifier of the mode auto stopped.
    """

    last: Noted | None = None
    blocked: int = 0
    blocked_in_a_row: int = 0
    _by_rule: dict[Rule, Count] = field(default_factory=dict)
    _others: dict[str, int] = field(default_factory=dict)

    def note(self, noted: Noted) -> None:
        """Count a decision under its rule, or under its behaviour where none decided."""
        rule, behavior = noted.decision.rule, noted.decision.behavior
        if rule is not None:
            self._by_rule[rule] = Count(self.of(rule).calls + 1, noted.summary)
        else:
            self._others[behavior] = self.without_rule(behavior) + 1
        if behavior != "allow":
            self.last = noted

    def answered(self, answer: str) -> None:
        """What the person said to the last question."""
        if self.last is not None:
            self.last = replace(self.last, answer=answer)

    def of(self, rule: Rule) -> Count:
        """The calls that `rule` decided."""
        return self._by_rule.get(rule, Count())

    def without_rule(self, behavior: str) -> int:
        """How many calls got this behaviour by no rule: only reading, the mode, the default."""
        return self._others.get(behavior, 0)


def parts(noted: Noted) -> Iterator[tuple[str, Decision]]:
    """The simple commands of a compound shell command, each with what is decided of it alone.

    Nothing for other calls, and for a command that is simple itself.
    """
    # The judge is loaded with the first decision.
    from maia_kernel.permissions import bash
    from maia_kernel.permissions.decision import decide

    if noted.subject.command is None:
        return
    commands = [c for c in bash.judge(noted.subject, noted.policy).script.commands if c.words]
    if len(commands) < 2:
        return
    for command in commands:
        alone = replace(noted.subject, command=command.raw, folder=command.folders[0])
        yield command.raw, decide(alone, noted.policy)
