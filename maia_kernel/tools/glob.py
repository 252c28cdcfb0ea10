"""Glob: files by name, the newest first."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic import Field

from maia_kernel.display import TextDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolOutput
from maia_kernel.tools.file_access import PlacedInput, check_text, shown_path
from maia_kernel.tools.found_names import name_shower
from maia_kernel.tools.name_filter import NameFilter
from maia_kernel.tools.ripgrep import Query, place, search, search_subject

MOST = 1_000
_WILD = re.compile(r"[*?\[{]")


class GlobInput(PlacedInput):
    """Which files."""

    pattern: str = Field(
        description='Such as "**/*.py", "src/**/*.{ts,tsx}" or "*.md" (any folder)'
    )
    path: str | None = Field(None, description="Folder to search; the working folder by default")

    def locate(self, context: ToolContext) -> Path:
        return _base_and_pattern(self, context)[0]


class Glob(Tool[GlobInput]):
    """The tool."""

    name = "Glob"
    icon = "⌕"
    counted = "listings"
    description = (
        "Finds files by name pattern (**, *, ?, [a-z], {a,b}), newest first, at most 1,000. A pattern "
        "without a slash matches in every folder. Files that git ignores are left out."
    )

    @property
    def Input(self) -> type[GlobInput]:
        return GlobInput

    def read_only(self, call: GlobInput, context: ToolContext) -> bool:
        return True

    def validate(self, call: GlobInput, context: ToolContext) -> None:
        NameFilter.of(_base_and_pattern(call, context)[1])

    def subject(self, call: GlobInput, context: ToolContext) -> Subject:
        return search_subject(self.name, call.target(context))

    def summary(self, call: GlobInput, context: ToolContext) -> str:
        if call.path is None:
            return call.pattern
        return f"{call.pattern} in {shown_path(call.path, context)}"

    async def run(
        self, call: GlobInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        target = call.target(context)
        if target.resolved.is_file():
            raise ToolFailed(f"{target.shown(context)} is a file; path must be a folder.")
        names = NameFilter.of(_base_and_pattern(call, context)[1])
        form = ("--files", "--sortr=modified")
        query = Query(form, names=names, lists=True, looks_in=False, most=MOST)
        hits = await search(query, target, context)
        if hits.fault:
            raise ToolFailed(hits.fault[:1_000])
        if not hits.files:
            where = target.shown(context) if target.path != context.cwd else "the working folder"
            yield ToolOutput.of(f"No file matches {call.pattern} in {where}.")
            return
        found = list(hits.files)
        lines = list(map(name_shower(target, context), found[:MOST]))
        left = len(found[MOST:])
        if left:
            lines.append(f"({left:,} more files; use a narrower pattern)")
        if hits.stopped:
            lines.append("(the search was stopped: too many files; search a smaller folder)")
        text = "\n".join(lines)
        yield ToolOutput.of(text, TextDisplay(text))


def _base_and_pattern(call: GlobInput, context: ToolContext) -> tuple[Path, str]:
    """The folder to walk, and the glob relative to it.

    Raises:
        ToolRetry: the pattern is empty.
    """
    pattern = call.pattern.strip()
    check_text("pattern", pattern)
    if not pattern:
        raise ToolRetry('pattern must be a glob such as "**/*.py".')
    base = place(call.path, context)
    first = _WILD.search(pattern)
    fixed = pattern[: first.start()] if first else pattern
    folder, slash, _ = fixed.rpartition("/")
    if slash and (pattern.startswith(("/", "~")) or ".." in folder.split("/")):
        base = place(folder or "/", context if call.path is None else _at(context, base))
        pattern = "/" + pattern[len(folder) + 1 :]
    return base, re.sub(r"^(\./)+", "/", pattern)


def _at(context: ToolContext, folder: Path) -> ToolContext:
    return ToolContext(cwd=folder, shell_cwd=folder, model=context.model, spill=context.spill)
