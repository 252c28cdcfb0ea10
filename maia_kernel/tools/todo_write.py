"""TodoWrite: the list of what is to be done, replaced as a whole."""

from collections.abc import AsyncIterator

from pydantic import Field

from maia_kernel.display import Display, TodoDisplay, TodoItem, TodoStatus
from maia_kernel.errors import ToolRetry
from maia_kernel.messages import Text
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput

_MARKS: dict[TodoStatus, str] = {"pending": "☐", "in_progress": "▶", "completed": "☑"}


class Todo(ToolInput):
    """One entry."""

    content: str = Field(description="What is to be done", min_length=1)
    status: TodoStatus
    active_form: str = Field(
        "",
        alias="activeForm",
        description='How it reads while in progress, such as "Running tests"',
    )


class TodoWriteInput(ToolInput):
    """The list."""

    todos: list[Todo] = Field(description="The whole list; it replaces the one before")


class TodoWrite(Tool[TodoWriteInput]):
    """The tool."""

    name = "TodoWrite"
    icon = "☑"
    counted = "todos"
    description = (
        "Replaces the todo list that the person sees. Use it for work of three or more steps: give every "
        "step, keep exactly one in_progress while working, mark each completed as soon as it is done."
    )

    @property
    def Input(self) -> type[TodoWriteInput]:
        return TodoWriteInput

    def read_only(self, call: TodoWriteInput, context: ToolContext) -> bool:
        return True

    def concurrency_safe(self, call: TodoWriteInput, context: ToolContext) -> bool:
        return False  # the last list must win

    def validate(self, call: TodoWriteInput, context: ToolContext) -> None:
        if any(not todo.content.strip() for todo in call.todos):
            raise ToolRetry("every todo needs a content.")

    def subject(self, call: TodoWriteInput, context: ToolContext) -> Subject:
        return Subject(self.name, read_only=True)

    def summary(self, call: TodoWriteInput, context: ToolContext) -> str:
        done = sum(todo.status == "completed" for todo in call.todos)
        return f"{done}/{len(call.todos)}"

    def displays(self, call: TodoWriteInput, context: ToolContext) -> tuple[Display, ...]:
        return (TodoDisplay(_items(call)),)

    async def run(
        self, call: TodoWriteInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        items = _items(call)
        context.todos = items
        lines = [f"{_MARKS[item.status]} {item.content}" for item in items]
        running = sum(item.status == "in_progress" for item in items)
        if running > 1:
            lines.append(f"(warning: {running} are in progress; keep one at a time)")
        text = "\n".join(lines) or "(the list is empty)"
        yield ToolOutput((Text(text),), (TodoDisplay(items),), todos=items)


def _items(call: TodoWriteInput) -> tuple[TodoItem, ...]:
    return tuple(
        TodoItem(todo.content.strip(), todo.status, todo.active_form.strip()) for todo in call.todos
    )
