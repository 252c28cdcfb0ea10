"""Events as plain text, for terminals, consoles, logs and saved footers.

`PlainText.show` gives what to write for an event, with its line breaks; questions are in `dialogue`.
Everything that comes from a model, a tool or a file is neutralised.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import assert_never

from maia_kernel import events, paths
from maia_kernel.display import (
    DiffDisplay,
    Display,
    ImageDisplay,
    TableDisplay,
    TextDisplay,
    TodoDisplay,
    TodoItem,
)
from maia_kernel.measures import cost_parts, count, duration, usage_parts
from maia_kernel.neutral import line, output, prose, visible
from maia_kernel.texts import text

DIFF_LINES = 60
"""Lines of a diff shown after the fact; a question shows all of them."""
OUTPUT_LINES = 8
"""Last lines of a program's output shown under its call."""
_TAIL = 4_000
"""Characters kept of what a running call prints, for when it is stopped."""
_LINE_UP = "\x1b[A\x1b[2K\r"  # ECMA-48: cursor up, erase the line
TODO_MARKS = {"pending": "☐", "in_progress": "▶", "completed": "☑"}


StatusEvent = (
    events.Notice
    | events.Retrying
    | events.Compacting
    | events.Compacted
    | events.TaskChanged
    | events.ModeChanged
)


class PlainText:
    """One turn as text. Knows whether the last line is open, which calls it has announced, and why it
    said that a request is tried again. With `redraw`, a terminal's lines may be written over.
    """

    def __init__(self, cwd: Path, *, footer: bool = True, redraw: bool = False) -> None:
        self._cwd = cwd
        self._footer = footer
        self._redraw = redraw
        self._open = False
        self._announced: set[str] = set()
        self._denied: set[str] = set()
        self._printed: dict[str, str] = {}  # by calls that run, the end of it
        self._failing = ""
        self._over = False

    def show(self, event: events.Event) -> str:
        """What to write for `event`; empty for events that a text has no place for."""
        if isinstance(event, events.Retrying):
            return self._retrying(event)
        shown = self._of_other(event)
        if shown:
            self._failing, self._over = "", False
        return shown

    def _retrying(self, event: events.Retrying) -> str:
        """The reason once; while it stays the same, only the attempt and the wait."""
        if event.reason != self._failing:
            self._failing, self._over = event.reason, False
            return self.lines(status_line(event))
        again = self.lines(text("plain.turn.retrying_again", **_attempt(event)))
        over, self._over = self._over and self._redraw, True
        return f"{_LINE_UP}{again}" if over else again

    def _of_other(self, event: events.Event) -> str:
        match event:
            case events.TextDelta():
                return self._flowing(prose(event.text))
            case events.ToolStarted() | events.ToolProgress() | events.ToolFinished():
                return self._of_call(event)
            case events.TodosChanged():
                return self.lines(*todo_lines(event.items))
            case events.PermissionResolved():
                self._denied |= {event.id} if event.answer.choice == "deny" else set()
                return self.lines(*resolved_lines(event))
            case events.TurnFinished():
                return self.lines(*self._end(event))
            case (
                events.Notice()
                | events.Retrying()
                | events.Compacting()
                | events.Compacted()
                | events.TaskChanged()
                | events.ModeChanged()
            ):
                return self.lines(status_line(event))
            case (
                events.TurnStarted()
                | events.RequestStarted()
                | events.ThinkingDelta()
                | events.ToolInputDelta()
                | events.PermissionRequested()
                | events.UsageChanged()
            ):
                return ""
            case _:
                assert_never(event)

    def _of_call(
        self, event: events.ToolStarted | events.ToolProgress | events.ToolFinished
    ) -> str:
        match event:
            case events.ToolStarted():
                return self._started(event)
            case events.ToolProgress():
                self._printed[event.id] = (self._printed.get(event.id, "") + event.text)[-_TAIL:]
                return ""
            case events.ToolFinished():
                self._printed.pop(event.id, None)
                return self.lines(*self._finished(event))
            case _:
                assert_never(event)

    def _flowing(self, piece: str) -> str:
        if piece:
            self._open = not piece.endswith("\n")
        return piece

    def lines(self, *rows: str) -> str:
        """`rows` on lines of their own, after whatever line is open."""
        if not rows:
            return ""
        start = "\n" if self._open else ""
        self._open = False
        return start + "".join(f"{row}\n" for row in rows)

    def _started(self, event: events.ToolStarted) -> str:
        # Read-only calls run together and finish in any order: they get their one line when done.
        if event.read_only:
            return ""
        self._announced.add(event.id)
        return self.lines(f"{event.icon} {line(event.summary)}")

    def _finished(self, event: events.ToolFinished) -> Iterator[str]:
        state = text("plain.turn.failed" if event.is_error else "plain.turn.done")
        if event.id not in self._announced:
            mark = "✗" if event.is_error else "✓"
            yield f"{mark} {line(event.summary)} · {duration(event.seconds)}"
            if not event.is_error:
                return
        else:
            yield f"  {state} · {duration(event.seconds)}"
        if event.id in self._denied:
            return  # said when it was decided
        for display in event.displays:
            # The list itself comes with TodosChanged.
            if not isinstance(display, TodoDisplay):
                yield from _indented(display_lines(display, self._cwd))

    def stopped(self) -> Iterator[str]:
        """What calls that never finished had printed; once."""
        printed, self._printed = self._printed, {}
        for words in printed.values():
            yield from _indented(display_lines(TextDisplay(words), self._cwd))

    def _end(self, event: events.TurnFinished) -> Iterator[str]:
        yield from self.stopped()
        if event.reason != "done":
            yield text(f"plain.end.{event.reason}", error=line(event.error))
        if self._footer:
            yield footer(event)


def status_line(event: StatusEvent) -> str:
    """The line of an event that only says how the turn goes."""
    match event:
        case events.Notice():
            note = line(event.text)
            return note if event.level == "info" else text(f"plain.notice.{event.level}", text=note)
        case events.Retrying():
            return text("plain.turn.retrying", reason=line(event.reason), **_attempt(event))
        case events.Compacting():
            return text("plain.turn.compacting", reason=line(event.reason))
        case events.Compacted():
            before, after = count(event.before), count(event.after)
            return text("plain.turn.compacted", before=before, after=after)
        case events.TaskChanged():
            status, summary = line(event.status), line(event.summary)
            return text("plain.turn.task", id=line(event.id), status=status, summary=summary)
        case events.ModeChanged():
            return text("plain.turn.mode", mode=line(event.mode))
        case _:
            assert_never(event)


def _attempt(event: events.Retrying) -> dict[str, object]:
    wait = duration(event.delay)
    return {"delay": wait, "attempt": event.attempt, "attempts": event.attempts}


def resolved_lines(event: events.PermissionResolved) -> Iterator[str]:
    """What was decided, unless the person has just typed "once", or another line says it."""
    answer, summary = event.answer, line(event.summary)
    if answer.by == "nobody":
        return  # the notice with the rule that would allow it says so
    if answer.by != "person":
        yield text(f"plain.resolved.{answer.by}", summary=summary)
    elif answer.choice == "deny" and answer.message:
        yield text("plain.resolved.told", summary=summary, message=line(answer.message))
    elif answer.choice != "once":
        yield text(f"plain.resolved.{answer.choice}", summary=summary)


def display_lines(display: Display, cwd: Path, *, whole: bool = False) -> list[str]:
    """A display as lines, shortened unless `whole`."""
    match display:
        case TextDisplay():
            body = (visible if whole else output)(display.text.rstrip("\n")).split("\n")
            title = [line(display.title)] if display.title else []
            return title + (body if whole else _last(body, OUTPUT_LINES))
        case DiffDisplay():
            path = line(paths.shown(display.path, cwd) if display.path else "")
            title = [text("plain.turn.new_file", path=path) if display.new_file else path]
            body = visible(display.diff.replace("\r\n", "\n").rstrip("\n")).split("\n")
            return title + (body if whole else _first(body, DIFF_LINES))
        case TableDisplay():
            rows = _table(display)
            return rows if whole else _first(rows, DIFF_LINES)
        case ImageDisplay():
            return [text("plain.turn.image", media_type=line(display.media_type))]
        case TodoDisplay():
            return todo_lines(display.items)
        case _:
            assert_never(display)


def todo_lines(items: tuple[TodoItem, ...]) -> list[str]:
    """The todo list, one line an entry."""
    return [f"{TODO_MARKS[item.status]} {todo_label(item)}" for item in items]


def todo_label(item: TodoItem) -> str:
    """An entry as it reads in its present state."""
    active = item.status == "in_progress" and item.active_form
    return line(item.active_form if active else item.content)


def footer(event: events.TurnFinished) -> str:
    """One line about a finished turn: model, tokens, cached share, money if known, duration."""
    parts = [line(event.model), *usage_parts(event.usage), *cost_parts(event.cost_usd)]
    return " · ".join([part for part in parts if part] + [duration(event.seconds)])


def _table(table: TableDisplay) -> list[str]:
    rows = [tuple(line(cell) for cell in row) for row in (table.columns, *table.rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=False)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]


def _indented(rows: list[str]) -> list[str]:
    return [f"    {row}".rstrip() for row in rows]


def _first(rows: list[str], limit: int) -> list[str]:
    if len(rows) <= limit:
        return rows
    return [*rows[:limit], text("plain.turn.more_lines", count=len(rows) - limit)]


def _last(rows: list[str], limit: int) -> list[str]:
    if len(rows) <= limit:
        return rows
    return [text("plain.turn.earlier_lines", count=len(rows) - limit), *rows[-limit:]]
