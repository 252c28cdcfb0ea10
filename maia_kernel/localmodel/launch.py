"""Starting the server process of a local model and ending it."""

import asyncio
import importlib.util
import json
import os
import secrets
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from maia_kernel.errors import LocalModelError
from maia_kernel.localmodel.environment import child_environment
from maia_kernel.localmodel.memory import GIB, free_memory
from maia_kernel.localmodel.store import Installed
from maia_kernel.paths import shown
from maia_kernel.texts import text

START_SECONDS = 180.0
_STOP_SECONDS = 2.0
_LOG_BYTES = 1 << 20
_CONTEXT = 8192
_SMALL_CONTEXT = 4096


def is_runnable() -> bool:
    """Whether the extra `local` is installed; imports nothing."""
    return importlib.util.find_spec("xllamacpp") is not None


def context_for(entry: Installed, free: int | None = None) -> int:
    """Tokens of context to start `entry` with: 8192, or 4096 where memory is small.

    8192 tokens took twice the size of the weights and some more (measured: 2.1 GB for 1.1 GB).
    """
    room = free_memory() if free is None else free
    wanted = _CONTEXT if room >= 2 * entry.model.size + GIB else _SMALL_CONTEXT
    return min(wanted, entry.model.context)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A running server: OpenAI-compatible at `url`, open only to who has `key`."""

    process: asyncio.subprocess.Process
    url: str
    key: str
    log: Path

    @property
    def alive(self) -> bool:
        """Whether the process still runs, as far as is known."""
        return self.process.returncode is None

    async def died(self, seconds: float = 1.0) -> bool:
        """Whether the process has ended; waits a moment, for a death is known later than its effect."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), seconds)
        return not self.alive

    def how_it_ended(self) -> str:
        """A few words: the signal or the exit code."""
        code = self.process.returncode
        if code is None:
            return ""
        if code < 0:
            return text("localmodel.server.signal", signal=signal.Signals(-code).name)
        return text("localmodel.server.exit", code=code)

    async def stop(self) -> None:
        """End the process and its group; returns when it is gone."""
        await _end(self.process)


async def start_server(
    entry: Installed, *, context: int, log: Path, environ: Mapping[str, str]
) -> LocalServer:
    """Start the server of `entry` in a process group of its own; returns when it answers.

    The key is random and goes through the child's stdin, so no command line shows it. The child ends
    with this process, because its stdin does.

    Raises:
        LocalModelError: the extra is missing, or the server did not come up.
    """
    if not is_runnable():
        raise LocalModelError(text("localmodel.extra"))
    key = secrets.token_urlsafe(32)
    with _open_log(log) as errors:
        process = await asyncio.create_subprocess_exec(
            # -P: a json.py in the person's working folder must not be imported.
            *(sys.executable, "-P", "-m", "maia_kernel.localmodel.server"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env=child_environment(environ),
            start_new_session=True,
        )
    order = {
        "model": str(entry.path),
        "alias": entry.model.name,
        "key": key,
        "context": context,
        # One less than the cores: llama.cpp spins at barriers, and collapses on cores that are busy.
        # Measured with other work on the machine; also for reading the prompt.
        "threads": max(1, _cores() - 1),
    }
    try:
        async with asyncio.timeout(START_SECONDS):
            ready = await _handshake(process, order)
    except TimeoutError:
        await _end(process)
        raise LocalModelError(text("localmodel.server.slow", log=shown(log))) from None
    except BaseException:
        await _end(process)
        raise
    if "url" not in ready:
        await _end(process)
        reason = str(ready.get("error") or "?")
        raise LocalModelError(
            text("localmodel.server.failed", name=entry.model.name, reason=reason, log=shown(log))
        )
    return LocalServer(process, ready["url"], key, log)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 2


def _open_log(log: Path) -> BinaryIO:
    """The log, to append to; begun afresh when it has grown past 1 MiB."""
    log.parent.mkdir(parents=True, exist_ok=True)
    fresh = log.is_file() and log.stat().st_size > _LOG_BYTES
    return log.open("wb" if fresh else "ab")


async def _handshake(
    process: asyncio.subprocess.Process, order: Mapping[str, object]
) -> dict[str, str]:
    """Send the order, and read the one line the child answers with."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):
        process.stdin.write(json.dumps(order).encode() + b"\n")
        await process.stdin.drain()
    line = await process.stdout.readline()
    if not line:
        await process.wait()
        return {"error": text("localmodel.server.exit", code=process.returncode)}
    answer: dict[str, str] = json.loads(line)
    return answer


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
