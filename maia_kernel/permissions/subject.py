"""What a tool call reaches, as rules see it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class PathAccess:
    """A file that is read or written: as written (absolute, symlinks kept) and resolved through them.

    `removes`: it, and what is below it, would be gone.
    """

    path: Path
    resolved: Path
    write: bool
    removes: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """One call of `tool`. `read_only`: it changes nothing. `command` is set for shell commands, `code`
    for Python.

    `text` is what a plain specifier would match for tools with neither paths nor a command: WebFetch's
    `domain:host`, a skill's name and arguments, an agent's type. `folder` is where a shell command
    starts; None means the working folder. `parameters` are the scalar fields of the input that the
    model gave, each as written and as understood. `sandbox` is "inside" for a call that the sandbox
    keeps within its bounds and that needs no question then, "leaves" for one that asks to be let out.
    `outward`: it tells something to another machine, so it never runs by default, though it changes
    nothing here.
    """

    tool: str
    read_only: bool
    paths: tuple[PathAccess, ...] = ()
    command: str | None = None
    text: str = ""
    folder: Path | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    sandbox: Literal["inside", "leaves", ""] = ""
    code: str | None = None
    outward: bool = False
