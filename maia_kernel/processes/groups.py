"""Everything that one child started: found, counted, ended."""

import asyncio
import contextlib
import itertools
import os
import secrets
import signal
import time
from pathlib import Path

MARK = "MAIA_CALL"
"""The variable that children and whatever they start carry."""
GRACE = 1.0  # seconds between TERM and KILL
_DEAD = 1.0  # seconds to wait after KILL
_POLL = 0.02
_SWEEPS = 5  # a process may start another while it is being killed


class Groups:
    """The children of one owner that still run, each with everything it started.

    A child that ended stays in it for as long as it left something in the background. `kill` may be
    called from a signal handler.

    `MARK` in their environment also finds, on Linux, who left session, group and parent: it holds the
    owner's token and the child's number.
    """

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._leaders: dict[int, bool] = {}  # whether the leader itself has ended
        self._killed = False

    def __len__(self) -> int:
        return len(self._leaders)

    def mark(self) -> str:
        """The value of `MARK` for one more child."""
        return f"{self._token}.{next(self._numbers)}."

    def add(self, leader: int) -> None:
        """Count a new child among them; after `kill`, it does not live long."""
        self._leaders[leader] = False
        if self._killed:
            _sweep(leader)

    def ended(self, leader: int, *, left: bool) -> None:
        """The child itself is over; `left`: something that it started still runs."""
        if left:
            self._leaders[leader] = True
        else:
            self._leaders.pop(leader, None)

    def kill(self) -> None:
        """KILL all of them at once, and from now on every child that is added."""
        self._killed = True
        for leader in self._own():
            _sweep(leader)
        for pid in marked(self._token):
            _signal(pid, {pid}, signal.SIGKILL)

    async def end(self, *, grace: float = GRACE) -> None:
        """End all of them as `kill_group` does, at the same time."""
        leaders = self._own()
        self._leaders.clear()
        await asyncio.gather(*(kill_group(leader, grace=grace) for leader in leaders))
        for pid in await asyncio.to_thread(marked, self._token):
            await kill_group(pid, grace=grace)

    def _own(self) -> list[int]:
        # No process gets the number of a group that still has members: a leader that ended and is
        # there again is a stranger, and nothing is left of the child.
        return [
            leader
            for leader, ended in list(self._leaders.items())
            if not (ended and _exists(leader))
        ]


def _sweep(leader: int) -> None:
    for _ in range(_SWEEPS):
        members = members_of(leader)
        if not members:
            return
        _signal(leader, members, signal.SIGKILL)


async def kill_group(leader: int, *, grace: float = GRACE, mark: str = "") -> None:
    """End everything that process `leader` started: TERM, `grace` seconds (at most 2), KILL.

    That is its session, its group, and on Linux also descendants that left both, and whoever has `mark`.
    """
    members = members_of(leader) | marked(mark)
    _signal(leader, members, signal.SIGTERM)
    if not await _gone(leader, members, min(grace, 2.0)):
        members |= members_of(leader) | marked(mark)
        _signal(leader, members, signal.SIGKILL)
        await _gone(leader, members, _DEAD)


def marked(mark: str) -> set[int]:
    """Living processes whose `MARK` begins with `mark` (proc(5), `environ`); none without /proc."""
    if not mark:
        return set()
    wanted = f"{MARK}={mark}".encode()
    own = os.getpid()
    return {pid for pid in _process_table() or () if pid != own and _has_variable(pid, wanted)}


def _has_variable(pid: int, start: bytes) -> bool:
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False  # another user's, or gone
    return any(variable.startswith(start) for variable in environ.split(b"\0"))


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
    return _exists(pid)


def _exists(pid: int) -> bool:
    """Whether there is such a process, zombies included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def group_exists(leader: int) -> bool:
    """Whether the group of `leader` has any process, zombies included."""
    try:
        os.killpg(leader, 0)
    except OSError:
        return False
    return True
