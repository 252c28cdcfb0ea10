"""Glob: files by name, the newest first."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pathspec
from pydantic import Field

from maia_kernel import paths
from maia_kernel.display import TextDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput
from maia_kernel.tools.file_access import check_text, shown_path
from maia_kernel.tools.ripgrep import newest_first, place, ripgrep, search_subject, tidy

MOST = 1_000
_ALTERNATIVES = 200
_WILD = re.compile(r"[*?\[{]")
_INNERMOST = re.compile(r"(?<!\\)\{([^{}]*)\}")


class GlobInput(ToolInput):
    """Which files."""

    pattern: str = Field(
        description='Such as "**/*.py", "src/**/*.{ts,tsx}" or "*.md" (any folder)'
    )
    path: str | None = Field(None, description="Folder to search; the working folder by default")


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
        _base_and_patterns(call, context)

    def subject(self, call: GlobInput, context: ToolContext) -> Subject:
        return search_subject(self.name, _base_and_patterns(call, context)[0])

    def summary(self, call: GlobInput, context: ToolContext) -> str:
        if call.path is None:
            return call.pattern
        return f"{call.pattern} in {shown_path(call.path, context)}"

    async def run(
        self, call: GlobInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        base, patterns = _base_and_patterns(call, context)
        if base.exists() and not base.is_dir():
            raise ToolFailed(f"{paths.shown(base, context.cwd)} is a file; path must be a folder.")
        output, errors, done = await ripgrep(["--files", "--null"], base, context)
        if done.exit_code == 2 and not output:
            raise ToolFailed(errors.strip()[:1_000])
        names = [tidy(name) for name in output.split("\0") if name]
        found = await asyncio.to_thread(_matching, names, patterns, base, context.cwd)
        if not found:
            where = paths.shown(base, context.cwd) if base != context.cwd else "the working folder"
            yield ToolOutput.of(f"No file matches {call.pattern} in {where}.")
            return
        lines = [paths.shown(context.cwd / name, context.cwd) for name in found[:MOST]]
        if len(found) > MOST:
            lines.append(f"({len(found) - MOST:,} more files; use a narrower pattern)")
        if done.ending == "too_much_output":
            lines.append("(the search was stopped: too many files; search a smaller folder)")
        text = "\n".join(lines)
        yield ToolOutput.of(text, TextDisplay(text))


def _matching(names: list[str], patterns: list[str], base: Path, cwd: Path) -> list[str]:
    spec = pathspec.GitIgnoreSpec.from_lines(patterns)
    found = []
    for name in names:
        absolute = cwd / name
        if spec.match_file(str(absolute.relative_to(base))):
            found.append(name)
    return newest_first(found, cwd)


def _base_and_patterns(call: GlobInput, context: ToolContext) -> tuple[Path, list[str]]:
    """The folder to walk, and gitignore patterns below it, with braces written out.

    Raises:
        ToolRetry: the pattern is empty, unbalanced, or has too many alternatives.
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
    pattern = re.sub(r"^(\./)+", "/", pattern)
    return base, [_literal_start(one) for one in _expanded(pattern)]


def _at(context: ToolContext, folder: Path) -> ToolContext:
    return ToolContext(cwd=folder, shell_cwd=folder, model=context.model, spill=context.spill)


def _literal_start(pattern: str) -> str:
    r"""`!` and `#` at the beginning mean something to gitignore."""
    return f"\\{pattern}" if pattern.startswith(("!", "#")) else pattern


def _expanded(pattern: str) -> list[str]:
    """Braces written out: `*.{ts,tsx}` is `*.ts` and `*.tsx`."""
    done, todo = [], [pattern]
    while todo:
        one = todo.pop()
        match = _INNERMOST.search(one)
        if match is None:
            done.append(one)
        else:
            before, after = one[: match.start()], one[match.end() :]
            todo += [f"{before}{choice}{after}" for choice in match[1].split(",")]
        if len(done) + len(todo) > _ALTERNATIVES:
            raise ToolRetry(f"the braces of the pattern give more than {_ALTERNATIVES} patterns.")
    return done
