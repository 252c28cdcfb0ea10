"""TaskOutput: what a background command printed since it was last asked."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic import AliasChoices, Field

from maia_kernel import paths
from maia_kernel.display import TextDisplay
from maia_kernel.errors import ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.processes import SHOWN_LIMIT, SPILL_LIMIT
from maia_kernel.shortening import shortened
from maia_kernel.tools.background import BackgroundTask
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput

DEFAULT_TIMEOUT = 30_000
LONGEST_TIMEOUT = 600_000


class TaskOutputInput(ToolInput):
    """Which task, and whether to wait."""

    task_id: str = Field(
        description="The task's id, from the Bash call that started it",
        validation_alias=AliasChoices("task_id", "bash_id", "agentId"),
    )
    block: bool = Field(True, description="Wait until the task has ended; true by default")
    timeout: int = Field(
        DEFAULT_TIMEOUT,
        ge=0,
        description="Milliseconds to wait with block; 30000 by default, at most 600000",
    )


class TaskOutput(Tool[TaskOutputInput]):
    """The tool."""

    name = "TaskOutput"
    icon = "$"
    counted = "task_outputs"
    aliases = ("BashOutput", "AgentOutput", "AgentOutputTool")
    description = (
        "Reads a background task: its state, its exit code once it has ended, and what it printed since "
        "the last call. With block it first waits for the end, at most timeout milliseconds; use "
        "block=false for a look at a task that goes on, such as a server."
    )

    @property
    def Input(self) -> type[TaskOutputInput]:
        return TaskOutputInput

    def read_only(self, call: TaskOutputInput, context: ToolContext) -> bool:
        return True

    def concurrency_safe(self, call: TaskOutputInput, context: ToolContext) -> bool:
        # What is new is told once; a call of a reply that is thrown away must not have had it.
        return False

    def validate(self, call: TaskOutputInput, context: ToolContext) -> None:
        found(call.task_id, context)

    def subject(self, call: TaskOutputInput, context: ToolContext) -> Subject:
        return Subject(self.name, read_only=True)

    def summary(self, call: TaskOutputInput, context: ToolContext) -> str:
        return described(call.task_id, context)

    async def run(
        self, call: TaskOutputInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        task = found(call.task_id, context)
        if call.block:
            await task.wait(min(call.timeout, LONGEST_TIMEOUT) / 1_000)
        yield await report(task, context)


def found(number: str, context: ToolContext) -> BackgroundTask:
    """The session's background task with this id.

    Raises:
        ToolRetry: there is none.
    """
    task = context.background.find(number)
    if task is None:
        known = "; ".join(task.line for task in context.background) or "none was started"
        raise ToolRetry(f"there is no background task {number!r}. Tasks: {known}.")
    return task


def described(number: str, context: ToolContext) -> str:
    """A task for the screen: its id and its command."""
    task = context.background.find(number)
    return number if task is None else f"{number}: {' '.join(task.command.split())}"


async def report(task: BackgroundTask, context: ToolContext) -> ToolOutput:
    """The task's state and its new output, which then counts as read."""
    state = task.state  # before the output: what comes meanwhile is for the next call
    raw = await asyncio.to_thread(_rest, task.file, task.read)
    context.background.tell(task, state)
    task.read += len(raw)
    output = shortened(raw.decode("utf-8", "replace").strip("\n"), SHOWN_LIMIT)
    head = f"{task.id} {'is running' if state == 'running' else state}"
    lines = [head, output or "(no new output)"]
    if task.cut:
        lines.append(f"(only the first {SPILL_LIMIT // 2**20} MiB of output were kept)")
    lines.append(f"(all of its output: {paths.shown(task.file, context.cwd)})")
    shown = (TextDisplay(output),) if output else (TextDisplay(head),)
    return ToolOutput.of("\n".join(lines), *shown)


def _rest(file: Path, start: int) -> bytes:
    """The file's bytes from `start` on; none when somebody removed it."""
    try:
        with file.open("rb") as opened:
            opened.seek(start)
            return opened.read()
    except OSError:
        return b""
