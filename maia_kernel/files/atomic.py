"""Replacing a file in one step: a reader sees the old bytes or the new ones, never a part.

Nobody else's change is lost either. Looking at the file and then renaming over it leaves a moment in
which another program may write; so the new file and the old one swap names, and only when what came out
is what was expected, and nobody is writing to it, is it removed. Otherwise the names are swapped back.
"""

import contextlib
import hashlib
import os
import secrets
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from maia_kernel.files.exchange import being_written, exchange
from maia_kernel.files.pinned import open_in, pinned_folder

_PATIENCE = 0.5  # seconds to wait for another program that is writing
_POLL = 0.01


class ChangedOnDisk(Exception):
    """The file is not what the writer believed: changed, gone, or created meanwhile.

    `busy`: another program has it open for writing, so that replacing it would lose what that writes.
    """

    def __init__(self, path: Path, *, busy: bool = False) -> None:
        super().__init__(f"{path.name} {'is being written' if busy else 'changed on disk'}")
        self.path = path
        self.busy = busy


def digest_of(data: bytes) -> str:
    """The sha256 of `data`, in hex: how a file's content is told from another."""
    return hashlib.sha256(data).hexdigest()


def write_atomic(
    path: Path,
    data: bytes,
    *,
    mode: int | None = None,
    expected: str | Literal["absent"] | None = None,
    parents: bool = False,
) -> int:
    """Put `data` in place of the file at the resolved `path`; returns the new `mtime_ns`.

    No link is followed (`paths.resolve` has done so). The mode of an existing file stays; a new one
    has `mode`, or what the umask leaves. `parents` makes missing folders. `expected` is the digest the
    file must still have, or "absent".

    Raises:
        ChangedOnDisk: `expected` does not hold; the file is as it was.
        Redirected: a part of the path is a link now; nothing was written.
        OSError: it cannot be written.
    """
    with pinned_folder(path.parent, make=parents) as folder:
        new = _New(folder, path, f".maia-{secrets.token_hex(8)}.tmp", digest_of(data))
        try:
            mtime = new.write(data, mode)
            new.put(expected)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(new.name, dir_fd=folder)
        _sync(folder)
    return mtime


@dataclass(frozen=True, slots=True)
class _New:
    """The new file, beside the one at `path` that it is to replace."""

    folder: int
    path: Path
    name: str
    digest: str

    def write(self, data: bytes, mode: int | None) -> int:
        # Opened with 0o666, so that the kernel applies the umask: asking for the umask is not
        # thread-safe.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(self.name, flags, 0o666 if mode is None else mode, dir_fd=self.folder)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            _like(stream.fileno(), self.folder, self.path.name)
            os.fsync(stream.fileno())
            return os.fstat(stream.fileno()).st_mtime_ns

    def put(self, expected: str | None) -> None:
        """Give it the name; raises `ChangedOnDisk` when what has the name is not as `expected`."""
        if expected == "absent":
            self._create()
        elif expected is None:
            self._rename()
        else:
            self._check(expected)
            if not self._swap():
                self._rename()
            elif not self._came_out(expected):
                self._swap_back()
                raise ChangedOnDisk(self.path)

    def _create(self) -> None:
        folder = self.folder
        try:  # unlike a rename, fails when the target exists
            os.link(self.name, self.path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError:
            raise ChangedOnDisk(self.path) from None
        except OSError:  # a file system without hard links
            if _exists(folder, self.path.name):
                raise ChangedOnDisk(self.path) from None
            self._rename()

    def _rename(self) -> None:
        os.rename(self.name, self.path.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def _swap(self) -> bool:
        try:
            return exchange(self.folder, self.name, self.path.name)
        except FileNotFoundError:
            raise ChangedOnDisk(self.path) from None

    def _check(self, expected: str) -> None:
        """What stands there is as `expected` and nobody writes to it; a writer is waited for."""
        until = time.monotonic() + _PATIENCE
        while self._written(self.path.name) and not self._written(self.name):
            if time.monotonic() > until:
                raise ChangedOnDisk(self.path, busy=True)
            time.sleep(_POLL)
        if self._digest(self.path.name) != expected:
            raise ChangedOnDisk(self.path)

    def _came_out(self, expected: str) -> bool:
        """Whether the file that had the name, and has ours now, is the one expected, and at rest."""
        # In this order: once nobody has it open and nobody knows its name, it stays as it is. A file
        # system that says of every file that it is being written says so of our own as well.
        busy = self._written(self.name) and not self._written(self.path.name)
        return not busy and self._digest(self.name) == expected

    def _swap_back(self) -> None:
        self._swap()
        if self._digest(self.name) != self.digest:
            # In between, somebody changed the new file as well. Theirs is not ours to remove.
            kept = f"{self.path.name}.{self.name.split('-')[1].removesuffix('.tmp')}"
            os.rename(self.name, kept, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def _digest(self, name: str) -> str:
        """The digest of a regular file of the folder, empty for anything else."""
        try:
            descriptor = open_in(
                self.folder, self.path.with_name(name), os.O_RDONLY | os.O_NONBLOCK
            )
        except OSError:
            return ""
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return ""
            return hashlib.file_digest(stream, "sha256").hexdigest()

    def _written(self, name: str) -> bool:
        """Whether another program has this file of the folder open for writing, as far as is known."""
        try:
            descriptor = open_in(
                self.folder, self.path.with_name(name), os.O_RDONLY | os.O_NONBLOCK
            )
        except OSError:
            return False
        try:
            return being_written(descriptor) or False
        finally:
            os.close(descriptor)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _like(descriptor: int, folder: int, name: str) -> None:
    """Owner and mode of the file that is replaced."""
    try:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return
    if not stat.S_ISREG(state.st_mode):
        return
    mine = os.fstat(descriptor)
    if (state.st_uid, state.st_gid) != (mine.st_uid, mine.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, state.st_uid, state.st_gid)
    os.fchmod(descriptor, state.st_mode & 0o7777)


def _sync(folder: int) -> None:
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
