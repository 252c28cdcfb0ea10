"""Which of many files may have been another while they were looked at."""

import os
import stat
import time
from collections.abc import Iterable, Iterator

_LAG = 20_000_000  # nanoseconds by which a file system's clock may lag behind ours


def file_clock() -> int:
    """Now, by the clock that stamps files, in nanoseconds."""
    if hasattr(time, "CLOCK_REALTIME_COARSE"):  # Linux
        return time.clock_gettime_ns(time.CLOCK_REALTIME_COARSE)
    return time.time_ns() - _LAG


def changed_since(names: Iterable[str], folder: int, since: int) -> Iterator[str]:
    """The names, relative to the open `folder`, that may have led elsewhere after `since`.

    Who puts a link in the place of a file or folder changes the folder it is in, and has to rename or
    remove what was there: their times (`st_ctime_ns`, which nobody can set) say so, even when all is put
    back. Looked at from the top, so that the first one that was swapped is found in one that was not.
    """
    quiet: dict[str, bool] = {}
    swapped: dict[str, bool] = {"": False}

    def changed(path: str) -> bool:
        outer = path.rpartition("/")[0]
        if leads_elsewhere(outer):
            return True
        if outer not in quiet:
            quiet[outer] = not _changed(outer or ".", folder, since)
        return not quiet[outer] and _changed(path, folder, since)

    def leads_elsewhere(path: str) -> bool:
        if path not in swapped:
            swapped[path] = changed(path)
        return swapped[path]

    return (name for name in names if changed(name))


def _changed(path: str, folder: int, since: int) -> bool:
    try:
        state = os.stat(path, dir_fd=folder, follow_symlinks=False)
    except (OSError, ValueError):
        return True
    return state.st_ctime_ns >= since or stat.S_ISLNK(state.st_mode)
