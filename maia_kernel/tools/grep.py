"""Grep: lines by regular expression."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from maia_kernel.display import TextDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolOutput
from maia_kernel.tools.file_access import PlacedInput, Target, check_text, shown_path
from maia_kernel.tools.found_names import name_shower, newest_first
from maia_kernel.tools.name_filter import NameFilter
from maia_kernel.tools.ripgrep import (
    Hits,
    Query,
    place,
    search,
    search_subject,
)

HEAD_LIMIT = 250
_LINE_LENGTH = 1_000
_LINE_READ = 100_000  # secrets are looked for before a line is cut
_CHARACTERS = 50_000
_NUMBERED = re.compile(r"(\d+)([:-])")


class GrepInput(PlacedInput):
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

    def locate(self, context: ToolContext) -> Path:
        return place(self.path, context)


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
        call.target(context)
        for field in ("pattern", "glob", "type"):
            check_text(field, getattr(call, field))
        if not call.pattern:
            raise ToolRetry("pattern must be a regular expression that is not empty.")
        _query(call, context)

    def subject(self, call: GrepInput, context: ToolContext) -> Subject:
        return search_subject(self.name, call.target(context))

    def summary(self, call: GrepInput, context: ToolContext) -> str:
        where = [shown_path(call.path, context)] if call.path else []
        where += [call.glob] if call.glob else []
        return f"{call.pattern} in {' '.join(where)}" if where else call.pattern

    async def run(
        self, call: GrepInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        target = call.target(context)
        hits = await search(_query(call, context), target, context)
        if hits.fault and not hits.files:
            raise _fault(hits.fault, call)
        if not hits.files:
            yield ToolOutput.of("No matches found." + _partly(hits))
            return
        if call.output_mode == "files_with_matches":
            names = await asyncio.to_thread(newest_first, list(hits.files), target.resolved)
        else:
            names = sorted(hits.files, key=lambda name: name.split("/"))
        lines = list(_printed(names, hits, call))
        text = _page(lines, call, target, context) + _total(hits, call) + _partly(hits)
        if hits.stopped:
            text += "\n(the search was stopped: too many matches; narrow it)"
        yield ToolOutput.of(text, TextDisplay(text))


def _query(call: GrepInput, context: ToolContext) -> Query:
    """What to ask ripgrep; raises `ToolRetry` for a glob that is none."""
    form = ["--engine=auto", "--with-filename"]
    match call.output_mode:
        case "files_with_matches":
            form.append("--files-with-matches")
        case "count":
            form.append("--count")
        case "content":
            form += ["--no-heading", *_content(call)]
    form += ["--ignore-case"] if call.ignore_case else []
    form += ["--multiline", "--multiline-dotall"] if call.multiline else []
    filters = [f"--type={call.type}"] if call.type else []
    names = None
    if call.glob and call.glob.startswith("!"):
        filters.append(f"--glob={call.glob}")
    elif call.glob:
        names = NameFilter.of(_from_target(call.glob, call.target(context), context))
    return Query(
        (*form, f"--regexp={call.pattern}"),
        filters=tuple(filters),
        names=names,
        lists=call.output_mode == "files_with_matches",
    )


def _from_target(glob: str, target: Target, context: ToolContext) -> str:
    """`glob` relative to the folder searched, also where it was written from the working folder."""
    if target.path != context.cwd and target.path.is_relative_to(context.cwd):
        inner = target.path.relative_to(context.cwd).as_posix()
        if glob.removeprefix("./").startswith(f"{inner}/"):
            return "/" + glob.removeprefix("./").removeprefix(f"{inner}/")
    return re.sub(r"^(\./)+", "/", glob)


def _content(call: GrepInput) -> list[str]:
    around = call.context if call.around is None else call.around
    sizes = (
        ("--after-context", call.after),
        ("--before-context", call.before),
        ("--context", around),
    )
    # The numbers also tell a match from its context.
    arguments = [f"--max-columns={_LINE_READ}", "--max-columns-preview", "--line-number"]
    arguments += ["--only-matching"] if call.only_matching else []
    return arguments + [f"{option}={size}" for option, size in sizes if size is not None]


def _printed(names: list[str], hits: Hits, call: GrepInput) -> Iterator[tuple[str, str]]:
    """What is shown, line by line: a file's name and what follows it; a separator has neither."""
    apart = any((call.after, call.before, call.around, call.context))
    for number, name in enumerate(names):
        if call.output_mode == "files_with_matches":
            yield name, ""
        elif call.output_mode == "count":
            yield name, f":{hits.files[name][0]}"
        else:
            lines = hits.files[name]
            lines = lines[:-1] if lines[-1] == "--" else lines
            if apart and number:
                yield "", "--"
            yield from (_placed(name, line, call) for line in lines)


def _placed(name: str, line: str, call: GrepInput) -> tuple[str, str]:
    match = _NUMBERED.match(line)
    if match is None:
        return ("", line) if line == "--" else (name, f": {line}")
    rest = line if call.line_numbers else line[match.end() :]
    return name, f"{match[2]}{rest}"


def _page(
    lines: list[tuple[str, str]], call: GrepInput, target: Target, context: ToolContext
) -> str:
    limit = HEAD_LIMIT if call.head_limit is None else call.head_limit or len(lines)
    if call.offset >= len(lines):
        return f"(nothing at offset {call.offset}: there are {len(lines):,} lines)"
    shown: list[str] = []
    show = name_shower(target, context)
    room = _CHARACTERS
    for name, rest in lines[call.offset : call.offset + limit]:
        where = "" if rest == "--" and not name else show(name)
        line = f"{where}{_cut(rest, context)}"
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    left = len(lines) - call.offset - len(shown)
    if left > 0:
        shown.append(f"({left:,} more lines: go on with offset {call.offset + len(shown)})")
    return "\n".join(shown)


def _cut(rest: str, context: ToolContext) -> str:
    clean = rest.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if len(clean) <= _LINE_LENGTH:
        return clean
    if context.secrets is not None:
        clean = context.secrets.redact(clean)
    return f"{clean[:_LINE_LENGTH]}… [{len(clean) - _LINE_LENGTH:,} more characters]"


def _total(hits: Hits, call: GrepInput) -> str:
    if call.output_mode != "count":
        return ""
    total = sum(int(lines[0]) for lines in hits.files.values())
    return f"\n{total:,} matching lines in {len(hits.files):,} files"


def _partly(hits: Hits) -> str:
    """Notes on files that were not searched."""
    note = ""
    if hits.errors:
        first = hits.errors[0].removeprefix("./")
        note = f"\n({len(hits.errors)} files or folders could not be searched: {first})"
    if hits.keys:
        note += (
            f"\n({hits.keys} files that hold keys are left out: name one with path to search it)"
        )
    if hits.left_out:
        note += f"\n({hits.left_out:,} files left out: they changed meanwhile; search again)"
    return note


def _fault(fault: str, call: GrepInput) -> ToolFailed | ToolRetry:
    message = fault.strip()[:1_500]
    if "regex" in message or "PCRE2" in message:
        return ToolRetry(
            f"the pattern {call.pattern!r} is not a valid regular expression:\n{message}\n"
            r"To search for the characters themselves put a backslash before { } ( ) [ ] . * + ? | ^ $."
        )
    if "unrecognized file type" in message or "error parsing glob" in message:
        return ToolRetry(f"{message}\nUse another type, or a glob such as *.py.")
    return ToolFailed(message or "ripgrep failed.")
