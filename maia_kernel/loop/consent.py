"""The permission step: decide, ask where the rules leave it open, remember what the person granted."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from maia_kernel.display import Display
from maia_kernel.errors import MaiaError, ToolError
from maia_kernel.events import Event, Notice, PermissionRequested, PermissionResolved
from maia_kernel.loop.auto import Auto
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
    is_known,
    parse_rule,
    whole_tool,
    would_allow,
)
from maia_kernel.permissions.ledger import Ledger, Noted
from maia_kernel.permissions.subject import Subject
from maia_kernel.ports import Ask, Clock, Secrets
from maia_kernel.questions import (
    Answer,
    PermissionAnswer,
    PermissionQuestion,
    Question,
    RefusedRules,
    RuleFile,
    RuleOffer,
    RulePlace,
    unanswered,
)
from maia_kernel.texts import text


class Denied(ToolError):
    """The call may not run; the message tells the model why, `shown` the person, in their language."""

    def __init__(self, message: str, *, shown: str = "") -> None:
        super().__init__(message)
        self.shown = shown


@dataclass(slots=True)
class Consent:
    """Decides over the calls of one turn; questions are asked one at a time, in order.

    `policy` gives the rules in force at that moment, `grant` keeps a rule for the session, `places`
    are the files that a rule can be written to, `write_rules` does it and returns the shown path.
    `ledger` is told what was decided. `waited` counts the seconds that tools waited for answers to
    questions of their own.
    """

    policy: Callable[[], Policy]
    ask: Ask
    grant: Callable[[Rule], None]
    write_rules: Callable[[tuple[str, ...], RulePlace], str]
    places: Mapping[RulePlace, RuleSource]
    emit: Callable[[Event], None]
    record: Callable[[str, str, str], None]
    clock: Clock
    secrets: Secrets
    ledger: Ledger
    auto: Auto
    timeout: float | None = None
    agent: str = ""
    waited: float = 0.0
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def allowed(self, subject: Subject) -> bool:
        """True when `subject` may run without asking anybody."""
        return decide(subject, self.policy()).behavior == "allow"

    def refuse(
        self, use: ToolUse, subject: Subject, summary: str, hook: Decision | None = None
    ) -> None:
        """Raise `Denied` for what may not run whoever is asked."""
        decision = decide(subject, self.policy(), hook)
        if decision.behavior == "deny":
            self._settle(self._noted(use, subject, summary, decision))

    async def put(self, question: Question, /) -> Answer:
        """Ask what a tool wants to know, in turn with the other questions. As `ports.Ask`.

        When nobody answers in time, the answer is nobody's.
        """
        started = self.clock.monotonic()
        try:
            async with self._one_at_a_time, asyncio.timeout(self.timeout):
                return await self.ask(redacted(question, self.secrets))
        except TimeoutError:
            return unanswered(question)
        finally:
            self.waited += self.clock.monotonic() - started

    async def obtain(
        self,
        use: ToolUse,
        subject: Subject,
        summary: str,
        displays: tuple[Display, ...],
        hook: Decision | None = None,
    ) -> float:
        """Return when the call may run, with the seconds spent waiting for a person.

        `hook` is what hooks decided.

        Raises:
            Denied: by a rule, the mode, the person, or because nobody can be asked.
        """
        policy = self.policy()
        decision = await self.auto.settle(decide(subject, policy, hook), use, policy)
        noted = self._noted(use, subject, summary, decision)
        if decision.behavior != "ask":
            return self._settle(noted)
        started = self.clock.monotonic()
        async with self._one_at_a_time:
            # Decided anew: the answer to an earlier question may cover this one too.
            anew = decide(subject, self.policy(), hook)
            if anew.behavior != "ask":
                self._settle(replace(noted, policy=self.policy(), decision=anew))
                return self.clock.monotonic() - started
            self.ledger.note(noted)
            question = self._worded(use, subject, summary, displays, decision)
            answer = await self._question(question, subject)
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
        cwd = self.policy().cwd
        touched = [access for access in subject.paths if access.write or not subject.read_only]
        question = PermissionQuestion(
            id=use.id,
            tool=use.name,
            summary=summary,
            displays=displays,
            reason=decision.reason,
            touches=tuple(dict.fromkeys(shown(access.resolved, cwd) for access in touched)),
            offer=self._offer(decision, cwd),
            agent=self.agent,
        )
        safe = redacted(question, self.secrets)
        # A rule with a secret in it must not be written, and without it would not be this rule.
        return safe if safe.offer == question.offer else replace(safe, offer=None)

    def _offer(self, decision: Decision, cwd: Path) -> RuleOffer | None:
        if not decision.offers:
            return None
        files = tuple(
            RuleFile(place, shown(source.file, cwd))
            for place, source in self.places.items()
            if source.file is not None
        )
        return RuleOffer(decision.offers, files)

    def _noted(self, use: ToolUse, subject: Subject, summary: str, decision: Decision) -> Noted:
        return Noted(use.name, self.secrets.redact(summary), subject, self.policy(), decision)

    def _settle(self, noted: Noted) -> float:
        decision = noted.decision
        self.ledger.note(noted)
        self.record(noted.tool, decision.behavior, decision.reason)
        if decision.behavior == "deny":
            raise Denied(
                f"Permission denied: {decision.reason}",
                shown=text("permissions_ask.refused", why=decision.reason),
            )
        return 0.0

    async def _question(self, question: PermissionQuestion, subject: Subject) -> PermissionAnswer:
        self.emit(PermissionRequested(question.id, question))
        answer = PermissionAnswer("deny", by="interrupt")
        try:
            async with asyncio.timeout(self.timeout):
                answer = await self._answer(question, subject)
        except TimeoutError:
            answer = PermissionAnswer("deny", text("permissions_ask.timeout"), by="nobody")
        finally:
            self.emit(PermissionResolved(question.id, question.tool, question.summary, answer))
        return answer

    async def _answer(self, question: PermissionQuestion, subject: Subject) -> PermissionAnswer:
        """The person's answer; asked again as long as the rules they typed are no good."""
        while True:
            given = await self.ask(question)
            if not isinstance(given, PermissionAnswer):
                raise TypeError(f"a permission question was answered by {type(given).__name__}")
            if given.choice not in ("session", "always") or question.offer is None:
                return given
            rules = tuple(rule.strip() for rule in given.rules) or question.offer.rules
            fault = self._fault(rules, given, subject)
            if not fault:
                return replace(given, rules=rules)
            refused = RefusedRules(rules, given.place, fault)
            question = redacted(replace(question, refused=refused), self.secrets)

    def _fault(
        self, rules: tuple[str, ...], answer: PermissionAnswer, subject: Subject
    ) -> str | None:
        """Why these rules are not kept; None when they are well formed and cover the call."""
        source, parsed = self._source(answer), []
        for rule in rules:
            if self.secrets.redact(rule) != rule:
                return text("permissions_ask.secret")
            named = None if "*" in rule.partition("(")[0] else whole_tool(rule, source)
            own = named is not None and named.tool == subject.tool  # of the project, of the person
            if named is not None and not own and not is_known(named):
                return text("permissions_ask.no_tool", rule=rule, tool=named.tool)
            try:
                parsed.append(parse_rule(rule, "allow", source))
            except RuleError as error:
                return text("permissions_ask.malformed", rule=rule, cause=error)
        if not would_allow(tuple(parsed), subject, self.policy()):
            key = "one" if len(rules) == 1 else "several"
            return text(f"permissions_ask.not_covered_{key}", rule=rules[0])
        return None

    def _source(self, answer: PermissionAnswer) -> RuleSource:
        """Where the rules of an answer are from; it says what their paths are relative to."""
        if answer.choice == "always":
            return self.places[answer.place]
        return RuleSource("session", None, self.policy().cwd)

    def _apply(self, answer: PermissionAnswer, question: PermissionQuestion) -> None:
        self.record(question.tool, answer.choice, f"answered by {answer.by}")
        self.ledger.answered(answer.choice)
        if answer.choice != "deny":
            self.ledger.blocked_in_a_row = 0
        match answer.choice:
            case "once":
                return
            case "session" | "always":
                self._remember(answer)
            case "deny":
                raise self._denial(answer, question)

    def _remember(self, answer: PermissionAnswer) -> None:
        source = self._source(answer)
        for rule in answer.rules:
            self.grant(parse_rule(rule, "allow", source))
        if answer.choice == "always":
            try:
                file = self.write_rules(answer.rules, answer.place)
            except MaiaError as error:
                self.emit(Notice("warning", str(error)))
            else:
                for rule in answer.rules:
                    self.emit(Notice("info", text("permissions_ask.written", rule=rule, file=file)))

    def _denial(self, answer: PermissionAnswer, question: PermissionQuestion) -> Denied:
        if answer.by == "nobody":
            offer = question.offer
            hint = (
                text("permissions_ask.nobody_rule", tool=question.tool, rule=", ".join(offer.rules))
                if offer
                else text("permissions_ask.nobody", tool=question.tool)
            )
            self.emit(Notice("warning", hint))
            told = (
                f" The user can allow it by the rule {', '.join(offer.rules)!r}." if offer else ""
            )
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
