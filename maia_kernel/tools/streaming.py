"""Output of work that runs beside its reader: pieces while it comes, the result at the end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Generic, TypeVar

from maia_kernel.processes import Hiding
from maia_kernel.shortening import shortened

T = TypeVar("T")

_TICK = 0.1  # seconds between pieces: a screen shows no more, and a notebook keeps every message
_PIECE = 2_000  # characters of a piece; the middle of a longer one is left out
_LAST = 20_000  # of the last piece of work that was cancelled: no result will say the rest
_STREAMED = 60_000  # characters of progress of one call


class Streamed(Generic[T]):
    """Runs `work(on_output)` as a task; iterate for its output, then ask `result`.

    `hiding` takes secrets out of it before long pieces are cut. `aclose` ends the work if it still runs,
    and waits for its end.
    """

    def __init__(
        self,
        work: Callable[[Callable[[str], None]], Coroutine[Any, Any, T]],
        *,
        hiding: Hiding | None = None,
    ) -> None:
        self._hiding = hiding
        self._waiting: list[str] = []
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.ensure_future(work(self._put))
        self._task.add_done_callback(lambda _: self._arrived.set())
        self._room = _STREAMED

    def result(self) -> T:
        """What the work returned, or its exception."""
        return self._task.result()

    async def pieces(self) -> AsyncIterator[str]:
        """Output as it comes, at most a piece every tenth of a second, until the work is done.

        Cancelled, it ends the work, gives what had come until then, and is cancelled after that.
        """
        try:
            while not self._task.done():
                await self._arrived.wait()
                self._arrived.clear()
                piece = self._take()
                if piece:
                    yield piece
                    await asyncio.wait({self._task}, timeout=_TICK)
        except asyncio.CancelledError:
            with contextlib.suppress(asyncio.CancelledError):
                await self.aclose()
            piece = self._take(_LAST)
            if piece:
                yield piece
            raise
        piece = self._take()
        if piece:
            yield piece

    async def aclose(self) -> None:
        """End the work; returns when it has ended, even if we are cancelled again meanwhile."""
        cancelled = False
        while not self._task.done():
            self._task.cancel()
            try:
                await asyncio.wait({self._task})
            except asyncio.CancelledError:
                cancelled = True
        if not self._task.cancelled():
            self._task.exception()  # retrieved, so that the loop does not complain
        if cancelled:
            raise asyncio.CancelledError

    def _put(self, text: str) -> None:
        # The kernel's main thread may call this, too.
        self._waiting.append(text)
        self._loop.call_soon_threadsafe(self._arrived.set)

    def _take(self, limit: int = _PIECE) -> str:
        text = "".join(self._waiting)
        self._waiting.clear()
        if self._hiding is not None:
            text = self._hiding.feed(text)
            text += self._hiding.rest() if self._task.done() else ""
        if not text or self._room <= 0:
            return ""
        piece = shortened(text, limit)
        self._room -= len(piece)
        return piece if self._room > 0 else f"{piece}\n[... more output ...]\n"
