"""Python, TodoWrite, CurrentModel, and the registry."""

import asyncio
from contextlib import aclosing

import pydantic
import pytest

from maia_kernel.display import ImageDisplay, TextDisplay, TodoDisplay, TodoItem
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.messages import Image, Text
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.current_model import CurrentModel
from maia_kernel.tools.python import Python, PythonInput
from maia_kernel.tools.registry import builtin_tools
from maia_kernel.tools.todo_write import TodoWrite, TodoWriteInput
from tests.support.inline_kernel import InlineKernel
from tests.support.tools import call


@pytest.fixture
def live(context: ToolContext) -> ToolContext:
    context.kernel = InlineKernel()
    return context


async def test_python_output_result_and_variables(live: ToolContext) -> None:
    """Printed text streams and comes back with the result; variables stay for the next call."""
    done = await call(Python(), live, code="print('hello')\nx = 20")
    assert done.text == "hello"
    assert "".join(done.progress) == "hello\n"
    assert done.output.displays == (
        TextDisplay("print('hello')\nx = 20", language="python"),
        TextDisplay("hello"),
    )
    assert (await call(Python(), live, code="x + 1")).text == "21"
    assert (await call(Python(), live, code="y = 1")).text == "(no output)"


async def test_python_images(live: ToolContext) -> None:
    """Figures are image blocks for a model that takes them, and a note for one that does not."""
    done = await call(Python(), live, code="show('QUJD')")
    assert done.output.content == (Image("image/png", "QUJD"),)
    assert ImageDisplay("image/png", "QUJD") in done.output.displays
    live.images = False
    done = await call(Python(), live, code="show('QUJD')")
    assert done.output.content == (Text("(1 images were shown; this model takes none)"),)


async def test_python_errors(live: ToolContext) -> None:
    """An exception is an error result with its traceback, after what was printed."""
    done = await call(Python(), live, code="print('before')\n1/0")
    assert done.output.is_error
    assert done.text.startswith("before\nTraceback")
    assert done.text.endswith("ZeroDivisionError: division by zero")


async def test_python_limits(live: ToolContext) -> None:
    """Long output is cut in the middle; code over its time is a failure that says so."""
    done = await call(Python(), live, code="print('a' * 50_000 + 'end')")
    assert len(done.text) < 30_100
    assert done.text.endswith("end")
    code = "import time; print('early'); time.sleep(0.3)"
    with pytest.raises(ToolFailed, match=r"(?s)after 0.05 s.*had printed: early"):
        await call(Python(), live, code=code, timeout=50)


async def test_python_cancelled(live: ToolContext) -> None:
    """Cancelled while code runs, the call ends as cancelled."""

    async def consume() -> None:
        parsed = PythonInput(code="import time; print('on'); time.sleep(0.3)")
        async with aclosing(Python().run(parsed, live)) as steps:  # type: ignore[type-var]
            async for _ in steps:
                started.set()

    started = asyncio.Event()
    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_python_needs_a_kernel(context: ToolContext, live: ToolContext) -> None:
    """Without a live kernel, or with empty code, the call is refused; it is never read-only."""
    with pytest.raises(ToolRetry):
        Python().validate(PythonInput(code=" "), live)
    assert not Python().subject(PythonInput(code="1"), live).read_only
    context.kernel = None
    with pytest.raises(ToolFailed, match="no live kernel"):
        Python().validate(PythonInput(code="1"), context)


async def test_todos(context: ToolContext) -> None:
    """The list is replaced, returned with marks, and kept in the context."""
    todos = [
        {"content": "Read", "status": "completed", "activeForm": "Reading"},
        {"content": "Edit", "status": "in_progress", "activeForm": "Editing"},
        {"content": "Test", "status": "pending", "activeForm": "Testing"},
    ]
    done = await call(TodoWrite(), context, todos=todos)
    assert done.text == "☑ Read\n▶ Edit\n☐ Test"
    items = (
        TodoItem("Read", "completed", "Reading"),
        TodoItem("Edit", "in_progress", "Editing"),
        TodoItem("Test", "pending", "Testing"),
    )
    assert done.output.todos == context.todos == items
    assert done.output.displays == (TodoDisplay(items),)
    assert TodoWrite().summary(TodoWriteInput.model_validate({"todos": todos}), context) == "1/3"


async def test_todos_at_the_edges(context: ToolContext) -> None:
    """Two in progress is a warning, an empty list is fine, a wrong status or an empty text is refused."""
    twice = [{"content": name, "status": "in_progress"} for name in "ab"]
    assert "warning: 2 are in progress" in (await call(TodoWrite(), context, todos=twice)).text
    assert (await call(TodoWrite(), context, todos=[])).output.todos == ()
    with pytest.raises(pydantic.ValidationError):
        await call(TodoWrite(), context, todos=[{"content": "a", "status": "done"}])
    with pytest.raises(ToolRetry):
        await call(TodoWrite(), context, todos=[{"content": " ", "status": "pending"}])


async def test_current_model(context: ToolContext) -> None:
    """The model and its provider are told."""
    context.model = "ollama:qwen3:8b"
    assert (await call(CurrentModel(), context)).text == "model: qwen3:8b\nprovider: ollama"


def test_registry() -> None:
    """The tools come sorted by name with unique names, and Python only with a kernel."""
    names = [tool.name for tool in builtin_tools(kernel=True)]
    assert names == sorted(names)
    assert set(names) == {
        "AskUserQuestion",
        "Bash",
        "CurrentModel",
        "Edit",
        "EnterPlanMode",
        "ExitPlanMode",
        "Glob",
        "Grep",
        "Python",
        "Read",
        "TaskOutput",
        "TaskStop",
        "TodoWrite",
        "WebFetch",
        "Write",
    }
    assert "Python" not in [tool.name for tool in builtin_tools(kernel=False)]


def test_schemas_are_plain() -> None:
    """Every schema is an object of described fields, closed, without pydantic's own words."""
    for tool in builtin_tools(kernel=True):
        schema = tool.schema()
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert "title" not in schema
        assert "anyOf" not in str(schema)
        assert tool.description


@pytest.mark.parametrize("path", ["", "a\0b", "~nobody-of-that-name/x"])
def test_a_summary_never_fails(live: ToolContext, path: str) -> None:
    """The line for the screen exists also for a call that validation will refuse."""
    fields = {"file_path": path, "path": path, "content": "", "old_string": "a", "new_string": "b"}
    fields |= {"pattern": path, "command": path, "code": path, "task_id": path, "url": path}
    for tool in builtin_tools(kernel=True):
        known = tool.Input.model_fields
        parsed = tool.Input.model_construct(
            **{k: v for k, v in fields.items() if k in known}, todos=[], questions=[]
        )
        assert isinstance(tool.summary(parsed, live), str)
        tool.read_only(parsed, live)
