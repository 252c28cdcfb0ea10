"""Edit: exact replacements in one file, all or none."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from maia_kernel import files, paths
from maia_kernel.display import DiffDisplay, Display
from maia_kernel.errors import ToolError, ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput
from maia_kernel.tools.changes import Change, change_of, excerpt
from maia_kernel.tools.file_access import file_subject, locate, shown_path, text_to_change
from maia_kernel.tools.matching import find_all, nearest
from maia_kernel.tools.write import encoded, store


class Replacement(ToolInput):
    """One exact replacement."""

    old_string: str = Field(description="The text to replace, exactly as in the file")
    new_string: str = Field(description="What comes in its place")
    replace_all: bool = Field(False, description="Replace every occurrence instead of the only one")


class EditInput(ToolInput):
    """What to change."""

    file_path: str = Field(
        description="The file: absolute, from ~, or relative to the working folder"
    )
    old_string: str | None = Field(None, description="The text to replace, exactly as in the file")
    new_string: str | None = Field(None, description="What comes in its place")
    replace_all: bool = Field(False, description="Replace every occurrence instead of the only one")
    edits: list[Replacement] | None = Field(
        None, description="Several replacements instead, made in order, all or none", min_length=1
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    path: Path
    before: files.TextFile
    after: str
    data: bytes
    change: Change
    count: int


class Edit(Tool[EditInput]):
    """The tool."""

    name = "Edit"
    icon = "✎"
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

    def read_only(self, call: EditInput, context: ToolContext) -> bool:
        return False

    def validate(self, call: EditInput, context: ToolContext) -> None:
        _plan(call, context)

    def subject(self, call: EditInput, context: ToolContext) -> Subject:
        return file_subject(self.name, locate(call.file_path, context), write=True)

    def summary(self, call: EditInput, context: ToolContext) -> str:
        shown = shown_path(call.file_path, context)
        return f"{shown} ({len(call.edits)} edits)" if call.edits and len(call.edits) > 1 else shown

    def displays(self, call: EditInput, context: ToolContext) -> tuple[Display, ...]:
        try:
            plan = _plan(call, context)
        except ToolError:
            return ()
        return (_diff(plan, context),)

    async def run(
        self, call: EditInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        plan = _plan(call, context)
        await store(plan.path, plan.data, plan.before.digest, context)
        shown = paths.shown(plan.path, context.cwd)
        places = f"{plan.count} places" if plan.count > 1 else "1 place"
        first = _first_difference(plan.before.text, plan.after)
        length = (
            len(plan.after)
            - first
            - _first_difference(plan.before.text[first:][::-1], plan.after[first:][::-1])
        )
        around = excerpt(plan.after, first, max(0, length))
        yield ToolOutput.of(
            f"Edited {shown} in {places} ({plan.change.size} lines). It now reads:\n{around}",
            _diff(plan, context),
        )


def _plan(call: EditInput, context: ToolContext) -> _Plan:
    path = locate(call.file_path, context)
    replacements = _replacements(call)
    before = text_to_change(path, context, whole=False)
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
    shown = paths.shown(path, context.cwd)
    data = encoded(before, text, shown)
    return _Plan(path, before, text, data, change_of(before.text, text), count)


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


def _first_difference(one: str, other: str) -> int:
    """Length of the common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _diff(plan: _Plan, context: ToolContext) -> DiffDisplay:
    return DiffDisplay(paths.shown(plan.path, context.cwd), plan.change.diff)
