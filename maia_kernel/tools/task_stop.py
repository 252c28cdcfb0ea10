"""TaskStop: end a background command and everything it started."""

from collections.abc import AsyncIterator

from pydantic import AliasChoices, Field

from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput
from maia_kernel.tools.task_output import described, found, report


class TaskStopInput(ToolInput):
    """Which task."""

    task_id: str = Field(
        description="The task's id, from the Bash call that started it",
        validation_alias=AliasChoices("task_id", "shell_id"),
    )


class TaskStop(Tool[TaskStopInput]):
    """The tool."""

    name = "TaskStop"
    icon = "$"
    counted = "task_stops"
    aliases = ("KillShell", "KillBash")
    description = (
        "Ends a background task and every process it started, and returns what it printed since it was "
        "last read."
    )

    @property
    def Input(self) -> type[TaskStopInput]:
        return TaskStopInput

    def read_only(self, call: TaskStopInput, context: ToolContext) -> bool:
        return False

    def validate(self, call: TaskStopInput, context: ToolContext) -> None:
        found(call.task_id, context)

    def subject(self, call: TaskStopInput, context: ToolContext) -> Subject:
        # Nobody is asked whether a command may end that they allowed to be started.
        return Subject(self.name, read_only=True)

    def summary(self, call: TaskStopInput, context: ToolContext) -> str:
        return described(call.task_id, context)

    async def run(
        self, call: TaskStopInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        task = found(call.task_id, context)
        await task.stop()
        yield await report(task, context)
