"""Grep: lines by regular expression."""

import asyncio
from collections.abc import AsyncIterator
from typing import Literal

from pydantic import Field

from maia_kernel.display import TextDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput
from maia_kernel.tools.file_access import check_text, shown_path
from maia_kernel.tools.ripgrep import newest_first, place, ripgrep, search_subject, tidy

HEAD_LIMIT = 250
_LINE_LENGTH = 1_000
_CHARACTERS = 50_000


class GrepInput(ToolInput):
    """What to search, where, and how to show it."""

    pattern: str = Field(description="Regular expression (ripgrep's syntax; look-around works too)")
    path: str | None = Field(None, description="File or folder; the working folder by default")
    glob: str | None = Field(
        None, description='Only files like this, such as "*.py" or "src/**/*.ts"'
    )
    type: str | None = Field(None, description="Only files of this type, such as py, js, rust")
    output_mode: Literal["files_with_matches", "content", "count"] = Field(
        "files_with_matches",
        description="Files that match (default), their matching lines, or counts by file",
    )
    ignore_case: bool = Field(False, alias="-i", description="Ignore case")
    line_numbers: bool = Field(True, alias="-n", description="Show line numbers (content)")
    only_matching: bool = Field(
        False, alias="-o", description="Show only the matching part (content)"
    )
    after: int | None = Field(
        None, alias="-A", ge=0, description="Lines after each match (content)"
    )
    before: int | None = Field(
        None, alias="-B", ge=0, description="Lines before each match (content)"
    )
    around: int | None = Field(
        None, alias="-C", ge=0, description="Lines around each match (content)"
    )
    context: int | None = Field(None, ge=0, description="The same as -C")
    multiline: bool = Field(False, description="Let . match line ends and patterns span lines")
    head_limit: int | None = Field(
        None, ge=0, description="First N lines; 250 by default, 0 for all"
    )
    offset: int = Field(0, ge=0, description="Skip the first N lines")


class Grep(Tool[GrepInput]):
    """The tool."""

    name = "Grep"
    icon = "⌕"
    counted = "searches"
    description = (
        "Searches file contents with ripgrep. Modes: files_with_matches (paths, newest first), content "
        "(matching lines, with -A, -B, -C, -n, -o) and count. Filters: glob, type. -i ignores case, "
        "multiline lets a pattern span lines. 250 lines by default; page with head_limit and offset. "
        "Literal braces, parentheses and dots need a backslash. Files that git ignores are left out."
    )

    @property
    def Input(self) -> type[GrepInput]:
        return GrepInput

    def read_only(self, call: GrepInput, context: ToolContext) -> bool:
        return True

    def validate(self, call: GrepInput, context: ToolContext) -> None:
        place(call.path, context)
        for field in ("pattern", "glob", "type"):
            check_text(field, getattr(call, field))
        if not call.pattern:
            raise ToolRetry("pattern must be a regular expression that is not empty.")

    def subject(self, call: GrepInput, context: ToolContext) -> Subject:
        return search_subject(self.name, place(call.path, context))

    def summary(self, call: GrepInput, context: ToolContext) -> str:
        where = [shown_path(call.path, context)] if call.path else []
        where += [call.glob] if call.glob else []
        return f"{call.pattern} in {' '.join(where)}" if where else call.pattern

    async def run(
        self, call: GrepInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        path = place(call.path, context)
        output, errors, done = await ripgrep(_arguments(call), path, context)
        if done.exit_code == 2 and not output:
            raise _fault(errors, call)
        lines = output.splitlines() if call.output_mode == "content" else _names(output)
        if not lines:
            yield ToolOutput.of("No matches found." + _partly(errors))
            return
        if call.output_mode == "files_with_matches":
            lines = await asyncio.to_thread(newest_first, lines, context.cwd)
        text = _page(lines, call) + _total(lines, call) + _partly(errors)
        if done.ending == "too_much_output":
            text += "\n(the search was stopped: too many matches; narrow it)"
        yield ToolOutput.of(text, TextDisplay(text))


def _arguments(call: GrepInput) -> list[str]:
    arguments = ["--engine=auto", "--sort=path"]
    match call.output_mode:
        case "files_with_matches":
            arguments = ["--engine=auto", "--files-with-matches", "--null"]
        case "count":
            arguments += ["--count", "--with-filename"]
        case "content":
            arguments += ["--no-heading", "--with-filename", *_content(call)]
    arguments += ["--ignore-case"] if call.ignore_case else []
    arguments += ["--multiline", "--multiline-dotall"] if call.multiline else []
    arguments += [f"--glob={call.glob}"] if call.glob else []
    arguments += [f"--type={call.type}"] if call.type else []
    return [*arguments, f"--regexp={call.pattern}"]


def _content(call: GrepInput) -> list[str]:
    around = call.context if call.around is None else call.around
    sizes = (
        ("--after-context", call.after),
        ("--before-context", call.before),
        ("--context", around),
    )
    arguments = [f"--max-columns={_LINE_LENGTH}", "--max-columns-preview"]
    arguments.append("--line-number" if call.line_numbers else "--no-line-number")
    arguments += ["--only-matching"] if call.only_matching else []
    return arguments + [f"{option}={size}" for option, size in sizes if size is not None]


def _names(output: str) -> list[str]:
    """Lines of a list of files or counts, without leading `./`."""
    return [tidy(name) for name in output.replace("\0", "\n").splitlines() if name]


def _page(lines: list[str], call: GrepInput) -> str:
    limit = HEAD_LIMIT if call.head_limit is None else call.head_limit or len(lines)
    if call.offset >= len(lines):
        return f"(nothing at offset {call.offset}: there are {len(lines):,} lines)"
    shown: list[str] = []
    room = _CHARACTERS
    for line in lines[call.offset : call.offset + limit]:
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(tidy(line))
    left = len(lines) - call.offset - len(shown)
    if left > 0:
        shown.append(f"({left:,} more lines: go on with offset {call.offset + len(shown)})")
    return "\n".join(shown)


def _total(lines: list[str], call: GrepInput) -> str:
    if call.output_mode != "count":
        return ""
    total = sum(int(line.rpartition(":")[2]) for line in lines)
    return f"\n{total:,} matching lines in {len(lines):,} files"


def _partly(errors: str) -> str:
    """A note on files that ripgrep could not read."""
    lines = [line for line in errors.splitlines() if line.startswith("rg: ")]
    return (
        f"\n({len(lines)} files or folders could not be searched: {lines[0][4:]})" if lines else ""
    )


def _fault(errors: str, call: GrepInput) -> ToolFailed | ToolRetry:
    message = errors.strip().removeprefix("rg: ")[:1_500]
    if "regex" in message or "PCRE2" in message:
        return ToolRetry(
            f"the pattern {call.pattern!r} is not a valid regular expression:\n{message}\n"
            r"To search for the characters themselves put a backslash before { } ( ) [ ] . * + ? | ^ $."
        )
    if "unrecognized file type" in message or "error parsing glob" in message:
        return ToolRetry(f"{message}\nUse another type, or a glob such as *.py.")
    return ToolFailed(message or "ripgrep failed.")
