"""What a tool call reaches, as rules see it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PathAccess:
    """A file that is read or written: as written (absolute, symlinks kept) and resolved through them."""

    path: Path
    resolved: Path
    write: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """One call of `tool`. `read_only`: it changes nothing. `command` is set for shell commands.

    `text` is what a plain specifier would match for tools with neither paths nor a command.
    `folder` is where a shell command starts; None means the working folder.
    """

    tool: str
    read_only: bool
    paths: tuple[PathAccess, ...] = ()
    command: str | None = None
    text: str = ""
    folder: Path | None = None
