"""stdin, stdout and stderr as they may be: closed, full, a pipe that nobody reads, not a terminal."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from maia_kernel.errors import MaiaError, UsageError
from maia_kernel.texts import text

_NOBODY_READS = 141  # 128 + SIGPIPE, as of a program that the signal ends
_UNWRITABLE = 1


class Streams:
    """Where the program writes. stderr may fail: nobody is there then.

    `failure` is the exit code of a stdout that failed, None as long as it works; `on_failure` is
    called with it, once.
    """

    def __init__(self) -> None:
        self.failure: int | None = None
        self.on_failure: Callable[[int], None] | None = None
        _fill_closed()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # File names may hold what no text can; in JSON this is a valid escape, too.
                stream.reconfigure(errors="backslashreplace")

    def require_output(self) -> None:
        """Before anything is done or paid for.

        Raises:
            MaiaError: stdout is closed.
        """
        if sys.stdout is None:
            raise MaiaError(text("cli.unwritable", cause=text("cli.closed")))

    def write(self, written: str) -> None:
        """To stdout, at once."""
        if self.failure is not None:
            return
        try:
            if sys.stdout is None:
                raise OSError(text("cli.closed"))
            sys.stdout.write(written)
            sys.stdout.flush()
        except BrokenPipeError:
            self._fail(_NOBODY_READS)
        except OSError as error:
            self.say(text("cli.unwritable", cause=error.strerror or error))
            self._fail(_UNWRITABLE)

    def line(self, written: str) -> None:
        """A line to stdout."""
        self.write(f"{written}\n")

    def json(self, written: str) -> None:
        """A line of JSON to stdout, in UTF-8 whatever the locale (RFC 8259)."""
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
            sys.stdout.reconfigure(encoding="utf-8")
        self.line(written)

    def show(self, written: str) -> None:
        """To stderr, at once."""
        with suppress(OSError):
            if sys.stderr is not None:
                sys.stderr.write(written)
                sys.stderr.flush()
            return
        _discard(sys.stderr)

    def say(self, line: str) -> None:
        """A line to stderr."""
        self.show(f"{line}\n")

    def _fail(self, code: int) -> None:
        self.failure = code
        _discard(sys.stdout)
        if self.on_failure is not None:
            self.on_failure(code)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person is at the other end."""
    return stream is not None and stream.isatty()


def piped() -> str:
    """What is piped into stdin, whole; nothing where a person sits at it, or nobody.

    Raises:
        UsageError: it cannot be read.
    """
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    try:
        data = sys.stdin.buffer.read()
    except OSError as error:
        raise UsageError(text("cli.unreadable", cause=error.strerror or error)) from error
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _fill_closed() -> None:
    """Put something behind closed standard descriptors: no other file may get their numbers."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _discard(stream: TextIO | None) -> None:
    """Nothing more goes to `stream`, not even what it holds when the interpreter ends."""
    if stream is None:
        return
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
