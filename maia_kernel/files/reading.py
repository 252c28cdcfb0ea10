"""Bytes of a file, never of anything that could block or never end."""

import difflib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

Kind = Literal["file", "folder", "special", "missing", "denied", "loop"]
Reason = Literal["missing", "folder", "special", "denied", "loop", "too_large", "binary"]


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
    """What `path` is, through symlinks.

    `special` is a FIFO, a socket or a device, `loop` a symlink that never arrives.
    """
    try:
        mode = path.stat().st_mode
    except PermissionError:
        return "denied"
    except OSError as fault:
        return "loop" if fault.errno == errno.ELOOP else "missing"
    except ValueError:  # a NUL or half of a character in the name
        return "missing"
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
    try:
        # O_NONBLOCK: should a FIFO take the file's place meanwhile, opening must not hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Unreadable(path, "missing") from None
    except OSError:
        raise Unreadable(path, "denied") from None
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise Unreadable(path, "special")
        yield descriptor, state
    finally:
        os.close(descriptor)


def read_head(path: Path, count: int) -> bytes:
    """The first bytes of a regular file, at most `count`; raises `Unreadable` for anything else."""
    with open_regular(path) as (descriptor, _):
        return os.read(descriptor, count)


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
