"""Everything that one child started: found, counted, ended."""

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path

GRACE = 1.0  # seconds between TERM and KILL
_DEAD = 1.0  # seconds to wait after KILL
_POLL = 0.02


async def kill_group(leader: int, *, grace: float = GRACE) -> None:
    """End everything that process `leader` started: TERM, `grace` seconds (at most 2), KILL.

    That is its session, its group, and on Linux also descendants that left both.
    """
    members = members_of(leader)
    _signal(leader, members, signal.SIGTERM)
    if await _gone(leader, members, min(grace, 2.0)):
        return
    members |= members_of(leader)
    _signal(leader, members, signal.SIGKILL)
    await _gone(leader, members, _DEAD)


async def _gone(leader: int, members: set[int], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while True:
        # The whole table only once those known are dead: it takes milliseconds.
        if not any(_alive(pid) for pid in members):
            members = members_of(leader)
            if not members:
                return True
        if time.monotonic() >= end:
            return False
        await asyncio.sleep(_POLL)


def _signal(leader: int, members: set[int], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
    for pid in members:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def members_of(leader: int) -> set[int]:
    """Living processes of the leader's session, group and offspring; zombies do not count."""
    table = _process_table()
    if table is None:
        return {leader} if group_exists(leader) else set()
    found = {pid for pid, (_, group, session) in table.items() if leader in (pid, group, session)}
    grew = True
    while grew:
        more = {pid for pid, (parent, _, _) in table.items() if parent in found} - found
        found |= more
        grew = bool(more)
    return found


def _process_table() -> dict[int, tuple[int, int, int]] | None:
    """Parent, group and session of every living process (proc(5), `stat`); None without /proc."""
    table: dict[int, tuple[int, int, int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - only the names, many
    except OSError:
        return None
    for name in names:
        if not name.isdigit():
            continue
        stat = _stat(int(name))
        if stat is not None:
            table[int(name)] = stat
    return table or None


def _stat(pid: int) -> tuple[int, int, int] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name, in parentheses, may hold anything.
    state, parent, group, session = text[text.rindex(")") + 2 :].split()[:4]
    return None if state in "ZX" else (int(parent), int(group), int(session))


def _alive(pid: int) -> bool:
    if Path("/proc/self/stat").exists():
        return _stat(pid) is not None
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def group_exists(leader: int) -> bool:
    """Whether the group of `leader` has any process, zombies included."""
    try:
        os.killpg(leader, 0)
    except OSError:
        return False
    return True
