"""A turn on the screen: events in, outputs and the panel out. Nothing else decides what is seen.

`rich` draws Markdown and HTML outputs and the live panel if there is one; `plain` writes text to the
cell's stdout. A view belongs to one turn and to the engine's loop.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never

from IPython.core.error import StdinNotImplementedError

from maia_kernel import events, plain
from maia_kernel.dialogue import ask_typed
from maia_kernel.display import TodoItem
from maia_kernel.measures import duration
from maia_kernel.neutral import line, prose
from maia_kernel.questions import Answer, PlanAnswer, Question, unanswered
from maia_kernel.texts import text
from maia_widgets import html
from maia_widgets.calls import Calls
from maia_widgets.final import CELL_SAYS, Decided, decided, final_bundle
from maia_widgets.inert import inert
from maia_widgets.outputs import Outputs, Publish, notebook_publisher
from maia_widgets.reply import Reply
from maia_widgets.status import Status

if TYPE_CHECKING:
    from maia_widgets.panel import Panel

Read = Callable[[str], Awaitable[str]]
"""Asks the person for one line, as `input()` does."""
MOST_THINKING = 8000
"""Characters of reasoning kept in the output."""
SHORT = 1.0
"""Seconds of thinking below which the length says nothing."""


class TurnView:
    """One turn, shown. `open`, then `show` each event and `ask` each question, then `close`.

    `panel` is bound and known to be ready. `read` is asked where there is no panel; with neither,
    every question is answered "nobody". `quiet` leaves the answer, warnings and questions only.
    """

    def __init__(
        self,
        *,
        style: Literal["rich", "plain"],
        panel: "Panel | None" = None,
        read: Read | None = None,
        cwd: Path,
        quiet: bool = False,
        publish: Publish | None = None,
    ) -> None:
        self._panel = panel
        self._read = read
        self._cwd = cwd
        # The cell's own stream: the person's code may run with another one in its place.
        self._stdout = sys.stdout
        self._text = _PlainTurn(cwd, self._write, quiet=quiet) if style == "plain" else None
        self._rich = (
            _RichTurn(cwd, publish or notebook_publisher(), panel, quiet=quiet)
            if style == "rich"
            else None
        )
        self._closed = False

    def open(self) -> None:
        """Display the panel, if there is one."""
        if self._rich is not None:
            self._rich.open()

    def show(self, event: events.Event) -> None:
        """Draw `event`. After `close`, nothing."""
        if self._closed:
            return
        if self._rich is not None:
            self._rich.show(event)
        elif self._text is not None:
            self._text.show(event)

    async def ask(self, question: Question) -> Answer:
        """The person's answer: by the panel, else by typed lines, else nobody's no."""
        if self._rich is not None and self._panel is not None:
            return await self._rich.ask(question, self._panel)
        if self._read is None:
            return unanswered(question)
        return await ask_typed(question, read=self._line, write=self._write, cwd=self._cwd)

    def close(self) -> None:
        """Leave only what a saved file needs. Safe to call again, and after a cancellation."""
        if self._closed:
            return
        self._closed = True
        if self._rich is not None:
            self._rich.close()

    async def _line(self, prompt: str) -> str:
        assert self._read is not None
        try:
            return await self._read(prompt)
        except StdinNotImplementedError:
            raise EOFError from None

    def _write(self, words: str) -> None:
        if words:
            self._stdout.write(words)
            self._stdout.flush()


class _PlainTurn:
    """Text for the cell's stdout."""

    def __init__(self, cwd: Path, write: Callable[[str], None], *, quiet: bool) -> None:
        self._plain = plain.PlainText(cwd, footer=not quiet)
        self._write = write
        self._quiet = quiet

    def show(self, event: events.Event) -> None:
        if isinstance(event, events.TurnFinished) and event.reason in CELL_SAYS:
            rows = (*self._plain.stopped(), plain.footer(event))
            self._write("" if self._quiet else self._plain.lines(*rows))
        elif not (self._quiet and _is_detail(event)):
            self._write(self._plain.show(event))


class _RichTurn:
    """Outputs and the panel."""

    def __init__(self, cwd: Path, publish: Publish, panel: "Panel | None", *, quiet: bool) -> None:
        loop = asyncio.get_running_loop()
        self._cwd, self._panel, self._quiet = cwd, panel, quiet
        self._outputs = Outputs(publish, panel.put if panel is not None else None)
        self._reply = Reply(self._outputs, loop)
        self._calls = Calls(self._outputs, loop, cwd)
        self._status = Status(quiet=quiet)
        self._todos: tuple[TodoItem, ...] = ()
        self._decisions: list[Decided] = []
        self._finished: events.TurnFinished | None = None
        self._request = 0  # the outputs before the request that is running
        self._thinking, self._thinking_since = "", 0.0

    def open(self) -> None:
        if self._panel is not None:
            self._panel.show_todos(())
            self._panel.keep(lambda: self._outputs.shown)
            self._outputs.show_panel(self._panel.bundle)
            self._follow()

    def show(self, event: events.Event) -> None:
        if not isinstance(event, events.ThinkingDelta):
            self._end_thinking()
        self._status.take(event)
        self._draw(event)
        self._follow()

    def _draw(self, event: events.Event) -> None:
        match event:
            case events.TextDelta() | events.ThinkingDelta():
                self._draw_words(event)
            case events.ToolStarted() | events.ToolProgress() | events.ToolFinished():
                self._draw_call(event)
            case events.Notice() | events.Compacted() | events.TaskChanged() | events.ModeChanged():
                self._draw_note(event)
            case events.RequestStarted():
                self._reply.end()
                self._request = self._outputs.mark()
            case events.Retrying():
                self._take_back(event)
            case events.PermissionResolved() | events.TodosChanged() | events.TurnFinished():
                self._keep(event)
            case (
                events.TurnStarted()
                | events.ToolInputDelta()
                | events.PermissionRequested()
                | events.Compacting()
                | events.UsageChanged()
            ):
                return  # the status line says it
            case _:
                assert_never(event)

    async def ask(self, question: Question, panel: "Panel") -> Answer:
        self._reply.end()
        self._outputs.hold(True)
        self._status.asking = True
        self._follow()
        try:
            answer = await panel.ask(question, self._cwd)
        finally:
            self._outputs.hold(False)
            self._status.asking = False
            self._follow()
        self._decisions += decided(question, answer)
        if isinstance(answer, PlanAnswer) and answer.choice != "reject":
            plan = prose(answer.plan)
            self._outputs.add({"text/markdown": inert(plan), "text/plain": plan})
        return answer

    def close(self) -> None:
        self._end_thinking()
        self._reply.end()
        self._calls.end()
        finished = self._finished or self._cut_short()
        todos, decisions = ((), []) if self._quiet else (self._todos, self._decisions)
        said = finished
        if finished is not None and self._quiet and finished.reason in ("done", *CELL_SAYS):
            said = None
        alone = said if finished is None or finished.reason == "done" else finished
        self._outputs.finish(
            final_bundle(todos, decisions, said),
            alone=final_bundle(todos, decisions, alone, alone=True),
        )
        if self._panel is not None:
            self._panel.finish()

    def _cut_short(self) -> events.TurnFinished | None:
        """The end of a turn that never said so; None where there was no turn, only a question."""
        now = self._status
        if not now.model:
            return None
        return events.TurnFinished("interrupted", now.usage, now.seconds, now.model, now.cost_usd)

    def _draw_words(self, event: events.TextDelta | events.ThinkingDelta) -> None:
        if isinstance(event, events.ThinkingDelta):
            self._think(event.text)
            return
        self._reply.feed(event.text)
        if not self._reply.empty:
            self._calls.part()

    def _draw_note(
        self,
        event: events.Notice | events.Compacted | events.TaskChanged | events.ModeChanged,
    ) -> None:
        level = event.level if isinstance(event, events.Notice) else "info"
        if self._quiet and level == "info":
            return
        words = event.text if isinstance(event, events.Notice) else plain.status_line(event)
        self._note(words, level)

    def _keep(
        self, event: events.PermissionResolved | events.TodosChanged | events.TurnFinished
    ) -> None:
        """What is shown at the end."""
        match event:
            case events.PermissionResolved():
                self._decisions.append(Decided(event.summary, event.answer, event.tool))
            case events.TodosChanged():
                self._todos = event.items
                if self._panel is not None:
                    self._panel.show_todos(event.items)
            case events.TurnFinished():
                self._finished = event
            case _:
                assert_never(event)

    def _draw_call(
        self, event: events.ToolStarted | events.ToolProgress | events.ToolFinished
    ) -> None:
        if self._quiet:
            return
        match event:
            case events.ToolStarted():
                self._reply.end()
                self._calls.started(event)
            case events.ToolProgress():
                self._calls.progress(event.id, event.text)
            case events.ToolFinished():
                self._calls.finished(event)
            case _:
                assert_never(event)

    def _take_back(self, event: events.Retrying) -> None:
        self._reply.forget()
        self._calls.forget()
        self._outputs.take_back(self._request)
        if self._panel is None and not self._quiet:
            self._note(plain.status_line(event), "warning")

    def _think(self, piece: str) -> None:
        if not self._thinking:
            self._thinking_since = time.monotonic()
        if len(self._thinking) < MOST_THINKING:
            self._thinking += piece

    def _end_thinking(self) -> None:
        words, self._thinking = self._thinking.strip(), ""
        if not words or self._quiet:
            return
        self._part()
        took = time.monotonic() - self._thinking_since
        summary = text("views.call.thought", duration=duration(took))
        if took < SHORT:
            summary = text("views.call.thought_briefly")
        shown = html.call_html("✻", summary, "", html.prose_html(words), quiet=True)
        self._outputs.add({"text/html": shown, "text/plain": f"({summary})"})

    def _note(self, words: str, level: events.NoticeLevel) -> None:
        self._part()
        shown = html.note_html(words, level)
        self._outputs.add({"text/html": shown, "text/plain": line(words)})

    def _part(self) -> None:
        self._reply.end()
        self._calls.part()

    def _follow(self) -> None:
        if self._panel is not None:
            self._panel.show_status(self._status.view(), seconds=self._status.seconds)


def _is_detail(event: events.Event) -> bool:
    """What `--quiet` leaves out."""
    if isinstance(event, events.Notice):
        return event.level == "info"
    return not isinstance(event, events.TextDelta | events.TurnFinished)
