"""Questions on the terminal."""

import asyncio
import os
import sys
from pathlib import Path

from maia_kernel.cli.streams import Streams, is_terminal
from maia_kernel.dialogue import ask_typed
from maia_kernel.questions import Answer, Question, unanswered


class Terminal:
    """Asks the person at the terminal; nobody answers where there is none, or when it closes."""

    def __init__(self, streams: Streams, cwd: Path) -> None:
        self._streams = streams
        self._cwd = cwd

    @property
    def present(self) -> bool:
        """True when there is a terminal to ask at."""
        return is_terminal(sys.stdin) and is_terminal(sys.stderr)

    async def __call__(self, question: Question, /) -> Answer:
        """As `ports.Ask`."""
        if not self.present:
            return unanswered(question)
        return await ask_typed(question, read=self._read, write=self._streams.show, cwd=self._cwd)

    async def _read(self, prompt: str) -> str:
        """A line typed.

        Raises:
            EOFError: there is no terminal, or it has closed.
        """
        if self.present:
            self._streams.show(prompt)
            line = await _read_line(sys.stdin.fileno())
            if line is not None:
                return line
        raise EOFError


async def _read_line(descriptor: int) -> str | None:
    """A line typed, or None at the end. Not in a thread: Ctrl-C must not wait for Enter."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()

    def readable() -> None:
        if typed.done():
            return
        try:
            typed.set_result(os.read(descriptor, 65536))
        except OSError:  # the terminal is gone
            typed.set_result(b"")

    loop.add_reader(descriptor, readable)
    try:
        data = await typed
    finally:
        loop.remove_reader(descriptor)
    return data.decode("utf-8", "replace").rstrip("\r\n") if data else None
