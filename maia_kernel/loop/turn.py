"""THE loop: one prompt to its end, as one async generator of events.

Each pass prepares a request, streams the reply (starting harmless calls meanwhile), decides, makes the
other calls, and ends with the next `State` and the name of the transition. It knows nothing of
Jupyter, and nothing loops for ever: see `Limits`.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Final

from maia_kernel.errors import MaiaError, ProviderError
from maia_kernel.events import (
    EndReason,
    Event,
    RequestStarted,
    Retrying,
    TextDelta,
    TurnFinished,
    UsageChanged,
)
from maia_kernel.loop.execution import Execution
from maia_kernel.loop.reading import Reading
from maia_kernel.loop.recovery import recover
from maia_kernel.loop.redaction import for_model, for_transcript, redacted
from maia_kernel.loop.state import State
from maia_kernel.messages import Message, Text, ToolResult, assistant, user
from maia_kernel.ports import Clock
from maia_kernel.providers.base import Capabilities, Provider, Request, StopReason
from maia_kernel.providers.reply import ReplyState
from maia_kernel.texts import text
from maia_kernel.usage import Usage

_MOST_CONTINUATIONS: Final = 3
_CONTINUE: Final = (
    "Your reply was cut at the output limit. Continue exactly where it stopped, without repeating."
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a turn ends by itself. None means no limit; counts are per turn."""

    retries: int = 8
    broken_retries: int = 2
    max_turns: int | None = None
    budget_tokens: int | None = None
    budget_usd: float | None = None


@dataclass(frozen=True, slots=True)
class End:
    """How a turn ended; `exit_code` as in `TurnFinished`."""

    reason: EndReason
    error: str = ""
    exit_code: int = 0


_ANSWERED: Final = ("done", "output_limit")


class _EndOfReply:
    """Closes the queue of a pass."""


_END_OF_REPLY: Final = _EndOfReply()


@dataclass(slots=True)
class Turn:
    """One turn. `request` puts a request together, `price` says what tokens cost in dollars (None:
    unknown), `keep` records a complete message at once. After the last event, `messages` is the
    conversation and `end` how it ended.
    """

    provider: Provider
    capabilities: Capabilities
    model: str
    request: Callable[[State], Request]
    price: Callable[[Usage], float | None]
    execution: Execution
    keep: Callable[[Message], None]
    queue: asyncio.Queue[Event | _EndOfReply]
    clock: Clock
    limits: Limits = field(default_factory=Limits)
    jitter: random.Random = field(default_factory=random.Random)
    messages: tuple[Message, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    end: End | None = None
    _next: State | End | None = None
    _reply: ReplyState = field(default_factory=ReplyState)
    _heard: list[str] = field(default_factory=list)
    _fault: MaiaError | None = None

    async def run(self, messages: tuple[Message, ...]) -> AsyncIterator[Event]:
        """Play the turn from `messages`, which end with the person's prompt.

        A cancelled turn stops its calls, reports `TurnFinished("interrupted")` and raises
        `CancelledError` when it is asked for the event after that.
        """
        started = self.clock.monotonic()
        state = State(messages)
        try:
            while self.end is None:
                self.messages = state.messages
                self.usage, self.cost_usd = state.usage, state.cost_usd
                async for event in self._pass(state):
                    yield event
                match self._next:
                    case State():
                        state = self._next
                    case End():
                        self.end = self._next
                    case None:
                        raise RuntimeError("a pass of the turn ended without a transition")
            if self.end.reason in _ANSWERED and self.capabilities.answer_note:
                yield TextDelta(f"\n\n{self.capabilities.answer_note}")
            yield self._finished(self.end, started)
        except asyncio.CancelledError:
            await self.execution.stop()
            for event in self._drained():
                yield event
            self._keep_unfinished()
            self.end = End("interrupted", exit_code=130)
            yield self._finished(self.end, started)
            raise
        finally:
            await self.execution.stop()

    async def _pass(self, state: State) -> AsyncIterator[Event]:
        yield RequestStarted(state.requests + 1)
        async for event in self._stream(state):
            yield event
        if self._fault is not None:
            async for event in self._recover(self._fault, state):
                yield event
            return
        after = self._account(state)
        self.usage, self.cost_usd = after.usage, after.cost_usd
        yield UsageChanged(after.usage, after.cost_usd)
        message = self._reply.message()
        cut = self._reply.stop is not None and self._reply.stop.reason == "max_tokens"
        if cut:
            async for event in self._cut(message, after):
                yield event
            return
        after = self._said(message, after)
        if message.tool_uses:
            async for event in self._tools(message, after):
                yield event
        else:
            self._next = self._without_calls(after)

    # -- streaming ---------------------------------------------------------------------------------

    async def _stream(self, state: State) -> AsyncIterator[Event]:
        """Stream one reply into `_reply`, or set `_fault`."""
        reading = Reading(self.execution)
        self._heard, self._fault = reading.heard, None
        reader = asyncio.create_task(self._read(reading, self.request(state)), name="reply")
        try:
            while not isinstance(item := await self.queue.get(), _EndOfReply):
                if isinstance(item, UsageChanged):
                    usage = state.usage + item.usage
                    cost = _sum(state.cost_usd, self.price(item.usage))
                    # Kept at once: an interrupted request was paid for, too.
                    self.usage, self.cost_usd = usage, cost
                    item = UsageChanged(usage, cost)
                yield item
        finally:
            reader.cancel()
            await asyncio.wait({reader})
        try:
            reader.result()
        except MaiaError as error:
            self._fault, self._heard = error, []
            await self.execution.discard()
            self._drained()
        self._reply = reading.state

    async def _read(self, reading: Reading, request: Request) -> None:
        """Read the reply in a task of its own: an SDK's stream must stay in one task."""
        try:
            await reading.read(self.provider.stream(request))
        finally:
            self.queue.put_nowait(_END_OF_REPLY)

    # -- what follows a reply ----------------------------------------------------------------------

    def _without_calls(self, state: State) -> State | End:
        stop = self._reply.stop
        reason: StopReason = stop.reason if stop is not None else "end_turn"
        match reason:
            case "pause_turn":
                return self._within_limits(replace(state, transition="pause"))
            case "refusal":
                detail = stop.detail if stop is not None else ""
                return End("refusal", text("turn.refusal", detail=detail or "-"), 1)
            case "context_window_exceeded":
                return End("context_window_exceeded", text("turn.context_window"), 4)
            case _:
                return End("done")

    async def _tools(self, message: Message, state: State) -> AsyncIterator[Event]:
        work = asyncio.create_task(self._run_tools(message), name="tools")
        try:
            while not isinstance(item := await self.queue.get(), _EndOfReply):
                yield item
        except asyncio.CancelledError:
            await self.execution.stop()
            raise
        finally:
            work.cancel()
            await asyncio.wait({work})
        results = Message("user", work.result())
        self.keep(results)
        after = replace(state, messages=(*state.messages, results), transition="tool_results")
        self.messages = after.messages
        self._next = self._within_limits(after)

    async def _run_tools(self, message: Message) -> tuple[ToolResult, ...]:
        try:
            return await self.execution.run(message.tool_uses)
        finally:
            self.queue.put_nowait(_END_OF_REPLY)

    def _within_limits(self, state: State) -> State | End:
        limits = self.limits
        if limits.max_turns is not None and state.requests >= limits.max_turns:
            return End("max_turns", text("turn.max_turns", limit=limits.max_turns), 4)
        spent = state.usage.context_tokens + state.usage.output_tokens
        if limits.budget_tokens is not None and spent >= limits.budget_tokens:
            return End("budget", text("turn.budget_tokens", limit=limits.budget_tokens), 4)
        if (
            limits.budget_usd is not None
            and state.cost_usd is not None
            and state.cost_usd >= limits.budget_usd
        ):
            return End("budget", text("turn.budget_usd", limit=limits.budget_usd), 4)
        return state

    async def _cut(self, message: Message, state: State) -> AsyncIterator[Event]:
        """The output limit was hit: once more with the model's own maximum, then continue."""
        most, used = self.capabilities.max_output, self.request(state).max_tokens
        await self.execution.discard()
        if most is not None and used is not None and used < most and state.output_limit is None:
            yield Retrying(1, 1, 0.0, text("turn.output_limit"))
            self._next = replace(state, output_limit=most, transition="raise_output_limit")
            return
        # A call that was cut must not run: only what comes before it is kept.
        kept = Message("assistant", tuple(b for b in message.content if isinstance(b, Text)))
        if kept.text:
            state = self._said(kept, state)
        short = self.capabilities.prompt_profile == "short"
        if short or not kept.text or state.continuations >= _MOST_CONTINUATIONS:
            self._next = End("output_limit", text("turn.cut"), 4)
            return
        go_on = user(_CONTINUE)
        self.keep(go_on)
        self._next = replace(
            state,
            messages=(*state.messages, go_on),
            continuations=state.continuations + 1,
            transition="continue_output",
        )

    async def _recover(self, error: MaiaError, state: State) -> AsyncIterator[Event]:
        resend = None
        if isinstance(error, ProviderError):
            resend = recover(
                error,
                state,
                retries=self.limits.retries,
                broken_retries=self.limits.broken_retries,
                jitter=self.jitter,
            )
        if resend is None:
            self._next = End("error", str(error), error.exit_code)
            return
        retrying = Retrying(resend.attempt, resend.attempts, resend.delay, str(error))
        yield redacted(retrying, self.execution.secrets)
        await self.clock.sleep(resend.delay)
        self._next = resend.state

    # -- bookkeeping -------------------------------------------------------------------------------

    def _said(self, message: Message, state: State) -> State:
        """Write what the model said; returns the state with it in the conversation."""
        secrets = self.execution.secrets
        self.keep(for_transcript(message, secrets))
        after = replace(state, messages=(*state.messages, for_model(message, secrets)))
        self.messages = after.messages
        return after

    def _account(self, state: State) -> State:
        usage = self._reply.usage
        return replace(
            state,
            requests=state.requests + 1,
            faults=0,
            broken=0,
            usage=state.usage + usage,
            cost_usd=_sum(state.cost_usd, self.price(usage)),
        )

    def _finished(self, end: End, started: float) -> TurnFinished:
        seconds = self.clock.monotonic() - started
        # Nothing was answered: there is no price to tell.
        cost = None if self.usage == Usage() else self.cost_usd
        error = self.execution.secrets.redact(end.error)
        return TurnFinished(end.reason, self.usage, seconds, self.model, cost, error, end.exit_code)

    def _keep_unfinished(self) -> None:
        """Write what an interrupted pass had received to the transcript."""
        last = self.messages[-1]
        if last.role == "assistant" and last.tool_uses:
            self.keep(Message("user", self.execution.interrupted(last.tool_uses)))
            return
        if self._heard:
            heard = assistant("".join(self._heard))
            self.keep(for_transcript(heard, self.execution.secrets))

    def _drained(self) -> list[Event]:
        left: list[Event] = []
        while not self.queue.empty():
            item = self.queue.get_nowait()
            if not isinstance(item, _EndOfReply):
                left.append(item)
        return left


def _sum(total: float | None, more: float | None) -> float | None:
    return None if total is None or more is None else total + more
