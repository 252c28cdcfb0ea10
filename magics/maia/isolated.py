"""Code on a copy of the kernel: a fork that sees every variable, changes none, and is killed in the end.

A kernel has threads, and a fork of it has only one: what another thread held at that moment is held for
ever in the copy. So it gets a deadline, and nothing of the copy talks to a front-end.
"""

import asyncio
import codecs
import contextlib
import ctypes
import io
import os
import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from json import dumps, loads  # by name: the code may change the module
from typing import Any, Final

from IPython.core import async_helpers
from IPython.core.interactiveshell import InteractiveShell

from maia_kernel.display import ImageDisplay
from maia_kernel.errors import ToolFailed
from maia_kernel.ports import CodeResult
from maia_kernel.processes.groups import MARK, kill_group

_PIECE: Final = 65_536
_OUTPUT: Final = 2_000_000  # characters of what it prints that are kept
_RESULT: Final = 40_000_000  # bytes of values and pictures that come back
_SET_PDEATHSIG: Final = 1  # prctl(2), Linux
_DRAIN: Final = 64  # pieces; a pipe holds far less


@dataclass(slots=True)
class Fork:
    """The copy: its process, and the ends of the pipes that its output and its result come through."""

    pid: int
    output: int
    result: int

    def close(self) -> None:
        """Let go of the pipes."""
        os.close(self.output)
        os.close(self.result)


def fork(run: Callable[[Callable[[str], None]], CodeResult], prepare: Callable[[], None]) -> Fork:
    """Copy this process, in the main thread; the copy calls `prepare`, then `run(on_text)`, and ends.

    Raises:
        ToolFailed: this system cannot, or will not now.
    """
    if not hasattr(os, "fork"):
        raise ToolFailed("isolated code needs a system that can fork; run it without isolated.")
    output, output_end = os.pipe()
    result, result_end = os.pipe()
    parent = os.getpid()
    try:
        with warnings.catch_warnings():
            # Python 3.12 warns of forks of processes with threads: that is what the deadline is for.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except OSError as fault:
        for descriptor in (output, output_end, result, result_end):
            os.close(descriptor)
        raise ToolFailed(f"the kernel cannot be copied: {fault.strerror or fault}.") from fault
    if pid == 0:
        _be_the_copy(parent, output_end, result_end, prepare, run)
    os.close(output_end)
    os.close(result_end)
    return Fork(pid, output, result)


async def finish(
    copy: Fork, *, timeout: float, on_output: Callable[[str], None], mark: str
) -> CodeResult:
    """Read what the copy says until it is done; afterwards nothing of it is left.

    Raises:
        TimeoutError: it was not done after `timeout` seconds.
        ToolFailed: it ended without a result.
    """
    reading = _Reading(copy, on_output)
    try:
        async with asyncio.timeout(timeout):
            await reading.done()
    finally:
        # A descendant may have left the group: the mark finds it.
        status = await _end(copy.pid, mark)
        reading.close()
    return reading.code_result(status)


class _Reading:
    """Both pipes, on the running loop."""

    def __init__(self, copy: Fork, on_output: Callable[[str], None]) -> None:
        self._copy = copy
        self._on_output = on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._printed: list[str] = []
        self._room = _OUTPUT
        self._result = bytearray()
        self._over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        for descriptor, take in (
            (copy.output, self._take_output),
            (copy.result, self._take_result),
        ):
            os.set_blocking(descriptor, False)
            self._loop.add_reader(descriptor, take)

    async def done(self) -> None:
        """Return when the result is whole, or cannot come any more."""
        await self._over.wait()
        # What it printed before is in the pipe; a child of its own may print without end.
        for _ in range(_DRAIN):
            if not self._take_output():
                return

    def close(self) -> None:
        self._loop.remove_reader(self._copy.output)
        self._loop.remove_reader(self._copy.result)
        self._copy.close()

    def code_result(self, status: int) -> CodeResult:
        printed = "".join(self._printed)
        try:
            told: dict[str, Any] = loads(self._result)
        except ValueError:
            output = f" It had printed: {printed[-2_000:]}" if printed else ""
            raise ToolFailed(f"the isolated code {_ending(status)}.{output}") from None
        images = tuple(ImageDisplay(kind, data) for kind, data in told["images"])
        return CodeResult(
            printed, told["result"], images, tuple(told["texts"]), error=told["error"]
        )

    def _take_output(self) -> bool:
        data = _read(self._copy.output)
        if data == b"":
            self._loop.remove_reader(self._copy.output)
        text = self._decoder.decode(data or b"")
        if text and self._room > 0:
            piece = text[: self._room]
            self._room -= len(piece)
            self._printed.append(piece)
            self._on_output(piece)
        return bool(data)

    def _take_result(self) -> None:
        data = _read(self._copy.result)
        if data:
            self._result += data[: max(0, _RESULT - len(self._result))]
        elif data == b"":
            self._loop.remove_reader(self._copy.result)
            self._over.set()


def _read(descriptor: int) -> bytes | None:
    """A piece; None when there is none now, empty when there will be none."""
    try:
        return os.read(descriptor, _PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


async def _end(pid: int, mark: str) -> int:
    """Kill the copy and what it started; returns how it had ended."""
    await kill_group(pid, grace=0.0, mark=mark)
    with contextlib.suppress(ChildProcessError):
        return (await asyncio.to_thread(os.waitpid, pid, 0))[1]
    return 0


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return (
        f"ended its process with exit code {os.waitstatus_to_exitcode(status)} before it was done"
    )


# -- in the copy ------------------------------------------------------------------------------------


def _be_the_copy(
    parent: int,
    output: int,
    result: int,
    prepare: Callable[[], None],
    run: Callable[[Callable[[str], None]], CodeResult],
) -> None:
    """Never returns: whatever happens, the copy must not go on as a kernel."""
    code = 1
    try:
        os.setsid()
        _die_with(parent)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
            stream = io.FileIO(1, "w", closefd=False)
            text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", write_through=True)
            setattr(sys, name, text)
        prepare()
        told = run(_say)
        _tell(result, told)
        code = 0
    except BaseException as error:  # noqa: BLE001 - there is nobody above
        os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(code)


def silence(shell: InteractiveShell, environ: Mapping[str, str] | None, mark: str) -> None:
    """In the copy: no message goes to a front-end, nobody is asked, no event loop is shared.

    `environ` is put in the place of the variables, where it is given.
    """
    kernel: Any = getattr(shell, "kernel", None)
    if kernel is not None:
        kernel.session.send = lambda *args, **options: None
        kernel._allow_stdin = False
    # Its selector is the kernel's own: what is registered there would be registered in the kernel.
    if hasattr(async_helpers, "_asyncio_event_loop"):
        async_helpers._asyncio_event_loop = None
    asyncio.set_event_loop(None)
    if environ is not None:
        os.environ.clear()
        os.environ.update(environ)
    os.environ[MARK] = mark


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _say(text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data) :]


def _tell(descriptor: int, told: CodeResult) -> None:
    images = [(image.media_type, image.data) for image in told.images]
    while sum(len(data) for _, data in images) > _RESULT // 2:
        images.pop()
    fields = {
        "result": told.result[:_OUTPUT],
        "texts": [text[:_OUTPUT] for text in told.texts[:50]],
        "images": images,
        "error": told.error[:_OUTPUT],
    }
    data = dumps(fields).encode()
    while data:
        data = data[os.write(descriptor, data) :]
