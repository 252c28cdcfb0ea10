"""A real kernel whose cells and iopub messages are timed and weighed."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

_SILENCE = 60.0  # seconds without any message after which a cell counts as stuck


@dataclass(frozen=True, slots=True)
class Message:
    """One iopub message: when it came (`monotonic` seconds) and its bytes on the wire."""

    at: float
    size: int
    kind: str
    content: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The text that it shows, if it shows any."""
        if self.kind == "stream":
            return str(self.content["text"])
        return str(self.content.get("data", {}).get("text/plain", ""))


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell did, from `sent` to `done` (idle again); `monotonic` seconds."""

    sent: float
    done: float
    messages: tuple[Message, ...]

    @property
    def seconds(self) -> float:
        """From sent to idle."""
        return self.done - self.sent

    @property
    def output(self) -> str:
        """All text that was shown, in order."""
        return "".join(message.text for message in self.messages)

    def shown_at(self, needle: str) -> float:
        """When `needle` was first on the screen.

        Raises:
            AssertionError: it never was.
        """
        for message in self.messages:
            if needle in message.text:
                return message.at
        raise AssertionError(f"{needle!r} was not shown; the cell said: {self.output!r}")


class Kernel:
    """A kernel that runs; `started` is the time from the start of its process to its first answer."""

    def __init__(self, client: BlockingKernelClient, started: float) -> None:
        self._client = client
        self.started = started

    def run(self, code: str) -> Cell:
        """Run a cell to its end.

        Raises:
            RuntimeError: the cell failed, or the kernel fell silent.
        """
        client = self._client
        sent = time.monotonic()
        request = client.execute(code, allow_stdin=False)
        messages: list[Message] = []
        while True:
            message, parent = self._next()
            if parent != request:
                continue
            if message.kind == "error":
                raise RuntimeError("\n".join(message.content["traceback"]))
            if message.kind == "status" and message.content["execution_state"] == "idle":
                return Cell(sent, message.at, tuple(messages))
            messages.append(message)

    def _next(self) -> tuple[Message, str]:
        socket = self._client.iopub_channel.socket
        if not socket.poll(_SILENCE * 1000):
            raise RuntimeError(f"the kernel said nothing for {_SILENCE:.0f} s")
        frames = socket.recv_multipart()
        at = time.monotonic()
        session = self._client.session
        _, parts = session.feed_identities(frames)
        found = session.deserialize(parts)
        message = Message(at, sum(map(len, frames)), found["msg_type"], found["content"])
        return message, found["parent_header"].get("msg_id", "")


@contextlib.contextmanager
def kernel(folder: Path, *, name: str = "python3", **environ: str) -> Iterator[Kernel]:
    """A kernel in `folder`, which is its home too, so that nobody's settings count."""
    manager = KernelManager(kernel_name=name)
    before = time.monotonic()
    manager.start_kernel(
        cwd=str(folder), env={**_neutral_environ(), "HOME": str(folder), **environ}
    )
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=_SILENCE)
        yield Kernel(client, time.monotonic() - before)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


def _neutral_environ() -> dict[str, str]:
    # Installed packages have their bytecode: a shell that forbids writing it would measure the compiler.
    ours = ("MAIA_", "ANTHROPIC_", "OPENAI_", "CLAUDE_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
