"""How much memory is free, for choosing a model and its context."""

import os
from pathlib import Path

GIB = 1024**3


def free_memory() -> int:
    """Bytes that a new process may use: what the machine has free, less where a container allows less."""
    return min(_machine(), _container())


def _machine() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:  # not Linux: half of what is built in is a fair guess
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    kibibytes = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return int(kibibytes) * 1024


def _container(folder: Path = Path("/sys/fs/cgroup")) -> int:
    """What the control group (version 2) of a container leaves, or as good as no limit."""
    try:
        limit = int((folder / "memory.max").read_text(encoding="ascii"))
        used = int((folder / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such group, or the limit is "max"
        return 1 << 62
    return max(0, limit - used)
