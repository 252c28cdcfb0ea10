"""Tool calls: the seven steps of one, and the order and parallelism of many.

Steps: look-up, parse, validate, hooks before, permission, run, hooks after. Whatever happens (unknown
tool, broken JSON, denial, exception, time limit), a call ends as exactly one result. Calls that are
safe together run together, at most ten; every other call runs alone, in the order given.
"""

import asyncio
import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

from maia_kernel.display import Display, TextDisplay
from maia_kernel.errors import ToolError
from maia_kernel.events import (
    Event,
    Notice,
    TodosChanged,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from maia_kernel.loop.calls import InvalidCall, ParsedCall, parse_call
from maia_kernel.loop.consent import Consent, Denied
from maia_kernel.loop.redaction import hidden, redacted
from maia_kernel.messages import Text, ToolResult, ToolUse
from maia_kernel.permissions import Decision
from maia_kernel.ports import Clock, Secrets
from maia_kernel.texts import text
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolOutput
from maia_kernel.tools.pieces import Pieces

_TOGETHER = 10
_PRINTED = 4_000  # characters of a call's output that the transcript keeps when it is stopped

log = logging.getLogger("maia")
log.addHandler(logging.NullHandler())  # else the worst of it goes to stderr, into the cell


@dataclass(frozen=True, slots=True)
class HookVerdict:
    """What a hook before a call says: `block` with a reason, or a changed `input`, or nothing.

    `decision` is its word on the permission (allow or ask), which rules and the always-asked lists
    stand above.
    """

    block: str | None = None
    input: Mapping[str, Any] | None = None
    decision: Decision | None = None


class Hook(Protocol):
    """Called around every tool call; issue by issue, settings and skills will supply them."""

    async def before(self, use: ToolUse) -> HookVerdict:
        """May block the call or change its input, which is then parsed and decided again."""
        ...

    async def after(self, use: ToolUse, result: ToolResult) -> ToolResult:
        """May change the result."""
        ...


@dataclass(slots=True)
class _Stopwatch:
    """Seconds of a call without the time a person took to answer."""

    clock: Clock
    started: float
    waited: float = 0.0

    @property
    def seconds(self) -> float:
        return max(0.0, self.clock.monotonic() - self.started - self.waited)


@dataclass(slots=True)
class Execution:
    """The calls of one turn. Events go to `emit` as they happen; results come back in order.

    `deferred` are tools that cannot be called before they are loaded. `done` lists, one line each, the
    calls that changed something, for the reminder after an interrupt.
    """

    tools: Mapping[str, Tool[Any]]
    context: ToolContext
    consent: Consent
    secrets: Secrets
    clock: Clock
    emit: Callable[[Event], None]
    hooks: Sequence[Hook] = ()
    deferred: frozenset[str] = frozenset()
    done: list[str] = field(default_factory=list)
    _running: dict[str, asyncio.Task[ToolResult]] = field(default_factory=dict)
    _finished: dict[str, ToolResult] = field(default_factory=dict)
    _printed: dict[str, str] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def start_early(self, use: ToolUse) -> bool:
        """Start `use` while the model still streams, if it is read-only and already allowed."""
        call = self._parse(use)
        if isinstance(call, InvalidCall) or not self._harmless(call):
            return False
        self._start(use)
        return True

    async def run(self, uses: Sequence[ToolUse]) -> tuple[ToolResult, ...]:
        """Every call of a reply; results in the order of the calls."""
        for together, group in groupby(uses, key=self._safe_together):
            batch = list(group)
            if together:
                await self._run_together(batch)
            else:
                for use in batch:
                    self._start(use)
                    await self._wait(use)
        return tuple(self._finished[use.id] for use in uses)

    async def stop(self) -> None:
        """Cancel what runs and wait until it has cleaned up; results that came are kept."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._running.clear()

    async def discard(self) -> None:
        """Stop, and forget every result: the reply is to be redone."""
        await self.stop()
        self._finished.clear()

    def interrupted(self, uses: Sequence[ToolUse]) -> tuple[ToolResult, ...]:
        """One result for each call of an interrupted turn, for the transcript."""
        return tuple(self._finished.get(use.id) or self._cut_short(use) for use in uses)

    def _cut_short(self, use: ToolUse) -> ToolResult:
        said, printed = "Interrupted by the user.", self._printed.get(use.id)
        if printed:
            said += f" It had printed: {printed}"
        return ToolResult(use.id, (Text(said),), is_error=True)

    async def _run_together(self, uses: Sequence[ToolUse]) -> None:
        waiting = list(uses)
        while waiting:
            batch, waiting = waiting[:_TOGETHER], waiting[_TOGETHER:]
            for use in batch:
                self._start(use)
            for use in batch:
                await self._wait(use)

    def _parse(self, use: ToolUse) -> ParsedCall | InvalidCall:
        return parse_call(use, self.tools, self.deferred.difference(self.context.loaded))

    def _start(self, use: ToolUse) -> None:
        if use.id not in self._running and use.id not in self._finished:
            self._running[use.id] = asyncio.create_task(self._run_one(use), name=f"tool {use.name}")

    async def _wait(self, use: ToolUse) -> None:
        task = self._running.get(use.id)
        if task is not None:
            self._finished[use.id] = await asyncio.shield(task)
            self._running.pop(use.id, None)

    def _safe_together(self, use: ToolUse) -> bool:
        call = self._parse(use)
        if isinstance(call, InvalidCall):
            return True
        try:
            return call.tool.concurrency_safe(call.input, self.context)
        except Exception:  # noqa: BLE001 - as in `_harmless`
            return False

    def _harmless(self, call: ParsedCall) -> bool:
        tool, context = call.tool, self.context
        try:
            return (
                tool.read_only(call.input, context)
                and tool.concurrency_safe(call.input, context)
                and self.consent.allowed(call.subject(context))
            )
        except Exception:  # noqa: BLE001 - an impossible path: `_run_one` makes a result of it
            return False

    async def _run_one(self, use: ToolUse) -> ToolResult:
        watch = _Stopwatch(self.clock, self.clock.monotonic())
        summary = use.name
        call = self._parse(use)
        decided: Decision | None = None
        try:
            for hook in self.hooks:
                verdict = await hook.before(use)
                if verdict.block is not None:
                    raise Denied(verdict.block)
                if verdict.input is not None:
                    use = ToolUse(use.id, use.name, verdict.input, opaque=use.opaque)
                    call = self._parse(use)
                    # What another hook allowed was the call as it was.
                    decided = None if decided and decided.behavior == "allow" else decided
                decided = _stricter(decided, verdict.decision)
            if isinstance(call, InvalidCall):
                self._say(ToolStarted(use.id, use.name, summary))
                output = ToolOutput.of(call.fault, is_error=True)
            else:
                summary = call.tool.summary(call.input, self.context)
                output = await self._steps(call, summary, watch, decided)
        except Denied as error:
            displays = (TextDisplay(error.shown),) if error.shown else ()
            output = ToolOutput((Text(str(error)),), displays, is_error=True)
        except ToolError as error:
            output = ToolOutput.of(str(error), is_error=True)
        except TimeoutError:
            output = ToolOutput.of(f"{use.name} ran into its time limit.", is_error=True)
        except Exception as error:  # noqa: BLE001 - a tool's fault must not end the turn
            log.error("tool %s failed\n%s", use.name, self.secrets.redact(traceback.format_exc()))
            cause = str(error).strip().splitlines()
            output = ToolOutput.of(
                f"{use.name} failed: {type(error).__name__}: {cause[0] if cause else ''}",
                is_error=True,
            )
        safe = redacted(output, self.secrets)
        if safe.content != output.content:
            self._tell_hidden(hidden(output.content, self.secrets), f"{use.name} {summary}")
        return await self._finish(use, summary, safe, watch)

    async def _steps(
        self, call: ParsedCall, summary: str, watch: _Stopwatch, decided: Decision | None
    ) -> ToolOutput:
        """Validate, permission, run; `ToolStarted` comes before anybody is asked.

        What is denied anyhow is denied first: validating looks at files and says what it found.
        `decided` is what hooks said.
        """
        tool, context, use = call.tool, self.context, call.use
        read_only = tool.read_only(call.input, context)
        try:
            subject = call.subject(context)
            self.consent.refuse(use, subject, summary, decided)
            # In a thread: validating and drawing read files, and the loop has views to serve.
            await asyncio.to_thread(tool.validate, call.input, context)
            displays = await asyncio.to_thread(tool.displays, call.input, context)
        except BaseException:
            self._say(ToolStarted(use.id, use.name, summary, tool.icon, read_only))
            raise
        self._say(
            ToolStarted(use.id, use.name, summary, tool.icon, read_only, displays, tool.counted)
        )
        watch.waited += await self.consent.obtain(use, subject, summary, displays, decided)
        if not read_only:
            self.done.append(self.secrets.redact(f"{use.name}: {summary}"))
        before = self.consent.waited
        try:
            async with asyncio.timeout(tool.time_limit):
                return await self._iterate(tool, call)
        finally:
            # A call that asks runs alone: what was waited for meanwhile was its own answer.
            if not tool.concurrency_safe(call.input, context):
                watch.waited += self.consent.waited - before

    async def _iterate(self, tool: Tool[Any], call: ParsedCall) -> ToolOutput:
        output: ToolOutput | None = None
        pieces = Pieces(self.secrets)
        async for item in tool.run(call.input, self.context):
            match item:
                case Progress():
                    self._show_progress(call, pieces.feed(item.text))
                case ToolOutput():
                    output = item
        self._show_progress(call, pieces.rest())
        if output is None:
            raise RuntimeError("the tool ended without a result")
        return output

    def _show_progress(self, call: ParsedCall, piece: str) -> None:
        if piece:
            before = self._printed.get(call.use.id, "")
            self._printed[call.use.id] = (before + piece)[-_PRINTED:]
            self.emit(ToolProgress(call.use.id, piece))

    async def _finish(
        self, use: ToolUse, summary: str, output: ToolOutput, watch: _Stopwatch
    ) -> ToolResult:
        result = ToolResult(use.id, output.content, output.is_error)
        for hook in self.hooks:
            result = await hook.after(use, result)
        if output.todos is not None:
            self.context.todos = output.todos
            self._say(TodosChanged(output.todos))
        self._say(
            ToolFinished(
                use.id,
                use.name,
                summary,
                output.is_error,
                watch.seconds,
                output.displays or _as_displays(output),
            )
        )
        return result

    def _tell_hidden(self, kinds: tuple[str, ...], where: str) -> None:
        """Say once a turn which kinds of secrets the model was not shown."""
        new = [kind for kind in kinds if kind not in self._told]
        self._told.update(new)
        if new:
            self._say(Notice("info", text("secrets.hidden", kinds=", ".join(new), where=where)))

    def _say(self, event: Event) -> None:
        """Emit what a model's words may be in."""
        self.emit(redacted(event, self.secrets))


def _stricter(first: Decision | None, second: Decision | None) -> Decision | None:
    """Of what two hooks said, the word that lets less run."""
    said = [decision for decision in (first, second) if decision is not None]
    return min(said, key=lambda d: ("deny", "ask", "allow").index(d.behavior), default=None)


def _as_displays(output: ToolOutput) -> tuple[Display, ...]:
    return tuple(TextDisplay(block.text) for block in output.content if isinstance(block, Text))
