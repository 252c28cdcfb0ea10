"""Landlock (landlock(7)) and a system call filter: what may be done is listed, path by path.

A rule holds for everything below its path and none can take away again, so that around each protected
or unreadable place the folders are given entry by entry. In a folder so divided nothing new can be
made, and outside the working folders it cannot be listed where it is divided for reading.
"""

import base64
import ctypes
import json
import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

from maia_kernel.sandbox import seccomp
from maia_kernel.sandbox.places import is_folder, within
from maia_kernel.sandbox.values import Bounds

NEEDED_ABI = 6
"""The first that keeps signals and abstract sockets inside (Linux 6.12)."""

_CREATE_RULESET, _VERSION = 444, 1
# linux/landlock.h, LANDLOCK_ACCESS_FS_*, by bit.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_ALL = (1 << 16) - 1
_MAKE_DEVICES = 1 << 6 | 1 << 11  # MAKE_CHAR, MAKE_BLOCK
_FILES = (
    _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
)  # what a file's rule may hold
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_CHANGE = _ALL & ~_MAKE_DEVICES & ~_IOCTL_DEVICE
_NETWORK = 1 << 0 | 1 << 1  # BIND_TCP, CONNECT_TCP
_SCOPED = 1 << 0 | 1 << 1  # abstract unix sockets, signals
_DEVICES = ("null", "zero", "full", "random", "urandom")
_SHARED = (Path("/tmp"), Path("/var/tmp"), Path("/dev"), Path("/run/user"))


def landlock_abi() -> int:
    """The kernel's Landlock ABI, 0 where there is none."""
    if platform.system() != "Linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)))


def landlock_plan(bounds: Bounds) -> bytes:
    """The plan for `enter.py`, as JSON."""
    return json.dumps(
        {
            "handled": _ALL,
            "network": _NETWORK,
            "scoped": _SCOPED,
            "rules": list(_rules(bounds)),
            "filter": base64.b64encode(seccomp.program("landlock")).decode(),
        }
    ).encode()


def _rules(bounds: Bounds) -> Iterator[tuple[str, int]]:
    for name in _DEVICES:
        yield from _rule(Path("/dev") / name, _READ_FILE | _WRITE_FILE)
    hidden = (*_SHARED, *bounds.unreadable)
    for place in undivided(Path("/"), (*hidden, *bounds.writable, *bounds.readable)):
        yield from _rule(place, _READ)
    inside = tuple(place for place in bounds.unreadable if within(place, bounds.writable))
    for place in (*bounds.readable, *bounds.writable):
        for part in undivided(place, inside):
            yield from _rule(part, _READ)
    for root in bounds.writable:
        # Names may be seen everywhere in it, so that it can be listed where it is divided.
        yield from _rule(root, _READ_DIR)
        for part in undivided(root, (*bounds.readonly, *inside)):
            yield from _rule(part, _CHANGE)


def undivided(base: Path, holes: Sequence[Path]) -> Iterator[Path]:
    """The fewest files and folders that together are `base` without `holes`; links are left out."""
    if base in holes:
        return
    if not any(hole.is_relative_to(base) for hole in holes):
        yield base
        return
    try:
        with os.scandir(base) as listing:
            entries = sorted(entry.path for entry in listing if not entry.is_symlink())
    except OSError:
        return
    for entry in entries:
        yield from undivided(Path(entry), holes)


def _rule(place: Path, rights: int) -> Iterator[tuple[str, int]]:
    allowed = rights if is_folder(place) else rights & _FILES
    if allowed:
        yield str(place), allowed
