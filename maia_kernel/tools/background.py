"""Commands in the background: Bash starts them, TaskOutput reads them, TaskStop ends them.

They belong to the session and live on the engine's loop: neither the end of a turn nor an interrupt ends
them, the end of the session or of the program does.
"""

import asyncio
import itertools
import os
import secrets as tokens
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from maia_kernel import processes
from maia_kernel.errors import ToolError
from maia_kernel.ports import Secrets
from maia_kernel.processes import SPILL_LIMIT, Completed, Groups
from maia_kernel.sandbox import Confined
from maia_kernel.tools.pieces import Pieces

_COMMAND_SHOWN = 120  # characters of a command in a line about its task


@dataclass(frozen=True, slots=True)
class Start:
    """What to run in the background: `command` as the model wrote it, `entering` what that takes."""

    command: str
    cwd: Path
    entering: AbstractAsyncContextManager[Confined]


class BackgroundTask:
    """One command in the background. `file` holds its output, stdout and stderr in order.

    `read` counts the bytes of the file that the model has had.
    """

    def __init__(self, number: str, start: Start, file: "OutputFile", groups: Groups) -> None:
        self.id = number
        self.command = start.command
        self.file = file.path
        self.read = 0
        self._output = file
        self._work = asyncio.create_task(self._run(start, groups), name=f"background {number}")
        # Not in `_run`: a task that is cancelled before its first step runs none of it.
        self._work.add_done_callback(self._ended)

    @property
    def running(self) -> bool:
        """Whether the command still runs."""
        return not self._work.done()

    @property
    def state(self) -> str:
        """In words for the model: `running`, `stopped`, `ended with exit code 0`."""
        if self.running:
            return "running"
        if self._work.cancelled():
            return "stopped"
        fault = self._work.exception()
        if fault is not None:
            reason = fault.strerror if isinstance(fault, OSError) else None
            reason = str(fault) if isinstance(fault, ToolError) else reason
            return f"could not be started: {reason or type(fault).__name__}"
        done = self._work.result()
        if done.ending == "too_much_output":
            return f"stopped: more than {processes.OUTPUT_LIMIT // 2**30} GiB of output"
        return f"ended with exit code {done.exit_code}"

    @property
    def line(self) -> str:
        """The task and its state in one line."""
        command = " ".join(self.command.split())
        if len(command) > _COMMAND_SHOWN:
            command = command[: _COMMAND_SHOWN - 1] + "…"
        return f"{self.id} ({command}): {self.state}"

    @property
    def cut(self) -> bool:
        """Whether there was more output than the file takes."""
        return self._output.cut

    async def wait(self, seconds: float) -> None:
        """Return when the command has ended, or after `seconds`; cancelling this does not end it."""
        await asyncio.wait({self._work}, timeout=seconds)

    async def stop(self) -> None:
        """End everything the command started; returns when it has ended."""
        self._work.cancel()
        await asyncio.wait({self._work})

    async def _run(self, start: Start, groups: Groups) -> Completed:
        async with start.entering as child:
            return await processes.run(
                child.argv,
                cwd=start.cwd,
                env=child.env,
                time_limit=None,
                on_output=self._output.write,
                groups=groups,
                pass_fds=child.pass_fds,
            )

    def _ended(self, work: "asyncio.Task[Completed]") -> None:
        self._output.close()
        if not work.cancelled():
            work.exception()  # retrieved: `state` tells it


class OutputFile:
    """A file of the person's own for what a command prints: known secrets out, 64 MiB at most."""

    def __init__(self, path: Path, secrets: Secrets | None) -> None:
        self.path = path
        self.cut = False
        self._pieces = None if secrets is None else Pieces(secrets)
        self._room = SPILL_LIMIT
        # Nobody knows what a command prints.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file: IO[bytes] = os.fdopen(descriptor, "wb", buffering=0)

    def write(self, text: str) -> None:
        """Add output; what is over the limit, or finds no room on the disk, is left out."""
        self._store(text if self._pieces is None else self._pieces.feed(text))

    def close(self) -> None:
        """There is no more output."""
        if self._pieces is not None:
            self._store(self._pieces.rest())
        self._file.close()

    def _store(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        kept = data[: self._room]
        try:
            written = self._file.write(kept)
        except OSError:
            written = 0
        self._room -= len(kept)
        self.cut = self.cut or written < len(data)


@dataclass(slots=True)
class BackgroundTasks:
    """The background commands of one session, in the order they were started.

    What the model knows of them is kept, so that it is told once how each of them ended.
    """

    _tasks: dict[str, BackgroundTask] = field(default_factory=dict)
    _told: dict[str, str] = field(default_factory=dict)
    _announced: dict[str, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __iter__(self) -> Iterator[BackgroundTask]:
        return iter(self._tasks.values())

    def start(
        self, start: Start, *, folder: Path, secrets: Secrets | None, groups: Groups
    ) -> BackgroundTask:
        """Start a command; its output goes to a new file in `folder`.

        Raises:
            OSError: the file cannot be made.
        """
        number = f"bash_{next(self._numbers)}"
        file = OutputFile(folder / f"{number}-{tokens.token_hex(4)}.txt", secrets)
        task = BackgroundTask(number, start, file, groups)
        self._tasks[number] = task
        self.tell(task, task.state)
        return task

    def find(self, number: str) -> BackgroundTask | None:
        """The task with this id."""
        return self._tasks.get(number)

    def tell(self, task: BackgroundTask, state: str) -> None:
        """The model is told that this is the task's state."""
        self._told[task.id] = state

    def news(self) -> tuple[str, ...]:
        """A line for every task whose state the model does not know; `settle` says it was told."""
        untold = [task for task in self if self._told.get(task.id) != task.state]
        self._announced = {task.id: task.state for task in untold}
        return tuple(task.line for task in untold)

    def settle(self) -> None:
        """What `news` said is part of the conversation."""
        # A later word of `tell` counts more.
        for number, state in self._announced.items():
            if self._told.get(number, "running") == "running":
                self._told[number] = state
        self._announced = {}

    def doubt(self) -> None:
        """The conversation lost a turn, or all of it: what runs is told once more."""
        self._announced = {}
        for task in self:
            if task.running:
                self._told.pop(task.id, None)

    async def end(self) -> None:
        """End every task that runs."""
        await asyncio.gather(*(task.stop() for task in self))
