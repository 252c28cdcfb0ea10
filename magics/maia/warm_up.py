"""Imports what the first prompt needs before it comes, one module at a time, while the shell is idle.

An import holds Python's lock for long stretches, so none is begun while a cell runs.
"""

import asyncio
import concurrent.futures
import contextlib
import importlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from maia_kernel.errors import EngineStopped, MaiaError

if TYPE_CHECKING:
    from maia.extension import Extension

_QUIET: Final = 0.5
"""Seconds without a cell before an import begins."""
_SDKS: Final = {"anthropic": "anthropic", "openai": "openai", "local": "openai"}
"""What adapters import at their first request. Other providers wait for it."""


class WarmUp:
    """The one warm-up of an extension; `stop` leaves the rest to the first prompt."""

    def __init__(self, extension: "Extension") -> None:
        self._extension = extension
        self._shell: Any = extension.shell
        self._kernel: Any = getattr(extension.shell, "kernel", None)
        self._busy = False
        self._idle_since = time.monotonic()
        self._work: concurrent.futures.Future[None] | None = None
        self._callbacks = {"pre_run_cell": self._begun, "post_run_cell": self._ended}

    def start(self) -> None:
        """Begin when the cell that loaded the extension has ended."""
        self._busy = _in_cell(self._kernel)
        for event, callback in self._callbacks.items():
            self._shell.events.register(event, callback)
        with contextlib.suppress(EngineStopped):
            self._work = self._extension.engine.submit(self._warm_up())

    def stop(self) -> None:
        """Begin no further import."""
        if self._work is not None:
            self._work.cancel()
        for event, callback in self._callbacks.items():
            with contextlib.suppress(ValueError):
                self._shell.events.unregister(event, callback)

    def _begun(self, info: object) -> None:
        self._busy = True

    def _ended(self, result: object) -> None:
        self._busy = False
        self._idle_since = time.monotonic()

    async def _warm_up(self) -> None:
        for name in self._modules():
            # Two floats that another thread writes: an event would need a lock in every cell.
            while self._busy or time.monotonic() - self._idle_since < _QUIET:  # noqa: ASYNC110
                await asyncio.sleep(_QUIET / 5)
            # What cannot be imported is reported by the prompt that needs it.
            with contextlib.suppress(ImportError, MaiaError):
                await imported(name)
        with contextlib.suppress(ImportError, MaiaError):
            await self._extension.app.agent()

    def _modules(self) -> Iterator[str]:
        yield from (
            "maia.app",
            "maia.commands",
            "pydantic",
            "maia_kernel.tools.base",
            "maia_kernel.agent",
        )
        if self._kernel is not None:
            yield from ("ipywidgets", "anywidget", "maia_widgets.panel")
        yield "maia_widgets.turn"
        provider = (self._extension.settings.model or "").partition(":")[0]
        if provider in _SDKS:
            yield from ("httpx2", _SDKS[provider])


async def imported(name: str) -> None:
    """Import a module in a thread: the loop stays free for an interrupt, which an import may outlast.

    Raises:
        ImportError: it is not there.
    """
    if name not in sys.modules:
        await asyncio.to_thread(importlib.import_module, name)


def _in_cell(kernel: Any) -> bool:
    """Whether a cell runs now, as against a kernel that is starting with `--ext=maia`."""
    if kernel is None:
        return False
    try:
        parent = kernel.get_parent("shell")
    except (AttributeError, LookupError, TypeError):
        return False
    return (parent.get("header") or {}).get("msg_type") == "execute_request"
