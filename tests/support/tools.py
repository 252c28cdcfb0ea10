"""Calling a tool as the loop does: parse, validate, run to the end."""

from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maia_kernel.messages import Text
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolOutput


@dataclass(slots=True)
class Call:
    """A finished call."""

    output: ToolOutput
    progress: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.output.content if isinstance(block, Text))


async def call(tool: Tool[Any], context: ToolContext, **fields: Any) -> Call:
    """Run one call; what it raises comes out."""
    parsed = tool.Input.model_validate(fields)
    tool.validate(parsed, context)
    progress: list[str] = []
    output: ToolOutput | None = None
    async with aclosing(tool.run(parsed, context)) as steps:  # type: ignore[type-var]
        async for step in steps:
            assert output is None, "something came after the output"
            if isinstance(step, Progress):
                progress.append(step.text)
            else:
                output = step
    assert output is not None
    return Call(output, progress)


def tool_context(folder: Path, **fields: Any) -> ToolContext:
    """A context whose working folder is `folder`/work."""
    cwd = folder / "work"
    cwd.mkdir(exist_ok=True)
    given = {"shell_cwd": cwd, "model": "scripted:test", "spill": folder / "spill"} | fields
    return ToolContext(cwd=cwd, **given)
