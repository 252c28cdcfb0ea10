"""Write: a whole file, new or replaced."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from maia_kernel import files, paths
from maia_kernel.display import DiffDisplay, Display
from maia_kernel.errors import ToolError, ToolFailed
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput
from maia_kernel.tools.changes import Change, change_of
from maia_kernel.tools.file_access import (
    changed_meanwhile,
    file_subject,
    locate,
    remember,
    shown_path,
    text_to_change,
)


class WriteInput(ToolInput):
    """What to write."""

    file_path: str = Field(
        description="The file: absolute, from ~, or relative to the working folder"
    )
    content: str = Field(description="The whole content of the file")


@dataclass(frozen=True, slots=True)
class _Plan:
    path: Path
    before: files.TextFile | None
    after: str
    data: bytes
    change: Change


class Write(Tool[WriteInput]):
    """The tool."""

    name = "Write"
    icon = "✎"
    description = (
        "Writes a whole file, making its folders. A file that exists is replaced and must have been read "
        "whole with Read in this conversation; prefer Edit to change a part of it. Encoding, line ends and "
        "mode of an existing file are kept."
    )

    @property
    def Input(self) -> type[WriteInput]:
        return WriteInput

    def read_only(self, call: WriteInput, context: ToolContext) -> bool:
        return False

    def validate(self, call: WriteInput, context: ToolContext) -> None:
        _plan(call, context)

    def subject(self, call: WriteInput, context: ToolContext) -> Subject:
        return file_subject(self.name, locate(call.file_path, context), write=True)

    def summary(self, call: WriteInput, context: ToolContext) -> str:
        shown = shown_path(call.file_path, context)
        lines = len(files.split_lines(call.content))
        return f"{shown} ({lines} {'line' if lines == 1 else 'lines'})"

    def displays(self, call: WriteInput, context: ToolContext) -> tuple[Display, ...]:
        try:
            plan = _plan(call, context)
        except ToolError:
            return ()
        return (_diff(plan, context),)

    async def run(
        self, call: WriteInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        plan = _plan(call, context)
        shown = paths.shown(plan.path, context.cwd)
        if plan.before is not None and plan.before.text == plan.after:
            yield ToolOutput.of(f"{shown} already has exactly this content; nothing was written.")
            return
        expected = "absent" if plan.before is None else plan.before.digest
        await store(plan.path, plan.data, expected, context)
        verb = "Created" if plan.before is None else "Replaced"
        yield ToolOutput.of(f"{verb} {shown} ({plan.change.size} lines).", _diff(plan, context))


async def store(path: Path, data: bytes, expected: str, context: ToolContext) -> None:
    """Write a change and record it; cancellation leaves the old file or the new one.

    Raises:
        ToolRetry: the file is no longer what `expected` (a digest, or "absent") says.
        ToolFailed: the operating system refuses.
    """
    work = asyncio.ensure_future(asyncio.to_thread(_put, path, data, expected))
    try:
        mtime = await asyncio.shield(work)
    except asyncio.CancelledError:
        # A thread cannot be stopped: wait, so that nothing is written after the turn is over.
        await asyncio.wait({work})
        raise
    except files.ChangedOnDisk:
        raise changed_meanwhile(path, context) from None
    except OSError as fault:
        shown = paths.shown(path, context.cwd)
        raise ToolFailed(f"{shown} cannot be written: {fault.strerror or fault}.") from fault
    remember(context, path, digest=files.digest_of(data), mtime_ns=mtime)
    context.changed_files.append(paths.resolve(path))


def _put(path: Path, data: bytes, expected: str) -> int:
    target = paths.resolve(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    return files.write_atomic(target, data, expected=expected)


def _plan(call: WriteInput, context: ToolContext) -> _Plan:
    path = locate(call.file_path, context)
    shown = paths.shown(path, context.cwd)
    if files.kind(path) == "missing":
        _check_parents(path, context)
        try:
            data = call.content.encode("utf-8")
        except UnicodeEncodeError:
            raise ToolFailed("content holds a lone surrogate, which no file can store.") from None
        return _Plan(path, None, call.content, data, change_of("", call.content))
    before = text_to_change(path, context, whole=True)
    after = before.with_newlines(call.content) if before.text else call.content
    return _Plan(path, before, after, encoded(before, after, shown), change_of(before.text, after))


def encoded(file: files.TextFile, text: str, shown: str) -> bytes:
    """`text` as the bytes of `file`.

    Raises:
        ToolFailed: its encoding lacks a character.
    """
    try:
        return file.encode(text)
    except UnicodeEncodeError as fault:
        character = text[fault.start]
        raise ToolFailed(
            f"{shown} is encoded in {file.encoding}, which has no {character!r} "
            f"(U+{ord(character):04X}). Write it otherwise, or convert the file with iconv first."
        ) from None


def _check_parents(path: Path, context: ToolContext) -> None:
    parent = next(parent for parent in paths.resolve(path).parents if parent.exists())
    if not parent.is_dir():
        raise ToolFailed(
            f"{paths.shown(parent, context.cwd)} is a file, so nothing can be written below it."
        )


def _diff(plan: _Plan, context: ToolContext) -> DiffDisplay:
    shown = paths.shown(plan.path, context.cwd)
    return DiffDisplay(shown, plan.change.diff, new_file=plan.before is None)
