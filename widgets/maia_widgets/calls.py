"""Tool calls: one quiet line each, that opens; read-only ones in a row share a line."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from maia_kernel import paths
from maia_kernel.display import DiffDisplay, Display, TextDisplay
from maia_kernel.events import ToolFinished, ToolStarted
from maia_kernel.measures import duration
from maia_kernel.neutral import line, output
from maia_kernel.texts import text
from maia_widgets import html
from maia_widgets.outputs import Bundle, Outputs, Slot
from maia_widgets.pace import Pace

MOST_FOLDED = 20
"""Calls that share a line; an output is sent whole at every change, so it must not grow for ever."""
LATEST = 200
"""Characters of the latest line of a running call."""
PRINTED = 4_000
"""Characters of what a call had printed that stay when it is stopped."""


@dataclass(slots=True, eq=False)
class _Call:
    name: str
    icon: str
    summary: str
    displays: tuple[Display, ...] = ()
    counted: str = ""
    results: tuple[Display, ...] = ()
    latest: str = ""
    printed: str = ""  # the end of it, for a call that is stopped
    state: Literal["running", "done", "failed", "stopped"] = "running"
    seconds: float = 0.0


@dataclass(slots=True, eq=False)
class _Line:
    """One output: a call, or several read-only ones."""

    slot: Slot
    read_only: bool
    calls: list[_Call] = field(default_factory=list)


class Calls:
    """Draws calls as they start, go on and end."""

    def __init__(self, outputs: Outputs, loop: asyncio.AbstractEventLoop, cwd: Path) -> None:
        self._outputs = outputs
        self._cwd = cwd
        self._pace = Pace(loop, self._draw)
        self._lines: dict[str, _Line] = {}  # by call id, while the call runs
        self._calls: dict[str, _Call] = {}
        self._last: _Line | None = None
        self._changed: list[_Line] = []

    def started(self, event: ToolStarted) -> None:
        """A new line, or a place in the line of the read-only calls just before."""
        call = _Call(event.name, event.icon, event.summary, event.displays, event.counted)
        self._place(event.id, call, read_only=event.read_only)

    def progress(self, call_id: str, piece: str) -> None:
        """New output of a running call: its last line is shown."""
        call = self._calls.get(call_id)
        if call is None:
            return
        call.printed = (call.printed + piece)[-PRINTED:]
        rows = [row for row in output(piece[-4 * LATEST :]).split("\n") if row.strip()]
        if rows:
            call.latest = rows[-1][:LATEST]
            self._changes(self._lines[call_id])

    def finished(self, event: ToolFinished) -> None:
        """The call's last state; a call that never started gets its line now."""
        if event.id not in self._calls:
            self._place(event.id, _Call(event.name, "•", event.summary), read_only=False)
        call, entry = self._calls.pop(event.id), self._lines.pop(event.id)
        call.state = "failed" if event.is_error else "done"
        call.summary, call.seconds, call.results = event.summary, event.seconds, event.displays
        self._changes(entry)

    def part(self) -> None:
        """Something else is shown now: later read-only calls begin a line of their own."""
        self._last = None

    def end(self) -> None:
        """No call goes on."""
        for call_id, call in self._calls.items():
            call.state = "stopped"
            if call.printed:
                call.results = (TextDisplay(call.printed),)
            self._changes(self._lines[call_id])
        self._calls, self._lines, self._last = {}, {}, None
        self._pace.now()

    def forget(self) -> None:
        """Forget running calls: their outputs are taken back."""
        self._calls, self._lines, self._last, self._changed = {}, {}, None, []
        self._pace.stop()

    def _place(self, call_id: str, call: _Call, *, read_only: bool) -> None:
        last = self._last
        if not (last and read_only and last.read_only and len(last.calls) < MOST_FOLDED):
            last = _Line(self._outputs.add(self._bundle([call])), read_only)
        last.calls.append(call)
        self._last, self._lines[call_id], self._calls[call_id] = last, last, call
        self._changes(last)

    def _changes(self, entry: _Line) -> None:
        if entry not in self._changed:
            self._changed.append(entry)
        self._pace.soon()

    def _draw(self) -> None:
        for entry in self._changed:
            entry.slot.update(self._bundle(entry.calls))
        self._changed = []

    def _bundle(self, calls: list[_Call]) -> Bundle:
        if len(calls) == 1:
            return {"text/html": self._call_html(calls[0]), "text/plain": _plain(calls[0])}
        summary, running = folded(calls), [call for call in calls if call.state == "running"]
        if running:
            shown = html.running_html(calls[0].icon, summary, running[-1].summary)
        else:
            failed = [call.summary for call in calls if call.state == "failed"]
            tail = duration(max(call.seconds for call in calls))
            body = "".join(self._call_html(call) for call in calls)
            shown = html.call_html(calls[0].icon, summary, tail, body, failures=failed)
        rows = [summary, *(f"  {_plain(call)}" for call in calls)]
        return {"text/html": shown, "text/plain": "\n".join(rows)}

    def _call_html(self, call: _Call) -> str:
        if call.state == "running":
            return html.running_html(call.icon, call.summary, call.latest)
        tail = duration(call.seconds)
        if call.state != "done":
            tail = text(f"views.call.{call.state}") + (f" · {tail}" if call.seconds else "")
        body = "".join(self._display_html(display) for display in _opened(call))
        failed = call.state == "failed"
        return html.call_html(call.icon, call.summary, tail, body, failed=failed)

    def _display_html(self, display: Display) -> str:
        path = paths.shown(display.path, self._cwd) if isinstance(display, DiffDisplay) else ""
        return html.display_html(display, shown_path=path)


def folded(calls: "list[_Call]") -> str:
    """What many calls did, in few words: "read 6 files, 2 searches"."""
    parts = []
    for (counted, name), number in Counter((c.counted, c.name) for c in calls).items():
        if not counted:
            parts.append(text("views.call.other", name=line(name), count=number))
        elif number == 1:
            parts.append(text(f"views.counted.{counted}_one"))
        else:
            parts.append(text(f"views.counted.{counted}", count=number))
    words = ", ".join(parts)
    return words[:1].upper() + words[1:]


def _opened(call: _Call) -> tuple[Display, ...]:
    """What the opened line shows: the input, unless the result shows the same, then the result."""
    kinds = {type(result) for result in call.results}
    given = [
        display
        for display in call.displays
        if display not in call.results
        if type(display) not in kinds or (isinstance(display, TextDisplay) and display.language)
    ]
    return (*given, *call.results)


def _plain(call: _Call) -> str:
    mark = {"running": "…", "done": "✓", "failed": "✗", "stopped": "✗"}[call.state]
    return f"{mark} {line(call.summary)}" + (f" · {duration(call.seconds)}" if call.seconds else "")
