"""Output of a child: read from its pipe, decoded, kept within limits."""

import asyncio
import codecs
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO

from maia_kernel import paths

SHOWN_LIMIT = 30_000
"""Characters of output kept in memory and returned: the first and the last half."""
SPILL_LIMIT = 64 * 1024 * 1024
"""Bytes of output written to the spill file."""
_CHUNK = 65_536
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
        self._loop.add_reader(self._read_end, self._read)

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

    def _read(self) -> bool:
        """Read a piece; False when nothing is there now or any more."""
        try:
            data = os.read(self._read_end, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = -1
            return False
        if self._output is not None:
            self._output.feed(data)
            self._count(len(data))
        return True


class Output:
    """Output as it comes: decoded, passed on, its head and tail kept, all of it spilled to a file."""

    def __init__(
        self, on_output: Callable[[str], None] | None, limit: int, spill: Path | None
    ) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._on_output = on_output
        self._half = limit // 2
        self._limit = limit
        self._head = ""
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self._total = 0
        self._spill = spill
        self._file: IO[bytes] | None = None
        self._spilled_bytes = 0
        self._early: list[bytes] = []

    @property
    def left_out(self) -> int:
        return max(0, self._total - self._limit)

    @property
    def spilled(self) -> Path | None:
        return self._spill if self._spilled_bytes else None

    def feed(self, data: bytes, *, final: bool = False) -> None:
        text = self._decoder.decode(data, final)
        self._total += len(text)
        self._keep(text)
        self._store(data)
        if self._on_output is not None and text:
            self._on_output(text)

    def shown(self) -> str:
        tail = "".join(self._tail)
        if not self.left_out:
            return self._head + tail
        where = ""
        if self.spilled is not None:
            where = f"; all of it is in {paths.shown(self.spilled)}"
        note = f"\n\n[... {self.left_out:,} characters left out{where} ...]\n\n"
        return self._head + note + tail[-(self._limit - self._half) :]

    def close(self) -> None:
        self.feed(b"", final=True)
        self._early.clear()
        if self._file is not None:
            self._file.close()

    def _keep(self, text: str) -> None:
        room = self._half - len(self._head)
        if room > 0:
            self._head += text[:room]
            text = text[room:]
        if not text:
            return
        self._tail.append(text)
        self._tail_length += len(text)
        # All of it is kept while it may still be short enough to be shown whole.
        while self._tail_length - len(self._tail[0]) >= self._limit - self._half:
            self._tail_length -= len(self._tail.popleft())

    def _store(self, data: bytes) -> None:
        if self._spill is None:
            return
        if self._file is None:
            self._early.append(data)
            if not self.left_out:
                return
            self._spill.parent.mkdir(parents=True, exist_ok=True)
            # For the person alone: nobody knows what a command prints.
            descriptor = os.open(
                self._spill, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
            )
            self._file = os.fdopen(descriptor, "wb")
            data = b"".join(self._early)
            self._early.clear()
        data = data[: SPILL_LIMIT - self._spilled_bytes]
        self._file.write(data)
        self._spilled_bytes += len(data)
