"""Server-sent events from bytes cut anywhere (WHATWG HTML, 9.2 "Server-sent events").

More forgiving than the standard in one point: a last record without its blank line counts.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One record: its `event:` name, empty if it had none, and its `data:` lines joined."""

    event: str
    data: str


@dataclass(slots=True)
class SseParser:
    """Give it bytes with `feed`, then `finish`; both return the records that became complete."""

    _rest: bytearray = field(default_factory=bytearray)
    _event: str = ""
    _data: list[str] = field(default_factory=list)
    _after_cr: bool = False

    def feed(self, piece: bytes) -> list[SseEvent]:
        """The records that `piece` completes."""
        return [event for line in self._lines(piece) if (event := self._take(line)) is not None]

    def finish(self) -> list[SseEvent]:
        """The record that the end of the stream completes, if any."""
        return self.feed(b"\n\n")

    def _lines(self, piece: bytes) -> Iterator[str]:
        if self._after_cr and piece.startswith(b"\n"):
            piece, self._after_cr = piece[1:], False
        if piece:
            self._after_cr = piece.endswith(b"\r")
        self._rest += piece
        if b"\n" not in piece and b"\r" not in piece:
            return
        *lines, rest = bytes(self._rest).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            yield line.decode("utf-8", "replace").removeprefix("\ufeff")

    def _take(self, line: str) -> SseEvent | None:
        if not line:
            complete = SseEvent(self._event, "\n".join(self._data)) if self._data else None
            self._event, self._data = "", []
            return complete
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        return None


async def sse_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[SseEvent]:
    """The records of a response body."""
    parser = SseParser()
    async for piece in pieces:
        for event in parser.feed(piece):
            yield event
    for event in parser.finish():
        yield event
