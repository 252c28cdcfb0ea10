"""Replacing a file in one step: a reader sees the old bytes or the new ones, never a part."""

import contextlib
import hashlib
import os
import secrets
from pathlib import Path
from typing import Literal

from maia_kernel.paths import resolve


class ChangedOnDisk(Exception):
    """The file is not what the writer believed: changed, gone, or created meanwhile."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path.name} changed on disk")
        self.path = path


def digest_of(data: bytes) -> str:
    """The sha256 of `data`, in hex: how a file's content is told from another."""
    return hashlib.sha256(data).hexdigest()


def write_atomic(
    path: Path,
    data: bytes,
    *,
    mode: int | None = None,
    expected: str | Literal["absent"] | None = None,
) -> int:
    """Put `data` in place of the file at `path`; returns the new `mtime_ns`.

    A symlink's target is replaced, not the link. The mode of an existing file stays; a new one has
    `mode`, or what the umask leaves. The folder must exist. `expected` is the digest the file must
    still have, or "absent", checked just before the rename.

    Raises:
        ChangedOnDisk: `expected` does not hold; nothing was written.
        OSError: it cannot be written.
    """
    target = resolve(path)
    temporary = target.with_name(f".maia-{secrets.token_hex(8)}.tmp")
    # Opened with 0o666, so that the kernel applies the umask: asking for the umask is not thread-safe.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            _like(stream.fileno(), target)
            os.fsync(stream.fileno())
            mtime = os.fstat(stream.fileno()).st_mtime_ns
        _put(temporary, target, expected)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)
    return mtime


def _put(temporary: Path, target: Path, expected: str | None) -> None:
    if expected == "absent":
        try:
            os.link(temporary, target)  # unlike a rename, fails when the target exists
        except FileExistsError:
            raise ChangedOnDisk(target) from None
        except OSError:  # a file system without hard links
            if target.exists():
                raise ChangedOnDisk(target) from None
            temporary.replace(target)
        return
    if expected is not None:
        try:
            now = digest_of(target.read_bytes())
        except OSError:
            raise ChangedOnDisk(target) from None
        if now != expected:
            raise ChangedOnDisk(target)
    temporary.replace(target)


def _like(descriptor: int, target: Path) -> None:
    """Owner and mode of the file that is replaced."""
    try:
        state = target.stat()
    except OSError:
        return
    mine = os.fstat(descriptor)
    if (state.st_uid, state.st_gid) != (mine.st_uid, mine.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, state.st_uid, state.st_gid)
    os.fchmod(descriptor, state.st_mode & 0o7777)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
