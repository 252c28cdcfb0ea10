"""The one runner of child processes: groups, streams, limits, and nothing left behind.

A child leads a session of its own, has no terminal and no input but a given one, and writes stdout and stderr into
one pipe, so that their order is kept. Whatever ends it early (time limit, too much output,
cancellation) ends everything it started: TERM, a second, KILL.
"""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from maia_kernel.processes.groups import MARK, Groups, group_exists, kill_group, members_of
from maia_kernel.processes.output import SHOWN_LIMIT, Hiding, Output, Pipe

OUTPUT_LIMIT = 2 * 1024 * 1024 * 1024
"""Bytes of output after which a child is ended."""

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
    time_limit: float | None,
    on_output: Callable[[str], None] | None = None,
    spill: Path | None = None,
    shown_limit: int = SHOWN_LIMIT,
    output_limit: int = OUTPUT_LIMIT,
    stderr_apart: bool = False,
    stdin: bytes | None = None,
    groups: Groups | None = None,
    pass_fds: Sequence[int] = (),
    hiding: Hiding | None = None,
    lossless: bool = False,
) -> Completed:
    """Run `argv` to its end, at most `time_limit` seconds; `on_output` gets text as it comes.

    Without a `time_limit` it runs for as long as it likes. `stdin` is what it can read; else nothing.

    A child that ends while its own background children hold the pipe does not keep us: they go on,
    their further output is discarded. `spill` is the file to write the whole output to once it is
    longer than `shown_limit`; its folder is made. `groups` holds the child for as long as it, or
    something that it started, runs. `pass_fds` are descriptors that the child inherits. `hiding` takes
    secrets out of the output before it is passed on, cut or stored; `lossless` keeps bytes that are no
    UTF-8 as `surrogateescape` does.

    Cancellation ends everything the child started before it is raised.

    Raises:
        OSError: the program cannot be started.
    """
    output = Output(on_output, shown_limit, spill, hiding=hiding, lossless=lossless)
    errors = Output(None, shown_limit, None)
    groups = groups if groups is not None else Groups()
    child = _Child(output_limit, groups)
    env = {**env, MARK: child.mark}
    began = time.monotonic()
    try:
        apart = errors if stderr_apart else None
        await _whatever_comes(child.start(argv, cwd, env, output, apart, pass_fds, stdin))
        ending = await child.end(time_limit)
        if ending != "exited":
            await _whatever_comes(child.kill())
    except BaseException:
        await _whatever_comes(child.kill())
        groups.ended(child.pid, left=False)
        child.close()
        output.close()
        raise
    exit_code = await child.exit_code()
    child.close()
    # Reading the process table takes milliseconds: only where somebody seems to be left.
    running = members_of(child.pid) if child.held or group_exists(child.pid) else set()
    groups.ended(child.pid, left=bool(running))
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


class _Child:
    """One process, its pipes read by the event loop."""

    def __init__(self, output_limit: int, groups: Groups) -> None:
        self.pid = 0
        self._groups = groups
        self.mark = groups.mark()
        self._process: asyncio.subprocess.Process | None = None
        self._pipes: list[Pipe] = []
        self._limit = output_limit
        self._too_much = asyncio.Event()
        self._received = 0

    async def start(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        output: Output,
        errors: Output | None,
        pass_fds: Sequence[int],
        stdin: bytes | None,
    ) -> None:
        # Pipes of our own: asyncio's wait for a process also waits for its pipes to close, which
        # a background grandchild may never do.
        out = Pipe(output, self._count)
        self._pipes.append(out)
        err = out
        if errors is not None:
            err = Pipe(errors, self._count)
            self._pipes.append(err)
        try:
            with _readable(stdin) as source:
                self._process = await asyncio.create_subprocess_exec(
                    *argv,
                    cwd=cwd,
                    env=env,
                    stdin=source,
                    stdout=out.write_end,
                    stderr=err.write_end,
                    start_new_session=True,
                    pass_fds=pass_fds,
                )
        finally:
            for pipe in self._pipes:
                pipe.close_write_end()
        self.pid = self._process.pid
        self._groups.add(self.pid)
        for pipe in self._pipes:
            pipe.listen()

    async def end(self, time_limit: float | None) -> Ending:
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
        await kill_group(self.pid, mark=self.mark)
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


@contextlib.contextmanager
def _readable(stdin: bytes | None) -> Iterator[int]:
    """A descriptor to read `stdin` from.

    A file without a name, not a pipe: a child that does not read would leave us writing.
    """
    if stdin is None:
        yield asyncio.subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        yield file.fileno()


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
