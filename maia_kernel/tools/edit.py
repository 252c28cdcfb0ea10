"""Edit: exact replacements in one file, all or none."""

from collections.abc import AsyncIterator

from pydantic import Field

from maia_kernel import files
from maia_kernel.errors import ToolRetry
from maia_kernel.secrets import is_mask
from maia_kernel.tools.base import Progress, ToolContext, ToolInput, ToolOutput
from maia_kernel.tools.changes import excerpt
from maia_kernel.tools.file_access import FileInput, shown_path, text_to_change
from maia_kernel.tools.file_change import ChangingTool, FileChange
from maia_kernel.tools.matching import find_all, nearest


class Replacement(ToolInput):
    """One exact replacement."""

    old_string: str = Field(description="The text to replace, exactly as in the file")
    new_string: str = Field(description="What comes in its place")
    replace_all: bool = Field(False, description="Replace every occurrence instead of the only one")


class EditInput(FileInput):
    """What to change."""

    old_string: str | None = Field(None, description="The text to replace, exactly as in the file")
    new_string: str | None = Field(None, description="What comes in its place")
    replace_all: bool = Field(False, description="Replace every occurrence instead of the only one")
    edits: list[Replacement] | None = Field(
        None, description="Several replacements instead, made in order, all or none", min_length=1
    )


class Edit(ChangingTool[EditInput]):
    """The tool."""

    name = "Edit"
    aliases = ("MultiEdit",)
    description = (
        "Replaces text in a file that was read with Read. old_string must be exactly as in the file, "
        "indentation included and without the line numbers that Read shows, and occur once: take enough "
        "lines around it, or set replace_all. Several changes of one file go into edits "
        "([{old_string, new_string, replace_all}]), made in order, all or none. Encoding and line ends "
        "are kept."
    )

    @property
    def Input(self) -> type[EditInput]:
        return EditInput

    def plan(self, call: EditInput, context: ToolContext) -> FileChange:
        return _planned(call, context)[0]

    def summary(self, call: EditInput, context: ToolContext) -> str:
        shown = shown_path(call.file_path, context)
        return f"{shown} ({len(call.edits)} edits)" if call.edits and len(call.edits) > 1 else shown

    async def run(
        self, call: EditInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        plan, count = _planned(call, context)
        await plan.store(context)
        shown = plan.target.shown(context)
        places = f"{count} places" if count > 1 else "1 place"
        yield ToolOutput.of(
            f"Edited {shown} in {places} ({plan.change.size} lines). It now reads:\n{_around(plan)}",
            plan.display(context),
        )


def _planned(call: EditInput, context: ToolContext) -> tuple[FileChange, int]:
    """The change, and in how many places."""
    target = call.target(context)
    replacements = _replacements(call)
    before = text_to_change(target, context, whole=False)
    text, count = before.text, 0
    for number, replacement in enumerate(replacements, 1):
        which = f"edit {number} of {len(replacements)}: " if len(replacements) > 1 else ""
        try:
            text, made = _replace(before, text, replacement)
        except ToolRetry as fault:
            raise ToolRetry(f"{which}{fault} Nothing was written.") from None
        count += made
    if text == before.text:
        raise ToolRetry("these edits change nothing: the file stays the same.")
    return FileChange.of(target, before, text, context), count


def _replacements(call: EditInput) -> list[Replacement]:
    if call.edits is not None:
        if call.old_string or call.new_string:
            raise ToolRetry("give either old_string and new_string, or edits, not both.")
        return call.edits
    if call.old_string is None or call.new_string is None:
        raise ToolRetry("give old_string and new_string, or a list of edits.")
    return [
        Replacement(
            old_string=call.old_string, new_string=call.new_string, replace_all=call.replace_all
        )
    ]


def _replace(file: files.TextFile, text: str, wanted: Replacement) -> tuple[str, int]:
    if not wanted.old_string:
        raise ToolRetry("old_string is empty; to make or replace a whole file use Write.")
    if wanted.old_string == wanted.new_string:
        raise ToolRetry("old_string and new_string are the same.")
    found = find_all(text, wanted.old_string)
    if not found and is_mask(wanted.old_string):
        raise ToolRetry(
            "old_string holds a mask, [secret: ...]: the file has another value there, which is hidden "
            "from you. Take an old_string without it."
        )
    if not found:
        raise ToolRetry(nearest(text, wanted.old_string))
    if len(found) > 1 and not wanted.replace_all:
        lines = ", ".join(str(text.count("\n", 0, start) + 1) for start, _ in found[:10])
        more = ", ..." if len(found) > 10 else ""
        raise ToolRetry(
            f"old_string occurs {len(found)} times (lines {lines}{more}). Add lines around it so that it "
            "is unique, or set replace_all."
        )
    new = file.with_newlines(wanted.new_string)
    parts, last = [], 0
    for start, end in found:
        parts += [text[last:start], new]
        last = end
    return "".join([*parts, text[last:]]), len(found)


def _around(plan: FileChange) -> str:
    """The changed part of the file as it is now, numbered."""
    before = plan.before.text if plan.before else ""
    first = _first_difference(before, plan.after)
    same = _first_difference(before[first:][::-1], plan.after[first:][::-1])
    return excerpt(plan.after, first, max(0, len(plan.after) - first - same))


def _first_difference(one: str, other: str) -> int:
    """Length of the common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
