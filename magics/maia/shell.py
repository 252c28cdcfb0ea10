"""The live kernel as the agent's port: its code runs in the main thread, in the person's namespace."""

import asyncio
import contextlib
import inspect
import json
import os
import secrets
import sys
import threading
import traceback
from asyncio import events as _events
from asyncio import tasks as _tasks
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

from IPython.core.async_helpers import get_asyncio_loop
from IPython.core.interactiveshell import InteractiveShell

from maia import isolated
from maia.capture import Captured, capture
from maia.outcomes import CellFailed, TurnInterrupted
from maia.pump import Pump
from maia_kernel.errors import ToolError, ToolFailed
from maia_kernel.ports import CodeResult, Isolation

_HERE: Final = str(Path(__file__).parent) + os.sep
_FLUSH: Final = 0.05
"""Seconds between two reports of new output: a loop of prints must not flood the engine."""
_LIBRARY_FRAMES: Final = 4
"""Frames of libraries shown at the end of a traceback."""
_ERRORS: Final = 3
"""Errors shown besides the one that ended the code."""


class LiveKernel:
    """`KernelPort` of one shell. `pump` is the running turn's; without one no code can run."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self.pump: Pump | None = None

    async def run_code(
        self,
        code: str,
        *,
        timeout: float,
        on_output: Callable[[str], None],
    ) -> CodeResult:
        """See `KernelPort.run_code`."""
        return await self._in_main(
            lambda take, engine: self._run(code, take, engine), timeout, on_output
        )

    async def call(
        self, work: Callable[[], Any], *, timeout: float, on_output: Callable[[str], None]
    ) -> CodeResult:
        """See `KernelPort.call`."""
        return await self._in_main(
            lambda take, engine: called(self._shell, work, take, engine), timeout, on_output
        )

    async def _in_main(
        self,
        run: Callable[[Callable[[str], None], int], CodeResult],
        timeout: float,
        on_output: Callable[[str], None],
    ) -> CodeResult:
        """`run(take, engine_thread)` in the main thread, what it prints reported meanwhile."""
        if self.pump is None:
            raise ToolFailed("Python code runs only while the person's cell waits for this turn.")
        output = _Output(asyncio.get_running_loop(), on_output)
        engine_thread = threading.get_ident()
        try:
            return await self.pump.call_main(
                lambda: run(output.take, engine_thread), timeout=timeout
            )
        finally:
            output.flush()  # also of code that was stopped

    async def run_isolated(
        self,
        code: str,
        *,
        timeout: float,
        on_output: Callable[[str], None],
        isolation: Isolation,
    ) -> CodeResult:
        """See `KernelPort.run_isolated`."""
        if self.pump is None:
            raise ToolFailed("Python code runs only while the person's cell waits for this turn.")
        mark = f"isolated-{secrets.token_hex(8)}."

        def prepare() -> None:
            isolated.silence(self._shell, isolation.environ, mark)
            if isolation.confine is not None:
                isolation.confine()

        def run(on_text: Callable[[str], None]) -> CodeResult:
            with no_running_loop():
                return self._run(code, on_text, -1)

        copy = await self.pump.call_main(lambda: isolated.fork(run, prepare), timeout=timeout)
        return await isolated.finish(copy, timeout=timeout, on_output=on_output, mark=mark)

    def _run(self, code: str, on_text: Callable[[str], None], engine_thread: int) -> CodeResult:
        shell = self._shell
        before = dict(shell.user_ns)
        with capture(shell, engine_thread=engine_thread, on_text=on_text) as captured:
            transformed = _transformed(shell, code)
            if shell.should_run_async(code, transformed_cell=transformed):
                outcome = _run_async(shell, code)
            else:
                outcome = shell.run_cell(code, store_history=False)
        error = outcome.error_before_exec or outcome.error_in_exec
        quiet = code.rstrip().endswith(";")
        return CodeResult(
            stdout=captured.stdout,
            result="" if quiet else captured.result,
            images=tuple(shown.image for shown in captured.shown.values() if shown.image),
            texts=_texts(captured),
            error="\n".join(_errors(captured, error, shell)),
            changed=_changed(before, shell),
        )


class _Output:
    """Hands output of the main thread to the engine's loop, in bundles."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_output: Callable[[str], None]) -> None:
        self._loop = loop
        self._on_output = on_output
        self._pieces: list[str] = []
        self._guard = threading.Lock()

    def take(self, text: str) -> None:
        """New output; any thread but the engine's."""
        with self._guard:
            self._pieces.append(text)
            first = len(self._pieces) == 1
        if first:
            with contextlib.suppress(RuntimeError):  # the engine was shut down
                self._loop.call_soon_threadsafe(self._loop.call_later, _FLUSH, self.flush)

    def flush(self) -> None:
        """Report what came; on the engine's loop."""
        with self._guard:
            text = "".join(self._pieces)
            self._pieces.clear()
        if text:
            self._on_output(text)


def _transformed(shell: InteractiveShell, code: str) -> str:
    try:
        return str(shell.transform_cell(code))
    except SyntaxError:
        return code  # run_cell reports it


def _texts(captured: Captured) -> tuple[str, ...]:
    return tuple(shown.text for shown in captured.shown.values() if not shown.image and shown.text)


def _errors(
    captured: Captured, error: BaseException | None, shell: InteractiveShell
) -> Iterator[str]:
    """What the cell would have shown: also the error of a `__repr__`, or of a script under `%run`."""
    others = [shown for shown in captured.errors if shown is not error]
    for shown in (*others[-_ERRORS:], *(() if error is None else (error,))):
        yield trimmed_traceback(shown, shell)


def _changed(before: dict[str, Any], shell: InteractiveShell) -> tuple[str, ...]:
    """Names that are new or bound to another object; a change inside an object is not seen."""
    missing = object()
    hidden = shell.user_ns_hidden
    return tuple(
        name
        for name, value in list(shell.user_ns.items())
        if not name.startswith("_")
        and before.get(name, missing) is not value
        and (name in before or hidden.get(name, missing) is not value)
    )


# -- top-level await --------------------------------------------------------------------------------


def called(
    shell: InteractiveShell,
    work: Callable[[], Any],
    on_text: Callable[[str], None],
    engine_thread: int,
) -> CodeResult:
    """Call `work` as a cell would; see `KernelPort.call`. An interrupt is raised, not a result."""
    error: BaseException | None = None
    before = dict(shell.user_ns)
    said = ""
    with capture(shell, engine_thread=engine_thread, on_text=on_text) as captured:
        try:
            value = work()
            if inspect.isawaitable(value):
                value = _awaited(value)
            said = _plain_value(value)
            if not said:
                sys.displayhook(value)
            shell.events.trigger("post_execute")  # open figures are shown
        except (ToolError, KeyboardInterrupt):
            raise
        except BaseException as fault:  # noqa: BLE001 - also SystemExit, as after a cell
            error = fault
    pictures = dict.fromkeys(shown.image for shown in captured.shown.values() if shown.image)
    return CodeResult(
        stdout=captured.stdout,
        result=said or captured.result,
        images=tuple(pictures),
        texts=_texts(captured),
        error="\n".join(_errors(captured, error, shell)),
        changed=_changed(before, shell),
    )


def _plain_value(value: Any) -> str:
    """A text as it is, other values of JSON as JSON; empty for all that is shown in its own way."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict | list | tuple | int | float):
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def _awaited(value: Awaitable[Any]) -> Any:
    """What `value` gives, on IPython's own private loop, since the kernel's is busy here."""

    async def wait() -> Any:
        return await value

    with no_running_loop():
        loop = get_asyncio_loop()
        before = asyncio.all_tasks(loop)
        try:
            return loop.run_until_complete(wait())
        except KeyboardInterrupt:
            _end_tasks(loop, before)
            raise


def _run_async(shell: InteractiveShell, code: str) -> Any:
    """Run code with top-level await on IPython's own private loop, since the kernel's is busy here."""
    with no_running_loop():
        loop = get_asyncio_loop()
        before = asyncio.all_tasks(loop)
        outcome = shell.run_cell(code, store_history=False)
        if isinstance(outcome.error_in_exec, KeyboardInterrupt):
            _end_tasks(loop, before)
    return outcome


def _end_tasks(loop: asyncio.AbstractEventLoop, before: "set[asyncio.Task[Any]]") -> None:
    """End what was begun since `before`: interrupted while the loop slept, the code's task is still
    there and would go on with the next cell that awaits.
    """
    left = asyncio.all_tasks(loop) - before
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=1.0))


@contextlib.contextmanager
def no_running_loop() -> Iterator[None]:
    """Hide this thread's running event loop and task, so that another loop may run inside.

    Uses private names of asyncio that are the same from 3.7 on; `_swap_current_task` is of 3.12.
    """
    loop = _events._get_running_loop()
    if loop is None:
        yield
        return
    swap = getattr(_tasks, "_swap_current_task", None)
    task = swap(loop, None) if swap else None
    _events._set_running_loop(None)
    try:
        yield
    finally:
        _events._set_running_loop(loop)
        if swap:
            swap(loop, task)


# -- tracebacks -------------------------------------------------------------------------------------


def trimmed_traceback(error: BaseException, shell: InteractiveShell) -> str:
    """The traceback as a person reads it: the code's own lines, the last frames of libraries, no
    frames of IPython, no colours. Our own refusals are one line.
    """
    if isinstance(error, CellFailed | TurnInterrupted):
        return str(error)
    report = traceback.TracebackException.from_exception(error, compact=True)
    names = getattr(shell.compile, "_filename_map", {})
    for part in _chain(report):
        part.stack = traceback.StackSummary.from_list(_own_frames(part.stack, names))
        if _is_cell(getattr(part, "filename", None) or "", names):
            part.filename = "<cell>"  # a SyntaxError's
    return "".join(report.format()).rstrip("\n")


def _chain(report: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    yield report
    for part in (report.__cause__, report.__context__, *(report.exceptions or ())):
        if part is not None:
            yield from _chain(part)


def _own_frames(stack: traceback.StackSummary, cells: Any) -> list[traceback.FrameSummary]:
    """The frames from the first cell frame on, cells named as such, libraries shortened."""
    frames = list(stack)
    is_cell = [_is_cell(frame.filename, cells) for frame in frames]
    start = is_cell.index(True) if True in is_cell else _after_ipython(frames)
    kept: list[traceback.FrameSummary] = []
    for number in range(start, len(frames)):
        frame = frames[number]
        if is_cell[number]:
            name = "<cell>"
            kept.append(
                traceback.FrameSummary(name, frame.lineno, frame.name, line=frame.line or "")
            )
        elif number >= len(frames) - _LIBRARY_FRAMES and not _is_machinery(frame.filename):
            kept.append(frame)
    return kept


def _is_cell(filename: str, cells: Any) -> bool:
    return filename in cells or filename.startswith("<ipython-input")


def _is_machinery(filename: str) -> bool:
    """Whether a frame is of this package, or of what `exit()` is made of."""
    return filename.startswith(_HERE) or filename.endswith("IPython/core/autocall.py")


def _after_ipython(frames: list[traceback.FrameSummary]) -> int:
    """Where IPython's own frames end."""
    inside = [number for number, frame in enumerate(frames) if "/IPython/" in frame.filename]
    return inside[-1] + 1 if inside else 0
