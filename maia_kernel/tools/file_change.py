"""What Write and Edit share: a file as it is and as it is to be, drawn, checked and stored."""

import asyncio
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from maia_kernel import files, paths
from maia_kernel.display import DiffDisplay, Display
from maia_kernel.errors import ToolError, ToolFailed
from maia_kernel.permissions.subject import Subject
from maia_kernel.secrets import adds_masks
from maia_kernel.tools.base import Tool, ToolContext
from maia_kernel.tools.changes import Change, change_of
from maia_kernel.tools.file_access import (
    FileInput,
    changed_meanwhile,
    file_subject,
    locate,
    remember,
)

In = TypeVar("In", bound=FileInput)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before (None: there is none) and after, as text and as the bytes to store."""

    path: Path
    before: files.TextFile | None
    after: str
    data: bytes
    change: Change

    @classmethod
    def of(
        cls, path: Path, before: files.TextFile | None, after: str, context: ToolContext
    ) -> "FileChange":
        """The change of `path` to the text `after`, in the encoding that it has.

        Raises:
            ToolFailed: the encoding lacks a character, or a mask would take a secret's place.
        """
        _check_masks(path, before.text if before else "", after, context)
        data = _encoded(path, before, after, context)
        return cls(path, before, after, data, change_of(before.text if before else "", after))

    def display(self, context: ToolContext) -> DiffDisplay:
        """The diff for the person."""
        shown = paths.shown(self.path, context.cwd)
        return DiffDisplay(shown, self.change.diff, new_file=self.before is None)

    async def store(self, context: ToolContext) -> None:
        """Write the change and record it; cancellation leaves the old file or the new one.

        Raises:
            ToolRetry: the file is no longer what it was.
            ToolFailed: the operating system refuses.
        """
        work = asyncio.ensure_future(asyncio.to_thread(self._put))
        try:
            mtime = await asyncio.shield(work)
        except asyncio.CancelledError:
            # A thread cannot be stopped: wait, so that nothing is written after the turn is over.
            await asyncio.wait({work})
            raise
        except files.ChangedOnDisk:
            raise changed_meanwhile(self.path, context) from None
        except OSError as fault:
            shown = paths.shown(self.path, context.cwd)
            cause = fault.strerror or fault
            raise ToolFailed(f"{shown} cannot be written: {cause}.") from fault
        remember(context, self.path, digest=files.digest_of(self.data), mtime_ns=mtime)
        context.changed_files.append(paths.resolve(self.path))

    def _put(self) -> int:
        target = paths.resolve(self.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        expected = "absent" if self.before is None else self.before.digest
        return files.write_atomic(target, self.data, expected=expected)


class ChangingTool(Tool[In]):
    """A tool that changes one file, as its `plan` says."""

    icon = "✎"

    @abstractmethod
    def plan(self, call: In, context: ToolContext) -> FileChange:
        """What the call would do.

        Raises:
            ToolRetry, ToolFailed: it cannot be done.
        """

    def read_only(self, call: In, context: ToolContext) -> bool:
        return False

    def validate(self, call: In, context: ToolContext) -> None:
        self.plan(call, context)

    def subject(self, call: In, context: ToolContext) -> Subject:
        return file_subject(self.name, locate(call.file_path, context), write=True)

    def displays(self, call: In, context: ToolContext) -> tuple[Display, ...]:
        try:
            return (self.plan(call, context).display(context),)
        except ToolError:
            return ()


def _check_masks(path: Path, before: str, after: str, context: ToolContext) -> None:
    """A mask is what the model was shown in place of a value: it must never become the value."""
    redact = context.secrets.redact if context.secrets is not None else None
    if adds_masks(before, after, hides=redact is not None and redact(before) != before):
        raise ToolFailed(
            f"this would write a mask, [secret: ...] or ***, into {paths.shown(path, context.cwd)}: it "
            "stands for a value that was hidden from you. Change only the lines around it with Edit, "
            "or let the program read the value from a file or the environment."
        )


def _encoded(path: Path, before: files.TextFile | None, after: str, context: ToolContext) -> bytes:
    try:
        return after.encode() if before is None else before.encode(after)
    except UnicodeEncodeError as fault:
        if before is None:
            raise ToolFailed("content holds a lone surrogate, which no file can store.") from None
        character, shown = after[fault.start], paths.shown(path, context.cwd)
        raise ToolFailed(
            f"{shown} is encoded in {before.encoding}, which has no {character!r} "
            f"(U+{ord(character):04X}). Write it otherwise, or convert the file with iconv first."
        ) from None
