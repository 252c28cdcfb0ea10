"""At most ten updates a second, and always the last one."""

import asyncio
from collections.abc import Callable

INTERVAL = 0.1
"""Seconds between two updates."""


class Pace:
    """Calls `work` soon after `soon`, never more often than every `INTERVAL` seconds.

    The first call comes at once, what follows is gathered; a timer on the engine's loop brings the
    tail. Belongs to one thread, that of `loop`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
        self._loop = loop
        self._work = work
        self._timer: asyncio.TimerHandle | None = None
        self._last = float("-inf")

    def soon(self) -> None:
        """Something changed."""
        if self._timer is not None:
            return
        wait = self._last + INTERVAL - self._loop.time()
        if wait <= 0:
            self.now()
        else:
            self._timer = self._loop.call_later(wait, self.now)

    def now(self) -> None:
        """Do the work now, and forget the timer."""
        self.stop()
        self._last = self._loop.time()
        self._work()

    def stop(self) -> None:
        """Forget what is planned."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
