"""What the file tools share: finding a path, wording faults for the model, read-before-change."""

import os
from pathlib import Path

from pydantic import Field

from maia_kernel import files, paths
from maia_kernel.errors import ToolError, ToolFailed, ToolRetry
from maia_kernel.permissions.subject import PathAccess, Subject
from maia_kernel.tools.base import FileSeen, ToolContext, ToolInput


class FileInput(ToolInput):
    """The input of a tool for one file."""

    file_path: str = Field(
        description="The file: absolute, from ~, or relative to the working folder"
    )


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


def file_subject(tool: str, path: Path, *, write: bool) -> Subject:
    """The permission subject of a tool that touches one path."""
    access = PathAccess(path, paths.resolve(path), write)
    return Subject(tool, read_only=not write, paths=(access,), text=str(path))


def unreadable(fault: files.Unreadable, context: ToolContext) -> ToolError:
    """What to tell the model of a path that cannot be read."""
    name = paths.shown(fault.path, context.cwd)
    match fault.reason:
        case "missing":
            near = ", ".join(
                paths.shown(path, context.cwd) for path in files.near_names(fault.path)
            )
            hint = f" Did you mean {near}?" if near else f" {_nearest_folder(fault.path, context)}"
            return ToolFailed(f"{name} does not exist.{hint}")
        case "folder":
            return ToolFailed(f"{name} is a folder, not a file. List it with Glob or `ls`.")
        case "loop":
            return ToolFailed(f"{name} is a symbolic link that leads round to itself.")
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


def remember(
    context: ToolContext, path: Path, *, digest: str, mtime_ns: int, whole: bool = True
) -> None:
    """Record what the conversation now knows of a file; a part of the same content adds nothing."""
    resolved = paths.resolve(path)
    known = context.seen.get(resolved)
    if known is not None and known.digest == digest and known.whole:
        whole = True
    context.seen[resolved] = FileSeen(mtime_ns, digest, whole)


def text_to_change(path: Path, context: ToolContext, *, whole: bool) -> files.TextFile:
    """The existing file at `path`, read before in this conversation and unchanged since.

    `whole`: a partial read does not count.

    Raises:
        ToolRetry: it must be read first, or again.
        ToolFailed: it cannot be read at all.
    """
    name = paths.shown(path, context.cwd)
    seen = context.seen.get(paths.resolve(path))
    try:
        if seen is None:
            if files.kind(path) != "file":
                files.read_bytes(path, limit=0)  # raises what it is instead
            raise ToolRetry(f"{name} has not been read in this conversation. Read it first.")
        current = files.read_text(path)
    except files.Unreadable as fault:
        raise unreadable(fault, context) from None
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


def changed_meanwhile(path: Path, context: ToolContext) -> ToolRetry:
    """What to tell when the last check before the rename failed."""
    name = paths.shown(path, context.cwd)
    return ToolRetry(f"{name} changed on disk just now; nothing was written. Read it again.")


def _nearest_folder(path: Path, context: ToolContext) -> str:
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    if folder is None or folder == path.parent:
        return f"The working folder is {paths.shown(context.cwd)}."
    missing = paths.shown(folder / path.relative_to(folder).parts[0], context.cwd)
    near = files.near_names(folder / path.relative_to(folder).parts[0])
    hint = (
        f" Did you mean {', '.join(paths.shown(item, context.cwd) for item in near)}?"
        if near
        else ""
    )
    return f"There is no folder {missing}.{hint}"
