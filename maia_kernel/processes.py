"""The one runner of child processes: groups, streams, limits, and nothing left behind.

A child leads a session of its own, has no terminal and no input, and writes stdout and stderr into
one pipe, so that their order is kept. Whatever ends it early (time limit, too much output,
cancellation) ends everything it started: TERM, a second, KILL.
"""

import asyncio
import codecs
import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from maia_kernel import paths

SHOWN_LIMIT = 30_000
"""Characters of output kept in memory and returned: the first and the last half."""
SPILL_LIMIT = 64 * 1024 * 1024
"""Bytes of output written to the spill file."""
OUTPUT_LIMIT = 2 * 1024 * 1024 * 1024
"""Bytes of output after which a child is ended."""
_GRACE = 1.0  # seconds between TERM and KILL
_DEAD = 1.0  # seconds to wait after KILL
_POLL = 0.02
_CHUNK = 65_536
_DRAIN = 64  # pieces; a pipe holds one or two

Ending = Literal["exited", "timed_out", "too_much_output"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Completed:
    """How a child ended.

    `exit_code` is 128 + N when signal N ended it. `output` is whole, or its head and tail around
    `left_out` characters, the whole then being in `spilled` (its first `SPILL_LIMIT` bytes).
    `error_output` is stderr where it was kept apart. `running` are processes it left in the
    background.
    """

    exit_code: int
    output: str
    ending: Ending
    seconds: float
    error_output: str = ""
    left_out: int = 0
    spilled: Path | None = None
    running: tuple[int, ...] = ()


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    time_limit: float,
    on_output: Callable[[str], None] | None = None,
    spill: Path | None = None,
    shown_limit: int = SHOWN_LIMIT,
    output_limit: int = OUTPUT_LIMIT,
    stderr_apart: bool = False,
) -> Completed:
    """Run `argv` to its end, at most `time_limit` seconds; `on_output` gets text as it comes.

    A child that ends while its own background children hold the pipe does not keep us: they go on,
    their further output is discarded. `spill` is the file to write the whole output to once it is
    longer than `shown_limit`; its folder is made.

    Cancellation ends everything the child started before it is raised.

    Raises:
        OSError: the program cannot be started.
    """
    output = _Output(on_output, shown_limit, spill)
    errors = _Output(None, shown_limit, None)
    child = _Child(output_limit)
    began = time.monotonic()
    try:
        await _whatever_comes(child.start(argv, cwd, env, output, errors if stderr_apart else None))
        ending = await child.end(time_limit)
        if ending != "exited":
            await _whatever_comes(child.kill())
    except BaseException:
        await _whatever_comes(child.kill())
        child.close()
        output.close()
        raise
    exit_code = await child.exit_code()
    child.close()
    # Reading the process table takes milliseconds: only where somebody seems to be left.
    running = _members(child.pid) if child.held or _group_exists(child.pid) else set()
    output.close()
    return Completed(
        exit_code=exit_code,
        output=output.shown(),
        ending=ending,
        seconds=time.monotonic() - began,
        error_output=errors.shown(),
        left_out=output.left_out,
        spilled=output.spilled,
        running=tuple(sorted(running)),
    )


async def kill_group(leader: int, *, grace: float = _GRACE) -> None:
    """End everything that process `leader` started: TERM, `grace` seconds (at most 2), KILL.

    That is its session, its group, and on Linux also descendants that left both.
    """
    members = _members(leader)
    _signal(leader, members, signal.SIGTERM)
    if await _gone(leader, members, min(grace, 2.0)):
        return
    members |= _members(leader)
    _signal(leader, members, signal.SIGKILL)
    await _gone(leader, members, _DEAD)


class _Child:
    """One process, its pipes read by the event loop."""

    def __init__(self, output_limit: int) -> None:
        self.pid = 0
        self._process: asyncio.subprocess.Process | None = None
        self._pipes: list[_Pipe] = []
        self._limit = output_limit
        self._too_much = asyncio.Event()
        self._received = 0

    async def start(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        output: "_Output",
        errors: "_Output | None",
    ) -> None:
        # Pipes of our own: asyncio's wait for a process also waits for its pipes to close, which
        # a background grandchild may never do.
        out = _Pipe(output, self._count)
        self._pipes.append(out)
        err = out
        if errors is not None:
            err = _Pipe(errors, self._count)
            self._pipes.append(err)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env=env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out.write_end,
                stderr=err.write_end,
                start_new_session=True,
            )
        finally:
            for pipe in self._pipes:
                pipe.close_write_end()
        self.pid = self._process.pid
        for pipe in self._pipes:
            pipe.listen()

    async def end(self, time_limit: float) -> Ending:
        """Wait for the child's own end, or for the reason to end it."""
        assert self._process is not None
        exited = asyncio.ensure_future(self._process.wait())
        too_much = asyncio.ensure_future(self._too_much.wait())
        try:
            done, _ = await asyncio.wait(
                {exited, too_much}, timeout=time_limit, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            exited.cancel()
            too_much.cancel()
        if too_much in done:
            return "too_much_output"
        return "exited" if exited in done else "timed_out"

    async def exit_code(self) -> int:
        assert self._process is not None
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    async def kill(self) -> None:
        if self._process is None:
            return
        await kill_group(self.pid)
        await self._process.wait()

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.finish()

    @property
    def held(self) -> bool:
        """Whether a background child still holds a pipe."""
        return any(pipe.is_open for pipe in self._pipes)

    def _count(self, received: int) -> None:
        self._received += received
        if self._received > self._limit:
            self._too_much.set()


class _Pipe:
    """The reading end of a pipe, on the running loop."""

    def __init__(self, output: "_Output", count: Callable[[int], None]) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._output: _Output | None = output
        self._count = count
        self._loop = asyncio.get_running_loop()

    @property
    def is_open(self) -> bool:
        return self._read_end >= 0

    def listen(self) -> None:
        self._loop.add_reader(self._read_end, self._read)

    def close_write_end(self) -> None:
        os.close(self.write_end)

    def finish(self) -> None:
        """Take what is there; if somebody still holds the pipe, go on reading but keep nothing.

        Closing it instead would end a background child by SIGPIPE at its next line of output.
        """
        if self._read_end < 0:
            return
        for _ in range(_DRAIN):  # bounded: a background child may write for ever
            if not self._read():
                break
        self._output = None

    def _read(self) -> bool:
        """Read a piece; False when nothing is there now or any more."""
        try:
            data = os.read(self._read_end, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = -1
            return False
        if self._output is not None:
            self._output.feed(data)
            self._count(len(data))
        return True


class _Output:
    """Output as it comes: decoded, passed on, its head and tail kept, all of it spilled to a file."""

    def __init__(
        self, on_output: Callable[[str], None] | None, limit: int, spill: Path | None
    ) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._on_output = on_output
        self._half = limit // 2
        self._limit = limit
        self._head = ""
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self._total = 0
        self._spill = spill
        self._file: IO[bytes] | None = None
        self._spilled_bytes = 0
        self._early: list[bytes] = []

    @property
    def left_out(self) -> int:
        return max(0, self._total - self._limit)

    @property
    def spilled(self) -> Path | None:
        return self._spill if self._spilled_bytes else None

    def feed(self, data: bytes, *, final: bool = False) -> None:
        text = self._decoder.decode(data, final)
        self._total += len(text)
        self._keep(text)
        self._store(data)
        if self._on_output is not None and text:
            self._on_output(text)

    def shown(self) -> str:
        tail = "".join(self._tail)
        if not self.left_out:
            return self._head + tail
        where = ""
        if self.spilled is not None:
            where = f"; all of it is in {paths.shown(self.spilled)}"
        note = f"\n\n[... {self.left_out:,} characters left out{where} ...]\n\n"
        return self._head + note + tail[-(self._limit - self._half) :]

    def close(self) -> None:
        self.feed(b"", final=True)
        self._early.clear()
        if self._file is not None:
            self._file.close()

    def _keep(self, text: str) -> None:
        room = self._half - len(self._head)
        if room > 0:
            self._head += text[:room]
            text = text[room:]
        if not text:
            return
        self._tail.append(text)
        self._tail_length += len(text)
        # All of it is kept while it may still be short enough to be shown whole.
        while self._tail_length - len(self._tail[0]) >= self._limit - self._half:
            self._tail_length -= len(self._tail.popleft())

    def _store(self, data: bytes) -> None:
        if self._spill is None:
            return
        if self._file is None:
            self._early.append(data)
            if not self.left_out:
                return
            self._spill.parent.mkdir(parents=True, exist_ok=True)
            # For the person alone: nobody knows what a command prints.
            descriptor = os.open(
                self._spill, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
            )
            self._file = os.fdopen(descriptor, "wb")
            data = b"".join(self._early)
            self._early.clear()
        data = data[: SPILL_LIMIT - self._spilled_bytes]
        self._file.write(data)
        self._spilled_bytes += len(data)


async def _whatever_comes(work: Coroutine[Any, Any, T]) -> T:
    """Finish `work` even if we are cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.done() and task.cancelled():
                raise
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # retrieved: the cancellation is what counts
        raise cancelled
    return task.result()


async def _gone(leader: int, members: set[int], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while True:
        # The whole table only once those known are dead: it takes milliseconds.
        if not any(_alive(pid) for pid in members):
            members = _members(leader)
            if not members:
                return True
        if time.monotonic() >= end:
            return False
        await asyncio.sleep(_POLL)


def _signal(leader: int, members: set[int], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
    for pid in members:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _members(leader: int) -> set[int]:
    """Living processes of the leader's session, group and offspring; zombies do not count."""
    table = _process_table()
    if table is None:
        return {leader} if _group_exists(leader) else set()
    found = {pid for pid, (_, group, session) in table.items() if leader in (pid, group, session)}
    grew = True
    while grew:
        more = {pid for pid, (parent, _, _) in table.items() if parent in found} - found
        found |= more
        grew = bool(more)
    return found


def _process_table() -> dict[int, tuple[int, int, int]] | None:
    """Parent, group and session of every living process (proc(5), `stat`); None without /proc."""
    table: dict[int, tuple[int, int, int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - only the names, many
    except OSError:
        return None
    for name in names:
        if not name.isdigit():
            continue
        stat = _stat(int(name))
        if stat is not None:
            table[int(name)] = stat
    return table or None


def _stat(pid: int) -> tuple[int, int, int] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name, in parentheses, may hold anything.
    state, parent, group, session = text[text.rindex(")") + 2 :].split()[:4]
    return None if state in "ZX" else (int(parent), int(group), int(session))


def _alive(pid: int) -> bool:
    if Path("/proc/self/stat").exists():
        return _stat(pid) is not None
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _group_exists(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except OSError:
        return False
    return True
