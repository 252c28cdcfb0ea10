"""Two things that Python has no call for: swapping two names, and asking whether a file is being written.

Both are Linux's; elsewhere, and on file systems without them, the answer is that they are not there.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import sys
from collections.abc import Callable
from functools import cache

_RENAME_EXCHANGE = 2  # <linux/fs.h>
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def exchange(folder: int, one: str, other: str) -> bool:
    """Swap two entries of the open `folder` in one step (renameat2(2)); False where that cannot be done.

    Raises:
        OSError: it could be, but not for these: one is missing, say.
    """
    rename = _renameat2()
    if rename is None:
        return False
    if rename(folder, os.fsencode(one), folder, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), other)


def being_written(descriptor: int) -> bool | None:
    """Whether anybody has the file of `descriptor` (opened for reading) open for writing; None: unknown.

    A read lease (fcntl(2)) is given only where nobody has; it is given back at once.
    """
    if sys.platform != "linux":
        return None
    try:
        # Somebody who opens it in this very moment breaks the lease: by default with a signal that ends
        # us. This one is ignored by default.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:  # another's file, or a file system without leases
        return None
    with contextlib.suppress(OSError):
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


@cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # not Linux, or an old C library
        return None
    function.argtypes = (
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    )
    function.restype = ctypes.c_int
    call: Callable[[int, bytes, int, bytes, int], int] = function
    return call
