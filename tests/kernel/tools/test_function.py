"""Functions as tools: the schema from the annotations, what cannot be one, and a call."""

import enum
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from maia_kernel.errors import ToolFailed, ToolRetry, UsageError
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.function import FunctionTool
from maia_kernel.tools.json_tool import JsonInput
from maia_kernel.tools.signature import describe
from tests.support.inline_kernel import InlineKernel
from tests.support.tools import call


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


NOTHING = object()


def everything(
    text: str,
    count: Annotated[int, Field(ge=1, description="How many")],
    colour: Colour,
    where: Point,
    kind: Literal["a", "b"] = "a",
    files: list[Path] | None = None,
    copy: bool = False,
    *,
    other: Any = NOTHING,
) -> str:
    """Does everything.

    Args:
        text: what is done.
    """
    return f"{text} {count} {colour} {where} {kind} {files} {copy} {other is NOTHING}"


def test_the_schema_is_from_the_annotations() -> None:
    """Types, choices, defaults and descriptions are in the schema, the docstring is the description."""
    described = describe(everything)
    schema = described.input_schema
    assert described.name == "everything"
    assert described.description == inspect.getdoc(everything)
    assert schema["required"] == ["text", "count", "colour", "where"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["text"] == {"type": "string"}
    assert properties["count"] == {"type": "integer", "minimum": 1, "description": "How many"}
    assert properties["kind"] == {"type": "string", "enum": ["a", "b"], "default": "a"}
    assert properties["copy"] == {"type": "boolean", "default": False}
    assert properties["files"]["type"] == "array"
    assert "default" not in properties["other"]
    assert "title" not in str(schema)


def test_values_become_what_the_function_takes() -> None:
    """Values are checked and made into the annotated types; what is missing is the function's own."""
    made = describe(everything).call
    given = {"text": "t", "count": 2, "colour": "red", "where": {"x": 1}}
    assert made(given) == "t 2 Colour.RED Point(x=1, y=0) a None False True"
    assert "PosixPath('f')" in made(given | {"files": ["f"], "copy": True})
    with pytest.raises(ToolRetry, match=r"invalid input for everything:\n- colour: "):
        made(given | {"colour": "blue"})


def no_annotation(a, b: int) -> None: ...  # type: ignore[no-untyped-def]
def any_number(*a: int) -> None: ...
def any_names(**a: int) -> None: ...
def by_position(a: int, /) -> None: ...
def no_such_type(a: "NoSuchType") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def no_json(a: Callable[[], int]) -> None: ...
def no_schema(a: InlineKernel) -> None: ...


def test_texts_as_annotations() -> None:
    """An annotation may be a text; one of the result that names nothing does no harm."""

    def load(year: "int", kind: "Literal['a', 'b']" = "a") -> "DataFrame":  # type: ignore[name-defined]  # noqa: F821
        """Loads."""

    assert describe(load).input_schema["properties"]["year"] == {"type": "integer"}


CANNOT = {
    no_annotation: "its parameter a has no annotation",
    any_number: r"\*a: int",
    any_names: r"\*\*a: int",
    by_position: "named parameters",
    no_such_type: "NoSuchType",
    no_json: "no_json cannot be a tool",
    no_schema: "InlineKernel",
    lambda: None: "cannot be the name of a tool",
    len: "len cannot be a tool",
}


@pytest.mark.parametrize("function", CANNOT, ids=lambda function: function.__name__)
def test_what_cannot_be_a_tool(function: Callable[..., Any]) -> None:
    """Given a function that the model could not call, then one line says why."""
    with pytest.raises(UsageError, match=CANNOT[function]) as fault:
        describe(function)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("name", ["Bash", "bash", "KillShell", "mcp__a__b", "a b", "x" * 65])
def test_names_that_are_taken_or_none(name: str) -> None:
    """MAIA's own names are reserved."""
    with pytest.raises(UsageError):
        describe(everything, name)


def greet(name: str, times: int = 1) -> str:
    """Greets."""
    print("greeting")
    return f"Hello {name}. " * times


async def test_a_call(context: ToolContext) -> None:
    """It runs in the kernel with its output; it asks under its name, unless the person said it only
    reads; without a kernel, or with wrong values, it is refused."""
    tool = FunctionTool(describe(greet), read_only=False)
    context.kernel = InlineKernel()
    done = await call(tool, context, name="you", times=2)
    assert done.text == "greeting\nHello you. Hello you. "
    assert "".join(done.progress) == "greeting\n"
    parsed = JsonInput.model_validate({"name": "you"})
    (drawn,) = tool.displays(parsed, context)
    assert drawn.text == "greet(name='you')"
    assert tool.subject(parsed, context) == Subject("greet", read_only=False)
    reading = FunctionTool(describe(greet), read_only=True)
    assert reading.subject(parsed, context).read_only
    with pytest.raises(ToolRetry, match="times"):
        await call(tool, context, name="you", times="x")
    context.kernel = None
    with pytest.raises(ToolFailed, match="live kernel"):
        await call(tool, context, name="you")
