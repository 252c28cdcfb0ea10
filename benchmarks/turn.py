"""What one turn adds to what the server takes: `%%maia` beside a cell that calls the vendor's SDK.

Both run in the same kernel against the same server on 127.0.0.1, one after the other.
"""

import http.client
import json
import tempfile
import time
from pathlib import Path

from benchmarks.kernel import Cell, Kernel, kernel
from benchmarks.report import Figure, median
from tests.support.server import ModelServer, Text

SERVER_SECONDS = 0.2
_ANSWER = "The first word comes at once, the last one after a while. " * 10

_MAIA = "%%maia --new\nTell me."
_SDK_FIRST = """
import anthropic
client = anthropic.Anthropic()
"""
_SDK = """
with client.messages.stream(
    model="model-one", max_tokens=1000, messages=[{"role": "user", "content": "Tell me."}]
) as answer:
    for piece in answer.text_stream:
        print(piece, end="", flush=True)
"""


def run(*, runs: int) -> list[Figure]:
    """The figures; medians over `runs` turns of a warm kernel, and the first one of a fresh kernel."""
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        server.always(Text(_ANSWER, pieces=20, seconds=SERVER_SECONDS))
        environ = {
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "sk-benchmark",
            "MAIA_MODEL": "anthropic:model-one",
        }
        with kernel(Path(folder), **environ) as fresh:
            first_sdk = fresh.run(_SDK_FIRST + _SDK)
        with kernel(Path(folder), **environ) as running:
            running.run("%load_ext maia")
            first_maia = running.run(_MAIA)
            running.run(_SDK_FIRST + _SDK)
            measured = [_compared(running, server) for _ in range(runs)]
    server_ms, sdk, maia = (list(column) for column in zip(*measured, strict=True))
    return _figures(median(server_ms), sdk, maia, first=(first_maia, first_sdk))


class _Timed:
    """A cell beside the request that it caused; all in ms."""

    def __init__(self, cell: Cell, received: float) -> None:
        self.total = cell.seconds * 1000
        self.until_request = (received - cell.sent) * 1000
        self.until_shown = (cell.shown_at("The first") - received) * 1000


def _compared(running: Kernel, server: ModelServer) -> tuple[float, _Timed, _Timed]:
    return _without_client(server), _timed(running, server, _SDK), _timed(running, server, _MAIA)


def _timed(running: Kernel, server: ModelServer, code: str) -> _Timed:
    seen = len(server.requests)
    cell = running.run(code)
    return _Timed(cell, server.requests[seen].at)


def _without_client(server: ModelServer) -> float:
    """Milliseconds from a bare request to the last byte of its answer."""
    host = server.url.removeprefix("http://")
    before = time.monotonic()
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("POST", "/v1/messages", json.dumps({}), {"content-type": "application/json"})
    connection.getresponse().read()
    connection.close()
    return (time.monotonic() - before) * 1000


def _figures(
    server: float, sdk: list[_Timed], maia: list[_Timed], *, first: tuple[Cell, Cell]
) -> list[Figure]:
    def both(name: str, field: str) -> Figure:
        value, beside = (median(getattr(timed, field) for timed in side) for side in (maia, sdk))
        return Figure(name, value, "ms", beside)

    total = both("turn: cell sent to cell done", "total")
    beside = (total.beside or 0.0) - server
    return [
        Figure("what the server takes", server, "ms"),
        total,
        Figure("added to what the server takes", total.value - server, "ms", beside, "< 50 ms"),
        both("cell sent to request received", "until_request"),
        both("request received to first text shown", "until_shown"),
        Figure(
            "first turn of a kernel, beside import and call",
            first[0].seconds * 1000,
            "ms",
            first[1].seconds * 1000,
        ),
    ]
