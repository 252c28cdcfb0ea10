"""Paths as people write and read them: expanding, resolving, and showing home as `~`."""

import os
from pathlib import Path


def expand(written: str, cwd: Path) -> Path:
    """The absolute path that `written` names: `~` expanded, relative to `cwd`, `..` folded.

    Symlinks are kept; see `resolve`.
    """
    return Path(os.path.normpath(cwd / Path(written).expanduser()))


def resolve(path: Path) -> Path:
    """`path` through every symlink; parts that do not exist are kept as they are."""
    return Path(os.path.realpath(path))


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
