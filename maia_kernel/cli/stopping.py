"""Ending the program early: signals, and an output that nobody takes. Imports nothing heavy."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
_PATIENCE: Final = 3.0
"""Seconds of cleaning up after which one more signal ends the program without."""


class Stop:
    """Why the program ends. `code` is its exit code, None while nothing has settled it.

    The first signal calls what `acting` was given as `first`, every later one `again`. Outside of
    `acting` nothing needs to be cleaned up, and a signal ends the program at once.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        self._since = 0.0
        self._first: Callable[[], None] | None = None
        self._again: Callable[[], None] | None = None

    def catch_signals(self) -> None:
        """Take the signals that end a program, but for those that our parent had us ignore."""
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._signalled)

    def ignore_signals(self) -> None:
        """All is done: the interpreter's own end must not turn one into another exit code."""
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def acting(self, *, first: Callable[[], None], again: Callable[[], None]) -> Iterator[None]:
        """Within: what to do. Both are called between two instructions of the main thread."""
        self._first, self._again = first, again
        try:
            yield
        finally:
            self._first = self._again = None

    def now(self, code: int) -> None:
        """Stop with `code`, unless the exit code is settled."""
        if self.code is not None:
            return
        self.settle(code)
        if self._first is not None:
            self._first()

    def settle(self, code: int) -> None:
        """Nothing changes the exit code any more; signals only hurry the end."""
        self.code = code
        self._since = time.monotonic()

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self.code is None:
            if self._first is None:
                os._exit(128 + number)
            self.now(128 + number)
            return
        if self._again is not None:
            self._again()
        if self._again is None or time.monotonic() - self._since > _PATIENCE:
            os._exit(self.code)
