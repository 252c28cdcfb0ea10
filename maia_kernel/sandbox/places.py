"""Questions about paths; what cannot be looked at counts as not being there."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path


def exists(place: Path) -> bool:
    """True when `place` is there, links followed."""
    return _mode(place) is not None


def is_folder(place: Path) -> bool:
    """True when `place` is a folder or a link to one."""
    mode = _mode(place)
    return mode is not None and stat.S_ISDIR(mode)


def is_real_folder(place: Path) -> bool:
    """True when `place` is a folder and no link."""
    return is_folder(place) and not place.is_symlink()


def within(place: Path, folders: Iterable[Path]) -> bool:
    """True when `place` is one of `folders` or lies in one."""
    return any(place.is_relative_to(folder) for folder in folders)


def depth(place: Path) -> int:
    """How many folders `place` lies in; sorts what is around before what is inside."""
    return len(place.parts)


def _mode(place: Path) -> int | None:
    try:
        return os.stat(place).st_mode  # noqa: PTH116 - beside its like
    except (OSError, ValueError):
        return None
