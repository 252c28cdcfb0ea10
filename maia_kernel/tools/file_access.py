"""What the file tools share: finding a path, wording faults for the model, read-before-change."""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, PrivateAttr

from maia_kernel import files, paths
from maia_kernel.errors import ToolError, ToolFailed, ToolRetry
from maia_kernel.permissions.patterns import matches_path
from maia_kernel.permissions.subject import PathAccess, Subject
from maia_kernel.tools.base import FileSeen, ToolContext, ToolInput


@dataclass(frozen=True, slots=True)
class Target:
    """Where a call goes: `path` as written (absolute, links kept), `resolved` what is opened."""

    path: Path
    resolved: Path

    def shown(self, context: ToolContext) -> str:
        """As a person would write it."""
        return paths.shown(self.path, context.cwd)


class PlacedInput(ToolInput, ABC):
    """The input of a tool for one place on the disk."""

    _target: Target | None = PrivateAttr(None)

    def target(self, context: ToolContext) -> Target:
        """The place, its links followed once for the whole call: what is decided on is what is opened.

        Raises:
            ToolRetry: what the model wrote cannot be a path.
        """
        if self._target is None:
            path = self.locate(context)
            self._target = Target(path, paths.resolve(path))
        return self._target

    @abstractmethod
    def locate(self, context: ToolContext) -> Path:
        """The absolute path that the model wrote; raises `ToolRetry` when it cannot be one."""


class FileInput(PlacedInput):
    """The input of a tool for one file."""

    file_path: str = Field(
        description="The file: absolute, from ~, or relative to the working folder"
    )

    def locate(self, context: ToolContext) -> Path:
        return locate(self.file_path, context)


def check_text(field: str, value: str | None) -> None:
    """A text that goes to the operating system, in a path or as an argument.

    Raises:
        ToolRetry: it holds what no name can: a NUL, or half of a character.
    """
    if value is None:
        return
    if "\0" in value:
        raise ToolRetry(f"{field} holds a NUL character, which no file or program can be given.")
    try:
        os.fsencode(value)
    except UnicodeEncodeError as fault:
        code = ord(value[fault.start])
        raise ToolRetry(
            f"{field} holds U+{code:04X}, half of a character (a lone surrogate); write it whole."
        ) from None


def locate(written: str, context: ToolContext, *, field: str = "file_path") -> Path:
    """The absolute path that the model wrote in `field`, relative to the working folder.

    Raises:
        ToolRetry: it is empty or cannot be a path.
    """
    check_text(field, written)
    if not written.strip():
        raise ToolRetry(f"{field} must name a file, for example src/main.py")
    try:
        return paths.expand(written, context.cwd)
    except RuntimeError:  # pathlib's word for "~nobody"
        raise ToolRetry(
            f"there is no home folder {written.split('/')[0]!r}; write the whole path"
        ) from None


def shown_path(written: str, context: ToolContext) -> str:
    """The path as a person would write it; what cannot be a path is shown as written."""
    try:
        return paths.shown(locate(written, context), context.cwd)
    except ToolRetry:
        return written


def file_subject(tool: str, target: Target, *, write: bool) -> Subject:
    """The permission subject of a tool that touches one place."""
    access = PathAccess(target.path, target.resolved, write)
    return Subject(tool, read_only=not write, paths=(access,), text=str(target.path))


def unreadable(
    fault: files.Unreadable, target: Target, context: ToolContext, *, hints: bool = True
) -> ToolError:
    """What to tell the model of a path that cannot be read.

    `hints`: names of its neighbours may be told, because they may be read.
    """
    name = target.shown(context)
    match fault.reason:
        case "missing":
            return ToolFailed(f"{name} does not exist.{_hint(target, context) if hints else ''}")
        case "folder":
            return ToolFailed(f"{name} is a folder, not a file. List it with Glob or `ls`.")
        case "loop":
            return ToolFailed(f"{name} is a symbolic link that leads round to itself.")
        case "redirected":
            return redirected(target, context)
        case "special":
            return ToolFailed(f"{name} is a device, a pipe or a socket, not a regular file.")
        case "denied":
            return ToolFailed(
                f"{name} cannot be opened: permission denied by the operating system."
            )
        case "binary":
            return ToolFailed(
                f"{name} is a binary file ({fault.size:,} bytes); it has no text to show. "
                "Look at it with a program, for example `file` or `xxd | head`."
            )
        case "too_large":
            return ToolFailed(f"{name} is too large ({fault.size:,} bytes) for this.")


def redirected(target: Target, context: ToolContext) -> ToolFailed:
    """What to tell when a link stands where none stood when permission was decided."""
    return ToolFailed(
        f"{target.shown(context)} leads elsewhere than when permission for it was decided: a symbolic "
        "link took the place of a file or folder on the way. Nothing was read or written."
    )


def remember(
    context: ToolContext, target: Target, *, digest: str, mtime_ns: int, whole: bool = True
) -> None:
    """Record what the conversation now knows of a file; a part of the same content adds nothing."""
    known = context.seen.get(target.resolved)
    if known is not None and known.digest == digest and known.whole:
        whole = True
    context.seen[target.resolved] = FileSeen(mtime_ns, digest, whole)


def text_to_change(target: Target, context: ToolContext, *, whole: bool) -> files.TextFile:
    """The existing file at `target`, read before in this conversation and unchanged since.

    `whole`: a partial read does not count.

    Raises:
        ToolRetry: it must be read first, or again.
        ToolFailed: it cannot be read at all.
    """
    name = target.shown(context)
    seen = context.seen.get(target.resolved)
    try:
        if seen is None:
            if files.kind(target.resolved) != "file":
                files.read_bytes(target.resolved, limit=0)  # raises what it is instead
            raise ToolRetry(f"{name} has not been read in this conversation. Read it first.")
        current = files.read_text(target.resolved)
    except files.Unreadable as fault:
        # Nobody has been asked yet whether this place may be looked at.
        inside = _is_inside(target, context)
        raise unreadable(fault, target, context, hints=inside) from None
    if current.digest != seen.digest:
        raise ToolRetry(
            f"{name} has changed on disk since it was last read. Read it again before changing it."
        )
    if whole and not seen.whole:
        raise ToolRetry(
            f"only a part of {name} has been read, and Write would replace all of it. "
            "Use Edit, or read the whole file first."
        )
    return current


def _is_inside(target: Target, context: ToolContext) -> bool:
    folders = (paths.resolve(folder) for folder in (context.cwd, *context.additional))
    return any(target.resolved.is_relative_to(folder) for folder in folders)


def _hint(target: Target, context: ToolContext) -> str:
    path = target.path
    near = _near(path, context)
    if near:
        return f" Did you mean {_listed(near, context)}?"
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    if folder is None or folder == path.parent:
        return f" The working folder is {paths.shown(context.cwd)}."
    missing = folder / path.relative_to(folder).parts[0]
    near = _near(missing, context)
    hint = f" Did you mean {_listed(near, context)}?" if near else ""
    return f" There is no folder {paths.shown(missing, context.cwd)}.{hint}"


def _near(path: Path, context: ToolContext) -> tuple[Path, ...]:
    """Neighbours with a name like that of `path`, without those that no reader may see."""
    return tuple(
        near
        for near in files.near_names(path)
        if not any(
            matches_path(pattern, near, (pattern.folder, paths.resolve(pattern.folder)))
            for pattern in context.read_denied
        )
    )


def _listed(found: tuple[Path, ...], context: ToolContext) -> str:
    return ", ".join(paths.shown(path, context.cwd) for path in found)
