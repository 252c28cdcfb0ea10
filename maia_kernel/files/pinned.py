"""Opening what a path named when it was resolved, and nothing that took its place since.

Permission is given for a resolved path (`paths.resolve`): one without links. Every part of it is opened
from the part before it, and a link among them is refused (openat(2), O_NOFOLLOW). A folder that is
swapped for a link between the decision and the access leads nowhere.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A folder need only be passed through: O_PATH asks for no right to list it. Linux alone has it.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Redirected(OSError):
    """A link stands where there was none when the path was resolved; it was not followed."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ELOOP, f"a link took the place of {path.name}", str(path))
        self.path = path


@contextmanager
def pinned_folder(path: Path, *, make: bool = False) -> Iterator[int]:
    """The folder at the resolved `path` as a descriptor to open things from, closed at the end.

    `make` makes it and its parents where they are missing.

    Raises:
        Redirected: a part of the path is a link now.
        OSError: it is missing, no folder, or closed to us.
    """
    descriptor = _root(path)
    try:
        for part in path.parts[1:]:
            inner = _step(descriptor, part, path, make)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def pinned_open(path: Path, flags: int) -> Iterator[int]:
    """A descriptor of the file at the resolved `path`, opened with `flags`, closed at the end.

    Raises:
        Redirected: a part of the path is a link now.
        OSError: it cannot be opened.
    """
    with pinned_folder(path.parent) as folder:
        descriptor = open_in(folder, path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_in(folder: int, path: Path, flags: int, mode: int = 0o666) -> int:
    """Open the entry `path.name` of the open `folder`; a link is not followed.

    Raises:
        Redirected: it is a link now; one that leads round to itself is an `ELOOP` of its own.
        OSError: it cannot be opened.
    """
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path.name or ".", flags, mode, dir_fd=folder)
    except OSError as fault:
        _explain(fault, folder, path.name, path)
        raise


def pinned_state(path: Path) -> os.stat_result:
    """The state of what stands at the resolved `path`.

    Raises:
        Redirected: a part of the path is a link now.
        OSError: nothing is there, or it is closed to us.
    """
    with pinned_folder(path.parent) as folder:
        state = os.stat(path.name or ".", dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(state.st_mode):
            raise _loop_or_redirected(folder, path.name, path)
        return state


def _root(path: Path) -> int:
    if not path.is_absolute() or ".." in path.parts:
        raise ValueError(f"not a resolved path: {path}")
    return os.open(path.anchor, _FOLDER)


def _step(folder: int, name: str, path: Path, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as fault:
        _explain(fault, folder, name, path)
        raise
    with contextlib.suppress(FileExistsError):  # somebody else made it just now
        os.mkdir(name, dir_fd=folder)
    return _step(folder, name, path, make=False)


def _explain(fault: OSError, folder: int, name: str, path: Path) -> None:
    """Raise what is meant where `fault` comes from a link: the systems word it differently."""
    if fault.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
        return
    try:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return
    if stat.S_ISLNK(state.st_mode):
        raise _loop_or_redirected(folder, name, path) from None


def _loop_or_redirected(folder: int, name: str, path: Path) -> OSError:
    # Resolving leaves a link that goes round where it is: it was one all along.
    try:
        os.stat(name, dir_fd=folder)
    except OSError as fault:
        if fault.errno == errno.ELOOP:
            return fault
    return Redirected(path)
