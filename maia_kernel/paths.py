"""Paths as people write and read them: expanding, resolving, and showing home as `~`."""

import contextlib
import os
from pathlib import Path


def expand(written: str, cwd: Path) -> Path:
    """The absolute path that `written` names: `~` expanded, relative to `cwd`, `..` folded.

    Symlinks are kept; see `resolve`.
    """
    home = Path(written)
    if written.startswith("~"):  # pathlib takes "./~" for home, too
        with contextlib.suppress(ValueError):  # no name of a user: a NUL, half of a character
            home = home.expanduser()
    return Path(os.path.normpath(cwd / home))


def resolve(path: Path) -> Path:
    """`path` through every symlink; parts that do not exist are kept as they are."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # no file can have such a name: a NUL, half of a character
        return Path(os.path.normpath(path))


def shown(path: Path | str, cwd: Path | None = None) -> str:
    """`path` as a person would write it: relative inside `cwd`, else with home as `~`."""
    absolute = Path(path)
    if cwd is not None and absolute.is_relative_to(cwd):
        return str(absolute.relative_to(cwd))
    home = Path.home()
    if absolute.is_relative_to(home):
        rest = absolute.relative_to(home)
        return "~" if rest == Path() else f"~/{rest}"
    return str(absolute)
