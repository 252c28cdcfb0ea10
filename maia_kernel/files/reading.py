"""Bytes of a file, never of anything that could block or never end.

Paths are resolved ones (`paths.resolve`): no link is followed any more.
"""

import difflib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from maia_kernel.files.pinned import Redirected, pinned_open, pinned_state

Kind = Literal["file", "folder", "special", "missing", "denied", "loop", "redirected"]
Reason = Literal[
    "missing", "folder", "special", "denied", "loop", "redirected", "too_large", "binary"
]


class Unreadable(Exception):
    """A path that gives no content: `reason` says why, `size` in bytes where it matters.

    Each room words it for its own reader (the model, or the person).
    """

    def __init__(self, path: Path, reason: Reason, size: int = 0) -> None:
        super().__init__(f"{path.name}: {reason}")
        self.path = path
        self.reason: Reason = reason
        self.size = size


def kind(path: Path) -> Kind:
    """What stands at the resolved `path`.

    `special` is a FIFO, a socket or a device, `loop` a link that never arrives, `redirected` a link that
    was not there when the path was resolved.
    """
    try:
        mode = pinned_state(path).st_mode
    except (OSError, ValueError) as fault:
        return _why_not(fault)
    if stat.S_ISREG(mode):
        return "file"
    return "folder" if stat.S_ISDIR(mode) else "special"


def read_bytes(path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file and its state as read.

    Raises:
        Unreadable: for anything else, or more than `limit` bytes.
    """
    with open_regular(path) as (descriptor, state):
        if state.st_size > limit:
            raise Unreadable(path, "too_large", state.st_size)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)  # a file may grow, or be a /proc file of "size 0"
    if len(data) > limit:
        raise Unreadable(path, "too_large", len(data))
    return data, state


@contextmanager
def open_regular(path: Path) -> Iterator[tuple[int, os.stat_result]]:
    """A readable regular file as `(descriptor, state)`, closed at the end.

    Raises:
        Unreadable: for anything else.
    """
    found = kind(path)
    if found != "file":
        raise Unreadable(path, found)
    # O_NONBLOCK: should a FIFO take the file's place meanwhile, opening must not hang.
    opening = pinned_open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with ExitStack() as stack:
        try:
            descriptor = stack.enter_context(opening)
        except OSError as fault:
            raise Unreadable(path, _why_not(fault)) from None
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise Unreadable(path, "special")
        yield descriptor, state


def read_head(path: Path, count: int) -> bytes:
    """The first bytes of a regular file, at most `count`; raises `Unreadable` for anything else."""
    with open_regular(path) as (descriptor, _):
        return os.read(descriptor, count)


def size_of(path: Path) -> int:
    """The bytes of a regular file; raises `Unreadable` for anything else."""
    with open_regular(path) as (_, state):
        return state.st_size


def near_names(path: Path, *, most: int = 3) -> tuple[Path, ...]:
    """Existing neighbours of a missing `path` whose names look like its own, best first."""
    try:
        names = [entry.name for entry in os.scandir(path.parent)][:5_000]
    except OSError:
        return ()
    wanted = path.name.lower()
    by_lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wanted, by_lower, n=most, cutoff=0.6)
    same_stem = [
        low for low in by_lower if low not in close and Path(low).stem == path.stem.lower()
    ]
    return tuple(path.parent / by_lower[low] for low in [*close, *sorted(same_stem)][:most])


def _why_not(
    fault: OSError | ValueError,
) -> Literal["missing", "denied", "loop", "redirected"]:
    match fault:
        case Redirected():
            return "redirected"
        case OSError(errno=errno.ELOOP):
            return "loop"
        case OSError(errno=errno.ENOENT | errno.ENOTDIR | errno.ENAMETOOLONG) | ValueError():
            return "missing"  # also a NUL or half of a character in the name
        case _:
            return "denied"
