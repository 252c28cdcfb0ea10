"""The answer while it streams: Markdown outputs that grow, at most ten updates a second."""

import asyncio

from maia_kernel.neutral import prose
from maia_widgets.inert import inert
from maia_widgets.outputs import Bundle, Outputs, Slot
from maia_widgets.pace import Pace
from maia_widgets.segments import Segments


class Reply:
    """Pieces of text in, Markdown outputs out. One block of answer is one or more outputs."""

    def __init__(self, outputs: Outputs, loop: asyncio.AbstractEventLoop) -> None:
        self._outputs = outputs
        self._segments = Segments()
        self._slot: Slot | None = None
        self._pace = Pace(loop, self._draw)

    @property
    def empty(self) -> bool:
        """True while the block has nothing to show."""
        return self._slot is None and not self._segments.current.strip()

    def feed(self, piece: str) -> None:
        """Append `piece` to the block."""
        self._segments.feed(prose(piece))
        if not self.empty:
            self._pace.soon()

    def end(self) -> None:
        """Show what is left; what comes next is a new block, after whatever came between."""
        if not self.empty:
            self._pace.now()
        self.forget()

    def forget(self) -> None:
        """Begin a new block without showing what is left: the answer is taken back."""
        self._pace.stop()
        self._segments, self._slot = Segments(), None

    def _draw(self) -> None:
        for segment in self._segments.finished:
            self._put(segment)
            self._slot = None
        self._segments.finished.clear()
        if self._segments.current.strip():
            self._put(self._segments.current)

    def _put(self, markdown: str) -> None:
        bundle: Bundle = {"text/markdown": inert(markdown), "text/plain": markdown}
        if self._slot is None:
            self._slot = self._outputs.add(bundle)
        else:
            self._slot.update(bundle)
