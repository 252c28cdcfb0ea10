"""Questions on the terminal."""

import asyncio
import os
import sys

from maia_kernel.cli.streams import Streams, is_terminal
from maia_kernel.plain import choice_prompt, permission_prompt, read_choice, read_permission
from maia_kernel.questions import (
    Answer,
    ChoiceAnswer,
    PermissionAnswer,
    PermissionQuestion,
    Question,
)


class Terminal:
    """Asks the person at the terminal; denies where there is none, or when it closes."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    async def __call__(self, question: Question, /) -> Answer:
        """As `ports.Ask`."""
        while is_terminal(sys.stdin) and is_terminal(sys.stderr):
            self._streams.show(_prompt_of(question))
            line = await _read_line(sys.stdin.fileno())
            if line is None:
                break
            answer = _read_answer(line, question)
            if answer is not None:
                return answer
        if isinstance(question, PermissionQuestion):
            return PermissionAnswer("deny", by="nobody")
        return ChoiceAnswer(None, "nobody")


def _prompt_of(question: Question) -> str:
    if isinstance(question, PermissionQuestion):
        return permission_prompt(question)
    return choice_prompt(question)


def _read_answer(line: str, question: Question) -> Answer | None:
    if isinstance(question, PermissionQuestion):
        return read_permission(line, question)
    return read_choice(line, question)


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
