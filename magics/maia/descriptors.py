"""Output that bypasses `sys.stdout`: file descriptors 1 and 2, as child processes and C code use them."""

import codecs
import contextlib
import os
import selectors
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

_PIECE: Final = 65_536
_ROOM: Final = 1_048_576
"""Bytes of the pipe on Linux: C code that writes while it holds Python's lock waits only beyond."""
_DRAIN: Final = 1.0
"""Seconds for what is in the pipe to be read when the code has ended."""
_F_SETPIPE_SZ: Final = 1031  # Linux, fcntl(2); the module has it from Python 3.10 on Linux only


def watched(stream: Any) -> bool:
    """Whether ipykernel takes descriptors 1 and 2 itself, so that the cell's own stream needs neither."""
    return getattr(stream, "_original_stdstream_copy", None) is not None


@contextlib.contextmanager
def caught(take: Callable[[str], None]) -> Iterator[None]:
    """Hand `take` what reaches descriptors 1 and 2 in this block, from a thread of its own.

    A process that outlives the block keeps its descriptors: its later output goes where it would have
    gone without us.
    """
    _flush()
    read, write = os.pipe()
    _widen(write)
    before = {number: os.dup(number) for number in (1, 2)}
    reader = _Reader(read, rest=before[1], take=take)
    reader.start()
    try:
        for number in before:
            os.dup2(write, number)
        os.close(write)
        yield
    finally:
        _flush()
        for number, original in before.items():
            os.dup2(original, number)
        os.close(before[2])
        reader.end()


class _Reader(threading.Thread):
    """Reads the pipe until nobody holds its other end; owns `read` and `rest`."""

    def __init__(self, read: int, *, rest: int, take: Callable[[str], None]) -> None:
        super().__init__(name="maia-descriptors", daemon=True)
        self._read, self._rest, self._take = read, rest, take
        self._wake, self._ending = os.pipe()
        self._over = False
        self._drained = threading.Event()

    def end(self) -> None:
        """Return when what was written so far is taken; what comes later is passed on."""
        os.close(self._ending)
        self._drained.wait(_DRAIN)
        self._over = True

    def run(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with selectors.DefaultSelector() as selector:
            selector.register(self._read, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if self._read in ready:
                    data = os.read(self._read, _PIECE)
                    if not data:
                        break
                    self._pass_on(data, decoder)
                elif not self._drained.is_set():
                    selector.unregister(self._wake)
                    self._take(decoder.decode(b"", final=True))
                    self._over = True
                    self._drained.set()
        self._drained.set()
        for descriptor in (self._read, self._wake, self._rest):
            os.close(descriptor)

    def _pass_on(self, data: bytes, decoder: codecs.IncrementalDecoder) -> None:
        if not self._over:
            self._take(decoder.decode(data))
            return
        with contextlib.suppress(OSError):
            os.write(self._rest, data)


def _flush() -> None:
    """Python's own buffers over the descriptors."""
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()  # type: ignore[union-attr]


def _widen(pipe: int) -> None:
    if sys.platform == "linux":
        import fcntl  # not on every system

        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, _F_SETPIPE_SZ, _ROOM)
