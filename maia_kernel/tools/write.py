"""Write: a whole file, new or replaced."""

from collections.abc import AsyncIterator

from pydantic import Field

from maia_kernel import files, paths
from maia_kernel.errors import ToolFailed
from maia_kernel.tools.base import Progress, ToolContext, ToolOutput
from maia_kernel.tools.file_access import FileInput, Target, shown_path, text_to_change
from maia_kernel.tools.file_change import ChangingTool, FileChange


class WriteInput(FileInput):
    """What to write."""

    content: str = Field(description="The whole content of the file")


class Write(ChangingTool[WriteInput]):
    """The tool."""

    name = "Write"
    description = (
        "Writes a whole file, making its folders. A file that exists is replaced and must have been read "
        "whole with Read in this conversation; prefer Edit to change a part of it. Encoding, line ends and "
        "mode of an existing file are kept."
    )

    @property
    def Input(self) -> type[WriteInput]:
        return WriteInput

    def plan(self, call: WriteInput, context: ToolContext) -> FileChange:
        target = call.target(context)
        if files.kind(target.resolved) == "missing":
            _check_parents(target, context)
            return FileChange.of(target, None, call.content, context)
        before = text_to_change(target, context, whole=True)
        after = before.with_newlines(call.content) if before.text else call.content
        return FileChange.of(target, before, after, context)

    def summary(self, call: WriteInput, context: ToolContext) -> str:
        shown = shown_path(call.file_path, context)
        lines = len(files.split_lines(call.content))
        return f"{shown} ({lines} {'line' if lines == 1 else 'lines'})"

    async def run(
        self, call: WriteInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        plan = self.plan(call, context)
        shown = plan.target.shown(context)
        if plan.before is not None and plan.before.text == plan.after:
            yield ToolOutput.of(f"{shown} already has exactly this content; nothing was written.")
            return
        await plan.store(context)
        verb = "Created" if plan.before is None else "Replaced"
        size = plan.change.size
        yield ToolOutput.of(f"{verb} {shown} ({size} lines).", plan.display(context))


def _check_parents(target: Target, context: ToolContext) -> None:
    parent = next(parent for parent in target.resolved.parents if parent.exists())
    if not parent.is_dir():
        raise ToolFailed(
            f"{paths.shown(parent, context.cwd)} is a file, so nothing can be written below it."
        )
