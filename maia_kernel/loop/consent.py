"""The permission step: decide, ask where the rules leave it open, remember what the person granted."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from maia_kernel.display import Display
from maia_kernel.errors import MaiaError, ToolError
from maia_kernel.events import Event, Notice, PermissionRequested, PermissionResolved
from maia_kernel.loop.redaction import redacted
from maia_kernel.messages import ToolUse
from maia_kernel.paths import shown
from maia_kernel.permissions import (
    Decision,
    Policy,
    Rule,
    RuleError,
    RuleSource,
    decide,
    parse_rule,
)
from maia_kernel.permissions.subject import Subject
from maia_kernel.ports import Ask, Clock, Secrets
from maia_kernel.questions import PermissionAnswer, PermissionQuestion, RuleOffer
from maia_kernel.texts import text


class Denied(ToolError):
    """The call may not run; the message tells the model why, `shown` the person, in their language."""

    def __init__(self, message: str, *, shown: str = "") -> None:
        super().__init__(message)
        self.shown = shown


@dataclass(slots=True)
class Consent:
    """Decides over the calls of one turn; questions are asked one at a time, in order.

    `policy` gives the rules in force at that moment, `grant` keeps a rule for the session,
    `write_rule` writes it to the person's settings and returns the shown path.
    """

    policy: Callable[[], Policy]
    ask: Ask
    grant: Callable[[Rule], None]
    write_rule: Callable[[str], str]
    offer_file: str
    emit: Callable[[Event], None]
    record: Callable[[str, str, str], None]
    clock: Clock
    secrets: Secrets
    timeout: float | None = None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def allowed(self, subject: Subject) -> bool:
        """True when `subject` may run without asking anybody."""
        return decide(subject, self.policy()).behavior == "allow"

    def refuse(self, use: ToolUse, subject: Subject) -> None:
        """Raise `Denied` for what may not run whoever is asked."""
        decision = decide(subject, self.policy())
        if decision.behavior == "deny":
            self._settle(decision, use)

    async def obtain(
        self, use: ToolUse, subject: Subject, summary: str, displays: tuple[Display, ...]
    ) -> float:
        """Return when the call may run, with the seconds spent waiting for a person.

        Raises:
            Denied: by a rule, the mode, the person, or because nobody can be asked.
        """
        decision = decide(subject, self.policy())
        if decision.behavior != "ask":
            return self._settle(decision, use)
        started = self.clock.monotonic()
        async with self._one_at_a_time:
            # Decided anew: the answer to an earlier question may cover this one too.
            decision = decide(subject, self.policy())
            if decision.behavior != "ask":
                self._settle(decision, use)
                return self.clock.monotonic() - started
            question = self._worded(use, subject, summary, displays, decision)
            answer = await self._question(question)
            self._apply(answer, question)
        return self.clock.monotonic() - started

    def _worded(
        self,
        use: ToolUse,
        subject: Subject,
        summary: str,
        displays: tuple[Display, ...],
        decision: Decision,
    ) -> PermissionQuestion:
        cwd, offer = self.policy().cwd, decision.offer
        touched = [access for access in subject.paths if access.write or not subject.read_only]
        question = PermissionQuestion(
            id=use.id,
            tool=use.name,
            summary=summary,
            displays=displays,
            reason=decision.reason,
            touches=tuple(dict.fromkeys(shown(access.resolved, cwd) for access in touched)),
            offer=None if offer is None else RuleOffer(offer, self.offer_file),
        )
        safe = redacted(question, self.secrets)
        # A rule with a secret in it must not be written, and without it would not be this rule.
        return safe if safe.offer == question.offer else replace(safe, offer=None)

    def _settle(self, decision: Decision, use: ToolUse) -> float:
        self.record(use.name, decision.behavior, decision.reason)
        if decision.behavior == "deny":
            raise Denied(
                f"Permission denied: {decision.reason}",
                shown=text("permissions_ask.refused", why=decision.reason),
            )
        return 0.0

    async def _question(self, question: PermissionQuestion) -> PermissionAnswer:
        self.emit(PermissionRequested(question.id, question))
        answer = PermissionAnswer("deny", by="interrupt")
        try:
            async with asyncio.timeout(self.timeout):
                given = await self.ask(question)
            if not isinstance(given, PermissionAnswer):
                raise TypeError(f"a permission question was answered by {type(given).__name__}")
            answer = given
        except TimeoutError:
            answer = PermissionAnswer("deny", text("permissions_ask.timeout"), by="nobody")
        finally:
            self.emit(PermissionResolved(question.id, question.tool, question.summary, answer))
        return answer

    def _apply(self, answer: PermissionAnswer, question: PermissionQuestion) -> None:
        self.record(question.tool, answer.choice, f"answered by {answer.by}")
        match answer.choice:
            case "once":
                return
            case "session" | "always":
                self._remember(answer, question)
            case "deny":
                raise self._denial(answer, question)

    def _remember(self, answer: PermissionAnswer, question: PermissionQuestion) -> None:
        rule_text = answer.rule.strip() or (question.offer.rule if question.offer else "")
        if not rule_text:
            return
        source = RuleSource("session", None, self.policy().cwd)
        try:
            rule = parse_rule(rule_text, "allow", source)
        except RuleError as error:
            # The call itself was allowed; only the remembered rule is no good.
            self.emit(
                Notice("warning", text("permissions_ask.bad_rule", rule=rule_text, cause=error))
            )
            return
        self.grant(rule)
        if answer.choice == "always":
            try:
                file = self.write_rule(rule_text)
            except MaiaError as error:
                self.emit(Notice("warning", str(error)))
            else:
                self.emit(
                    Notice("info", text("permissions_ask.written", rule=rule_text, file=file))
                )

    def _denial(self, answer: PermissionAnswer, question: PermissionQuestion) -> Denied:
        if answer.by == "nobody":
            offer = question.offer
            hint = (
                text("permissions_ask.nobody_rule", tool=question.tool, rule=offer.rule)
                if offer
                else text("permissions_ask.nobody", tool=question.tool)
            )
            self.emit(Notice("warning", hint))
            told = f" The user can allow it by the rule {offer.rule!r}." if offer else ""
            return Denied(f"Permission denied: nobody can be asked here.{told}", shown=hint)
        if answer.message:
            return Denied(
                f"The user denied this call and said: {answer.message}",
                shown=text("permissions_ask.denied_told", message=answer.message),
            )
        return Denied(
            "The user denied this call. Do not repeat it; ask what they want instead.",
            shown=text("permissions_ask.denied"),
        )
