"""The composition root: settings in, everything wired. The only file that knows everybody.

An `Agent` lives on the engine's loop. Importing this module loads pydantic, so that front-ends import
it on the engine's thread, after the cell that loaded the extension.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from maia_kernel import prompt_input
from maia_kernel.clock import SystemClock
from maia_kernel.context import (
    Surroundings,
    assemble,
    background_tasks,
    joined,
    observe,
    plan_mode,
    reminder,
    system_prompt,
    undone_turn,
)
from maia_kernel.errors import NoModelChosen, SessionError, UsageError
from maia_kernel.events import Event, Notice, TurnFinished, TurnStarted
from maia_kernel.loop import Execution, Limits, Turn
from maia_kernel.loop.auto import Auto
from maia_kernel.loop.classifier import Classifier
from maia_kernel.loop.consent import Consent
from maia_kernel.loop.modes import TurnModes
from maia_kernel.loop.redaction import hidden, redacted
from maia_kernel.loop.state import State
from maia_kernel.messages import Message, Text
from maia_kernel.paths import resolve, shown
from maia_kernel.permissions import (
    Mode,
    Policy,
    Rule,
    RuleSource,
    guarded_patterns,
)
from maia_kernel.permissions.modes import ModeState
from maia_kernel.ports import Ask, Clock, KernelPort
from maia_kernel.processes import Groups
from maia_kernel.providers.base import (
    Capabilities,
    Effort,
    ModelInfo,
    Provider,
    Request,
    SystemPart,
    Thinking,
)
from maia_kernel.providers.opened import OpenedProviders
from maia_kernel.questions import RULE_PLACES, RulePlace
from maia_kernel.sandbox.session import Sandbox
from maia_kernel.secrets import Mask
from maia_kernel.sessions import Journal, Session, default_name
from maia_kernel.sessions.journal import stamp
from maia_kernel.sessions.session import checked_name
from maia_kernel.settings import Settings
from maia_kernel.settings.keys import Keys, KnownSecrets, hidden_names
from maia_kernel.settings.layers import leads_out, project_folders
from maia_kernel.settings.writer import allow_always, rule_file
from maia_kernel.texts import language, text
from maia_kernel.tools.background import BackgroundTasks
from maia_kernel.tools.base import FileSeen, Tool, ToolContext
from maia_kernel.tools.registry import builtin_tools
from maia_kernel.tools.toolbox import Offer, Toolbox
from maia_kernel.usage import Usage

MODES: tuple[Mode, ...] = get_args(Mode)
EFFORTS: tuple[Effort, ...] = get_args(Effort)

_OUTPUT_LIMIT = (
    32_000  # tokens: the most asked for at first; a cut reply raises it to the model's own
)
_SESSIONS = Path(".maia") / ".sessions"


@dataclass(frozen=True, slots=True)
class _Before:
    """What a prompt that is undone leaves as it was."""

    messages: tuple[Message, ...]
    planning: bool
    modes: ModeState


class Agent:
    """Everything one working folder's conversations need. `model` is `provider:model`, or None.

    `functions` gives, at every turn anew, the tools that the person made of functions.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        kernel: KernelPort | None = None,
        environ: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        functions: Callable[[], Iterable[Tool[Any]]] = tuple,
    ) -> None:
        self.settings = settings
        self.model = settings.model
        self._modes = ModeState(settings.mode)
        self._kernel = kernel
        self._environ = environ
        self._clock: Clock = clock or SystemClock()
        self._keys = Keys.from_environ(environ, settings)
        self._known = KnownSecrets.of(self._keys, settings, environ)
        self._secrets = Mask(self._known, shapes=settings.secret_shapes)
        self._providers = OpenedProviders(settings, self._keys, environ)
        self._groups = Groups()
        self._background: list[BackgroundTasks] = []
        self._warned: set[str] = set()
        self._system: dict[tuple[str, bool], tuple[SystemPart, ...]] = {}
        self._surroundings: Surroundings | None = None
        self._toolbox = Toolbox(self._builtin_tools(), functions)
        language.set(settings.language)

    @property
    def mode(self) -> Mode:
        """The permission mode in force."""
        return self._modes.current

    # -- sessions ----------------------------------------------------------------------------------

    def open_session(self, name: str | None = None) -> Session:
        """A new, empty conversation; its file appears with the first message.

        Raises:
            UsageError: `name` cannot be a session's, or is that of one that exists.
            SessionError: the folder of transcripts is a link out of the project.
        """
        settings = self.settings
        folder = settings.cwd / _SESSIONS
        if leads_out(folder, (*project_folders(settings.cwd, settings.home), settings.cwd)):
            raise SessionError(text("sessions.leads_out", folder=shown(folder, settings.cwd)))
        chosen = checked_name(name) if name else default_name(datetime.now())
        if name and (folder / f"{chosen}.jsonl").exists():
            file = shown(folder / f"{chosen}.jsonl", settings.cwd)
            raise UsageError(text("sessions.exists", name=chosen, file=file))
        header = {
            "name": chosen,
            "created": stamp(),
            "model": self.model or "",
            "cwd": shown(settings.cwd),
            "notebook": "",
        }
        journal = Journal(folder, chosen, header=header, secrets=self._secrets)
        context = ToolContext(
            cwd=settings.cwd,
            shell_cwd=settings.cwd,
            model=self.model or "",
            spill=folder / f"{chosen}.output",
            additional=settings.additional,
            env=settings.env,
            hidden_env=hidden_names(),
            kernel=self._kernel,
            secrets=self._secrets,
            groups=self._groups,
        )
        self._background.append(context.background)
        session = Session(journal, context)
        context.sandbox = Sandbox(settings.sandbox, lambda: self._policy(session))
        return session

    # -- models ------------------------------------------------------------------------------------

    async def use_model(self, spec: str) -> Capabilities:
        """Choose the model of the next turn; the conversation is kept.

        Raises:
            UsageError: the spec names no provider or no model.
            ProviderError: the provider cannot be used as it is set up.
        """
        provider, model = self._providers.open(spec)
        await provider.prepare(model)
        capabilities = provider.capabilities(model)
        self.model = f"{provider.name}:{model}"
        return capabilities

    async def models(self) -> tuple[tuple[ModelInfo, ...], tuple[str, ...]]:
        """What every configured provider offers, asked at the same time, and one line a failure."""
        return await self._providers.models()

    def capabilities(self) -> Capabilities | None:
        """What the chosen model can do; None when no model is chosen."""
        if self.model is None:
            return None
        provider, model = self._providers.open(self.model)
        return provider.capabilities(model)

    def check_model(self) -> None:
        """Return when a request to the chosen model may work; no server is asked.

        Raises:
            UsageError: no model is chosen, or the name is none.
            MaiaError: it certainly fails, and what to do.
        """
        provider, model = self._providers.open(self._chosen_model())
        provider.check(model)

    def use_mode(self, mode: str) -> None:
        """Choose the permission mode.

        Raises:
            UsageError: unknown, or one that must be chosen at the start.
        """
        if mode not in MODES:
            raise UsageError(text("turn.unknown_mode", mode=mode, modes=", ".join(MODES)))
        if mode == "auto" and self.settings.auto_forbidden:
            raise UsageError(text("turn.auto_forbidden"))
        if mode == "bypassPermissions" and self.settings.mode != "bypassPermissions":
            raise UsageError(text("turn.bypass_locked"))
        if mode == "auto" and self.settings.small_model is None:
            raise UsageError(text("turn.auto_no_model"))
        self._modes.use(mode)

    def dismiss_mode(self, option: str, before: Mode) -> None:
        """The mode `option` was for one prompt only; `before` was in force until then."""
        if option in MODES:
            self._modes.dismiss(option, before)

    def tool_names(self) -> tuple[str, ...]:
        """The tools that the model is offered, sorted."""
        return tuple(sorted(self._offered(None).tools))

    def tool_warnings(self) -> tuple[str, ...]:
        """A line for every tool of the project that cannot be used as it is."""
        self._toolbox.refresh(self.settings)
        return (*self._toolbox.warnings, *self._toolbox.doubles())

    async def use_settings(self, settings: Settings) -> None:
        """Go on with settings that were read anew; a model or mode chosen since the start stays.

        A running turn ends with what it began with. Keys that are no longer set stay masked.
        """
        before, self.settings = self.settings, settings
        self.model = settings.model if self.model == before.model else self.model
        if self.mode == before.mode:
            self._modes.use(settings.mode)
        self._keys = Keys.from_environ(self._environ, settings)
        self._known.learn(self._keys, settings)
        opened, self._providers = (
            self._providers,
            OpenedProviders(settings, self._keys, self._environ),
        )
        self._toolbox.use(self._builtin_tools())
        await opened.aclose()

    # -- a turn ------------------------------------------------------------------------------------

    async def run(
        self,
        session: Session,
        prompt: str,
        *,
        ask: Ask,
        max_turns: int | None = None,
        context: bool = True,
        interactive: bool = True,
    ) -> AsyncIterator[Event]:
        """Play `prompt` in `session`; the last event is `TurnFinished`.

        Without `context` the model gets the rules and the prompt, and nothing that MAIA would add of
        its own: no environment, no reminders. `interactive` says that `ask` reaches a person: without
        one, what only a person can decide is refused by the tools that would ask it.

        Cancelling the consuming task interrupts the turn: the conversation is as it was before the
        prompt, the transcript keeps what was received, and the next prompt says what remains done.

        Raises:
            UsageError: the prompt is empty, or no model is chosen. Nothing was sent or written.
        """
        if not prompt.strip():
            raise UsageError(text("turn.empty_prompt"))
        provider, model = self._providers.open(self._chosen_model())
        await provider.prepare(model)
        capabilities = provider.capabilities(model)
        resolved = await asyncio.to_thread(
            prompt_input.resolve,
            prompt,
            cwd=self.settings.cwd,
            additional=self.settings.additional,
            images=capabilities.images,
            pdf=capabilities.pdf,
            hide=self._secrets.redact,
        )
        system = await self._system_for(capabilities)
        if not context:
            system = system[:1]
        before = _Before(session.messages, session.planning, replace(self._modes))
        spec = f"{provider.name}:{model}"
        self._renew(session, spec, capabilities)
        for file in resolved.files:
            # The model has seen it: an edit needs no Read first.
            session.tools.seen[file.path] = FileSeen(file.mtime_ns, file.digest, file.whole)
        session.begin_turn(spec)
        reminders = _reminders(session, plan=self.mode == "plan") if context else ()
        said = Message("user", (*reminders, *resolved.content))
        message = redacted(said, self._secrets)
        session.record(message)
        # Reads files, and the first time imports a library for their schemas.
        await asyncio.to_thread(self._toolbox.refresh, self.settings)
        turn = self._turn(session, provider, capabilities, model, system, ask, max_turns, prompt)
        if not interactive:
            session.tools.ask = None
        yield TurnStarted(session.name, spec, self.mode)
        no_sandbox = await session.tools.sandbox.prepare() if session.tools.sandbox else None
        if no_sandbox is not None:
            yield Notice("warning", no_sandbox)
        for line in (*resolved.notices, *self._new_warnings()):
            yield Notice("warning", line)
        if message != said:
            kinds = ", ".join(hidden(said, self._secrets))
            where = text("secrets.prompt")
            yield Notice("info", text("secrets.hidden", kinds=kinds, where=where))
        async for event in turn.run(joined(before.messages, message)):
            if isinstance(event, TurnFinished):
                self._close(session, before, turn, event)
                answer = self._secrets.redact(_answer(turn.messages))
                event = replace(event, text=answer, session=session.name)
            yield event

    async def aclose(self) -> None:
        """End every provider's connections, and every process that it or a command started."""
        tasks = [background.end() for background in self._background]
        ending = (self._groups.end(), self._providers.aclose())
        await asyncio.gather(*tasks, *ending, return_exceptions=True)

    def kill(self) -> None:
        """KILL what commands started, at once; may be called from a signal handler."""
        self._groups.kill()

    def _new_warnings(self) -> tuple[str, ...]:
        """What of the project's tools cannot be used, each line once."""
        new = tuple(line for line in self.tool_warnings() if line not in self._warned)
        self._warned.update(new)
        return new

    # -- wiring ------------------------------------------------------------------------------------

    def _renew(self, session: Session, spec: str, capabilities: Capabilities) -> None:
        """What a session's tools are told before each turn: model and settings may have changed."""
        tools, settings = session.tools, self.settings
        tools.model, tools.images, tools.pdf = spec, capabilities.images, capabilities.pdf
        tools.env, tools.additional = settings.env, settings.additional
        if tools.sandbox is not None:
            tools.sandbox.settings = settings.sandbox
        policy = self._policy(session)
        tools.read_denied = guarded_patterns(policy, "deny")
        tools.read_asked = guarded_patterns(policy, "ask")

    def _turn(
        self,
        session: Session,
        provider: Provider,
        capabilities: Capabilities,
        model: str,
        system: tuple[SystemPart, ...],
        ask: Ask,
        max_turns: int | None,
        prompt: str,
    ) -> Turn:
        settings = self.settings
        queue: asyncio.Queue[Any] = asyncio.Queue()
        offer = self._offered(capabilities.context_window) if capabilities.tools else Offer({})
        first_limit = settings.max_output_tokens or _first_output_limit(capabilities)

        def request(state: State) -> Request:
            return assemble(
                state.messages,
                model=model,
                system=system,
                tools=offer.specs(session.tools.loaded),
                max_tokens=state.output_limit or first_limit,
                thinking=_thinking(settings) if capabilities.thinking else None,
            )

        def price(usage: Usage) -> float | None:
            return self._providers.price(f"{provider.name}:{model}", usage)

        consent = Consent(
            policy=lambda: self._policy(session),
            ask=ask,
            grant=lambda rule: _grant(session, rule),
            write_rules=lambda rules, place: shown(
                allow_always(settings, *rules, place=place), settings.cwd
            ),
            places=_rule_places(settings),
            emit=queue.put_nowait,
            record=lambda tool, behavior, reason: session.journal.append(
                "permission", turn=session.turns, tool=tool, behavior=behavior, reason=reason
            ),
            clock=self._clock,
            secrets=self._secrets,
            ledger=session.ledger,
            auto=Auto(self._classifier(session, prompt), session.ledger),
            timeout=settings.ask_timeout,
        )
        session.tools.ask = consent.put
        session.tools.modes = TurnModes(self._modes, queue.put_nowait)
        execution = Execution(
            tools=offer.tools,
            deferred=offer.deferred,
            context=session.tools,
            consent=consent,
            secrets=self._secrets,
            clock=self._clock,
            emit=queue.put_nowait,
        )
        limits = Limits(
            retries=settings.retry_max,
            broken_retries=capabilities.broken_retries
            if settings.retry_broken is None
            else settings.retry_broken,
            max_turns=max_turns or settings.max_turns,
            budget_tokens=settings.budget_tokens,
            budget_usd=settings.budget_usd,
        )
        return Turn(
            provider=provider,
            capabilities=capabilities,
            model=f"{provider.name}:{model}",
            request=request,
            price=price,
            execution=execution,
            keep=session.record,
            queue=queue,
            clock=self._clock,
            limits=limits,
            jitter=random.Random(),
        )

    def _close(self, session: Session, before: "_Before", turn: Turn, event: TurnFinished) -> None:
        """The session after the turn: an interrupted or fruitless prompt leaves no trace in it."""
        messages = turn.messages
        if event.reason == "interrupted":
            messages, self._modes = before.messages, before.modes
            session.tools.background.doubt()
            done = tuple(turn.execution.done)
            session.reminders = (undone_turn(done),) if done else session.reminders
        else:
            fruitless = event.reason == "error" and len(messages) <= len(before.messages) + 1
            messages = before.messages if fruitless else messages
            if not fruitless:
                session.tools.background.settle()
            session.reminders = session.reminders if fruitless else ()
        undone = messages is before.messages
        session.planning = before.planning if undone else self.mode == "plan"
        if event.cost_usd is not None:
            session.cost_usd += event.cost_usd
        session.end_turn(event.reason, event.usage, messages)

    def _classifier(self, session: Session, prompt: str) -> Classifier | None:
        """What the mode auto asks; None where no small model is set."""
        small = self.settings.small_model
        if small is None:
            return None

        def spend(usage: Usage) -> None:
            session.spent = session.spent + usage
            session.cost_usd += self._providers.price(small, usage) or 0.0

        return Classifier(
            open=lambda: self._providers.open(small),
            prompt=prompt,
            folder=str(self.settings.cwd),
            secrets=self._secrets,
            spend=spend,
        )

    def _policy(self, session: Session) -> Policy:
        settings = self.settings
        # Under an administrator's rules alone, nobody else's allow counts, nor one for the session.
        grants = () if settings.managed_rules_only else session.grants
        return Policy(
            rules=(*settings.rules, *grants),
            mode=self.mode,
            cwd=settings.cwd,
            home=settings.home,
            additional=settings.additional,
            ask_reads=settings.ask_reads,
            resolve=resolve,
        )

    def _builtin_tools(self) -> tuple[Tool[Any], ...]:
        return builtin_tools(kernel=self._kernel is not None, web=self.settings.web)

    def _offered(self, window: int | None) -> Offer:
        self._toolbox.refresh(self.settings)
        return self._toolbox.offer(self.settings.rules, window)

    def _chosen_model(self) -> str:
        if self.model is not None:
            return self.model
        ready = self._providers.ready()
        available = (
            text("turn.available", models=", ".join(ready)) if ready else text("turn.nothing_ready")
        )
        raise NoModelChosen(text("turn.no_model", available=available))

    async def _system_for(self, capabilities: Capabilities) -> tuple[SystemPart, ...]:
        """Computed once a session, so that the cached prefix stays the same to the byte."""
        kernel = self._kernel is not None
        key = (capabilities.prompt_profile, kernel)
        if key not in self._system:
            if self._surroundings is None:
                self._surroundings = await observe(self.settings.cwd)
            system = system_prompt(
                self._surroundings, profile=capabilities.prompt_profile, kernel=kernel
            )
            self._system[key] = redacted(system, self._secrets)
        return self._system[key]


def _answer(messages: tuple[Message, ...]) -> str:
    last = messages[-1]
    return last.text if last.role == "assistant" else ""


def _reminders(session: Session, *, plan: bool) -> tuple[Text, ...]:
    """What the next prompt tells besides itself."""
    news = session.tools.background.news()
    lines = (
        *session.reminders,
        *((background_tasks(news),) if news else ()),
        *plan_mode(on=plan, told=session.planning),
    )
    return tuple(reminder(line) for line in lines)


def _rule_places(settings: Settings) -> dict[RulePlace, RuleSource]:
    """The files that "Always allow" can write to, the usual one first."""
    return {
        place: RuleSource(
            place,
            rule_file(settings, place),
            settings.home / ".maia" if place == "user" else settings.cwd,
        )
        for place in RULE_PLACES
    }


def _grant(session: Session, rule: Rule) -> None:
    session.grants = (*session.grants, rule)


def _first_output_limit(capabilities: Capabilities) -> int | None:
    if capabilities.max_output is None:
        return None
    return min(capabilities.max_output, _OUTPUT_LIMIT)


def _thinking(settings: Settings) -> Thinking | None:
    if settings.effort is None and settings.thinking_budget is None:
        return None
    effort = next((word for word in EFFORTS if word == settings.effort), None)
    return Thinking(effort, settings.thinking_budget)
