"""What Write and Edit share: a file as it is and as it is to be, drawn, checked and stored."""

import asyncio
from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeVar

from maia_kernel import files
from maia_kernel.display import DiffDisplay, Display
from maia_kernel.errors import ToolError, ToolFailed, ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.secrets import adds_masks
from maia_kernel.tools.base import Tool, ToolContext
from maia_kernel.tools.changes import Change, change_of
from maia_kernel.tools.file_access import (
    FileInput,
    Target,
    file_subject,
    redirected,
    remember,
)

In = TypeVar("In", bound=FileInput)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before (None: there is none) and after, as text and as the bytes to store."""

    target: Target
    before: files.TextFile | None
    after: str
    data: bytes
    change: Change

    @classmethod
    def of(
        cls, target: Target, before: files.TextFile | None, after: str, context: ToolContext
    ) -> "FileChange":
        """The change of `target` to the text `after`, in the encoding that it has.

        Raises:
            ToolFailed: the encoding lacks a character, or a mask would take a secret's place.
        """
        _check_masks(target, before.text if before else "", after, context)
        data = _encoded(target, before, after, context)
        return cls(target, before, after, data, change_of(before.text if before else "", after))

    def display(self, context: ToolContext) -> DiffDisplay:
        """The diff for the person."""
        shown = self.target.shown(context)
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
        except files.ChangedOnDisk as fault:
            raise _changed(fault, self.target, context) from None
        except files.Redirected:
            raise redirected(self.target, context) from None
        except OSError as fault:
            cause = fault.strerror or fault
            raise ToolFailed(f"{self.target.shown(context)} cannot be written: {cause}.") from fault
        remember(context, self.target, digest=files.digest_of(self.data), mtime_ns=mtime)
        context.changed_files.append(self.target.resolved)

    def _put(self) -> int:
        expected = "absent" if self.before is None else self.before.digest
        return files.write_atomic(
            self.target.resolved, self.data, expected=expected, parents=self.before is None
        )


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
        return file_subject(self.name, call.target(context), write=True)

    def displays(self, call: In, context: ToolContext) -> tuple[Display, ...]:
        try:
            return (self.plan(call, context).display(context),)
        except ToolError:
            return ()


def _check_masks(target: Target, before: str, after: str, context: ToolContext) -> None:
    """A mask is what the model was shown in place of a value: it must never become the value."""
    redact = context.secrets.redact if context.secrets is not None else None
    if adds_masks(before, after, hides=redact is not None and redact(before) != before):
        raise ToolFailed(
            f"this would write a mask, [secret: ...] or ***, into {target.shown(context)}: it "
            "stands for a value that was hidden from you. Change only the lines around it with Edit, "
            "or let the program read the value from a file or the environment."
        )


def _changed(fault: files.ChangedOnDisk, target: Target, context: ToolContext) -> ToolRetry:
    name = target.shown(context)
    if fault.busy:
        return ToolRetry(
            f"{name} is open for writing in another program or in the kernel; replacing it would lose what "
            "that writes, so nothing was written. Try again once it is closed."
        )
    return ToolRetry(f"{name} changed on disk just now; nothing was written. Read it again.")


def _encoded(
    target: Target, before: files.TextFile | None, after: str, context: ToolContext
) -> bytes:
    try:
        return after.encode() if before is None else before.encode(after)
    except UnicodeEncodeError as fault:
        if before is None:
            raise ToolFailed("content holds a lone surrogate, which no file can store.") from None
        character, shown = after[fault.start], target.shown(context)
        raise ToolFailed(
            f"{shown} is encoded in {before.encoding}, which has no {character!r} "
            f"(U+{ord(character):04X}). Write it otherwise, or convert the file with iconv first."
        ) from None
