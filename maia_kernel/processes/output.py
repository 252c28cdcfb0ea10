"""Output of a child: read from its pipe, decoded, kept within limits."""

import asyncio
import codecs
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO, Protocol

from maia_kernel import paths
from maia_kernel.shortening import whole_head, whole_tail

SHOWN_LIMIT = 30_000
"""Characters of output kept in memory and returned: the first and the last half."""
SPILL_LIMIT = 64 * 1024 * 1024
"""Bytes of output written to the spill file."""
_CHUNK = 65_536
_LITTLE = 16_384  # bytes; below, nobody waits for us
_PAUSE = 0.002  # seconds
_DRAIN = 64  # pieces; a pipe holds one or two


class Pipe:
    """The reading end of a pipe, on the running loop."""

    def __init__(self, output: "Output", count: Callable[[int], None]) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._output: Output | None = output
        self._count = count
        self._loop = asyncio.get_running_loop()

    @property
    def is_open(self) -> bool:
        return self._read_end >= 0

    def listen(self) -> None:
        self._loop.add_reader(self._read_end, self._ready)

    def close_write_end(self) -> None:
        os.close(self.write_end)

    def finish(self) -> None:
        """Take what is there; if somebody still holds the pipe, go on reading but keep nothing.

        Closing it instead would end a background child by SIGPIPE at its next line of output.
        """
        if self._read_end < 0:
            return
        for _ in range(_DRAIN):  # bounded: a background child may write for ever
            if not self._read():
                break
        self._output = None

    def _ready(self) -> None:
        # A child that writes line by line would wake us for each: what it writes in the next moment comes
        # with the next read.
        if 0 < self._read() < _LITTLE:
            self._loop.remove_reader(self._read_end)
            self._loop.call_later(_PAUSE, self._resume)

    def _resume(self) -> None:
        if self._read_end >= 0:
            self._loop.add_reader(self._read_end, self._ready)

    def _read(self) -> int:
        """Read a piece; its bytes, 0 when nothing is there now or any more."""
        try:
            data = os.read(self._read_end, _CHUNK)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = -1
            return 0
        if self._output is not None:
            self._output.feed(data)
            self._count(len(data))
        return len(data)


class Hiding(Protocol):
    """Takes secrets out of a text that comes in pieces."""

    def feed(self, piece: str) -> str:
        """What may be shown now, after what was returned before."""
        ...

    def rest(self) -> str:
        """What was held back; the text is over."""
        ...


class Output:
    """Output as it comes: decoded, passed on, its head and tail kept, all of it spilled to a file.

    `hiding` sees it first, so that no cut can go through a secret. Bytes that are no UTF-8 are U+FFFD in
    what is shown, unless `lossless` (then as `surrogateescape` has them), and themselves in the file.
    """

    def __init__(
        self,
        on_output: Callable[[str], None] | None,
        limit: int,
        spill: Path | None,
        *,
        hiding: Hiding | None = None,
        lossless: bool = False,
    ) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._on_output = on_output
        self._half = limit // 2
        self._limit = limit
        self._head: list[str] = []
        self._head_length = 0
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self._total = 0
        self._hiding = hiding
        self._lossless = lossless
        self._spill = spill
        self._file: IO[bytes] | None = None
        self._spilled_bytes = 0
        self._early: list[str] = []

    @property
    def left_out(self) -> int:
        """Characters between what is shown of the beginning and of the end."""
        return self._parts()[2] if self._total > self._limit else 0

    @property
    def spilled(self) -> Path | None:
        return self._spill if self._spilled_bytes else None

    def feed(self, data: bytes) -> None:
        self._take(self._decoder.decode(data), last=False)

    def close(self) -> None:
        """There is no more."""
        self._take(self._decoder.decode(b"", True), last=True)
        self._early.clear()
        if self._file is not None:
            self._file.close()

    def shown(self) -> str:
        head, tail, left_out = self._parts()
        if not left_out:
            return head + tail
        where = ""
        if self.spilled is not None:
            where = f"; all of it is in {paths.shown(self.spilled)}"
        head = head.removesuffix("\n")
        return f"{head}\n\n[... {left_out:,} characters left out{where} ...]\n\n{tail}"

    def _parts(self) -> tuple[str, str, int]:
        """Beginning, end, and how many characters are missing between them."""
        head, tail = "".join(self._head), "".join(self._tail)
        if self._total <= self._limit:
            return head, tail, 0
        end = len(tail) - (self._limit - self._half)
        head, tail = whole_head(head), whole_tail(tail[max(0, end) :])
        return head, tail, self._total - len(head) - len(tail)

    def _take(self, text: str, *, last: bool) -> None:
        if self._hiding is not None:
            text = self._hiding.feed(text) + (self._hiding.rest() if last else "")
        if not text:
            return
        shown = text if self._lossless else _readable(text)
        self._total += len(shown)
        self._store(text)
        self._keep(shown)
        if self._on_output is not None:
            self._on_output(shown)

    def _keep(self, text: str) -> None:
        room = self._half - self._head_length
        if room > 0:
            self._head.append(text[:room])
            self._head_length += min(room, len(text))
            text = text[room:]
        if not text:
            return
        self._tail.append(text)
        self._tail_length += len(text)
        # All of it is kept while it may still be short enough to be shown whole.
        while self._tail_length - len(self._tail[0]) >= self._limit - self._half:
            self._tail_length -= len(self._tail.popleft())

    def _store(self, text: str) -> None:
        if self._spill is None:
            return
        if self._file is None:
            self._early.append(text)
            if self._total <= self._limit:
                return
            self._spill.parent.mkdir(parents=True, exist_ok=True)
            # For the person alone: nobody knows what a command prints.
            descriptor = os.open(
                self._spill, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
            )
            self._file = os.fdopen(descriptor, "wb")
            text = "".join(self._early)
            self._early.clear()
        data = text.encode("utf-8", "surrogateescape")[: SPILL_LIMIT - self._spilled_bytes]
        self._file.write(data)
        self._spilled_bytes += len(data)


def _readable(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
