"""A turn on a page that was loaded anew.

JupyterLab shows the outputs of a cell only in the page that ran it. A page that comes later gets the
panel's model: it is sent all outputs of the turn, then each change, and writes them into its notebook
itself. Until a page has saved the notebook with the end of the turn, the model is kept for it.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from maia_widgets.outputs import Bundle

Copy = Callable[[], Mapping[str, Bundle]]
"""Everything the cell shows now, in order, by display id."""

_SILENT: Final = 1.0
"""Seconds without a word after which a page that was asked is gone; one answers in 0.05 s."""


@dataclass(frozen=True, slots=True)
class Place:
    """The running cell: the client that ran it, its id in the notebook, its execution count."""

    client: str = ""
    cell: str = ""
    count: int = 0


def running_place() -> Place:
    """Where the cell that is running now is; empty outside of a notebook."""
    from IPython.core.interactiveshell import InteractiveShell  # imported where there is a shell

    if not InteractiveShell.initialized():
        return Place()
    shell = InteractiveShell.instance()
    kernel: Any = getattr(shell, "kernel", None)
    try:
        parent = kernel.get_parent("shell")
    except (AttributeError, LookupError, TypeError):
        return Place()
    header, metadata = parent.get("header") or {}, parent.get("metadata") or {}
    cell = str(metadata.get("cellId") or "")
    return Place(str(header.get("session", "")), cell, shell.execution_count)


class Pages:
    """Knows the pages that have the model, by what they say. Belongs to `loop`."""

    def __init__(
        self, send: Callable[[dict[str, Any]], None], place: Place, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._send = send
        self._place = place
        self._loop = loop
        self._copy: Copy | None = None
        self._known: set[str] = set()  # pages whose notebook shows the turn
        self._writer = ""
        self._check: asyncio.TimerHandle | None = None
        self._ended = False
        self.blind = False
        """True when a page that was loaded anew cannot write: the panel has to show the answer."""

    @property
    def kept(self) -> bool:
        """True when a page will say that it has saved the end."""
        return bool(self._known) and self._copy is not None

    def follow(self, copy: Copy) -> None:
        """`copy` gives what a new page is to show."""
        self._copy = copy

    def put(self, display_id: str, bundle: Bundle) -> None:
        """An output is new or has changed."""
        if self._writer:
            data = dict(bundle)
            self._send({"kind": "put", "client": self._writer, "id": display_id, "data": data})

    def end(self) -> None:
        """The turn is over, and all of it has been put."""
        self._ended = True
        self._send({"kind": "finish", "count": self._place.count})

    def take(self, content: Mapping[str, Any]) -> bool:
        """A page said something; True when no page needs the model any more."""
        client = str(content.get("client") or "")
        match content.get("kind"):
            case "ready" if client and client == self._place.client:
                self._known.add(client)
            case "ready" if client and self._place.client:
                # Another window of the notebook, or the only one that is left?
                self._stop_check()
                self._send({"kind": "who"})
                self._check = self._loop.call_later(_SILENT, self._restore, client)
            case "here" if client in self._known:
                self._stop_check()
            case "restored" if client == self._writer:
                self.blind = not content.get("done")
            case "seen":
                return client in self._known and not self.blind
        return False

    def _restore(self, client: str) -> None:
        self._check = None
        if self._copy is None:
            return
        self._writer, self._known, self.blind = client, {client}, False
        outputs = [{"id": key, "data": dict(bundle)} for key, bundle in self._copy().items()]
        self._send(
            {
                "kind": "restore",
                "client": client,
                "cell": self._place.cell,
                "outputs": outputs,
                "ended": self._ended,
                "count": self._place.count,
            }
        )

    def _stop_check(self) -> None:
        if self._check is not None:
            self._check.cancel()
            self._check = None
