"""Small stand-ins for weights: a hub that can misbehave, and wheels that carry slices of a file."""

import hashlib
import threading
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from maia_kernel.localmodel.catalogue import LocalModel, Part

WEIGHTS = b"GGUF" + bytes(range(256)) * 2000


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def model(
    name: str = "tiny",
    *,
    hub: str | None = None,
    parts: tuple[Part, ...] = (),
    data: bytes = WEIGHTS,
    size: int | None = None,
) -> LocalModel:
    """A model whose weights are `data`."""
    return LocalModel(
        name=name,
        title=f"{name} for tests",
        file=f"{name}.gguf",
        size=len(data) if size is None else size,
        sha256=sha256(data),
        licence="Apache-2.0",
        publisher="Example Research",
        context=8192,
        hub=hub,
        parts=parts,
    )


class Hub:
    """A file server: counts requests, and can cut answers, ignore ranges, refuse or lie."""

    def __init__(self, data: bytes = WEIGHTS) -> None:
        self.data = data
        self.ranges = True
        self.status = 200
        self.cuts: list[int] = []  # bytes after which each of the next answers breaks off
        self.gate: threading.Event | None = None  # answers wait for it after their first half
        self.asked: list[str] = []  # the Range header of each request, "" without
        self.url = ""


class _Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self) -> None:
        hub = self.hub
        wanted = self.headers.get("Range", "")
        hub.asked.append(wanted)
        if hub.status != 200:
            self.send_error(hub.status)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and hub.ranges else 0
        body = hub.data[start:]
        self.send_response(206 if start else 200)
        if start:
            total = len(hub.data)
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if hub.cuts:
            self.wfile.write(body[: hub.cuts.pop(0)])
            self.close_connection = True
            return
        half = len(body) // 2
        self.wfile.write(body[:half])
        if hub.gate is not None:
            self.wfile.flush()
            hub.gate.wait(20)
        self.wfile.write(body[half:])

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """`hub` on a loopback port for the length of the block."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}/{'tiny'}.gguf"
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def wheels(folder: Path, data: bytes = WEIGHTS, count: int = 2) -> tuple[Part, ...]:
    """Real wheels in `folder`, whose slices add up to `data`; importing one would leave a trace."""
    folder.mkdir(parents=True, exist_ok=True)
    step = -(-len(data) // count)
    return tuple(
        _wheel(folder, number, data[(number - 1) * step : number * step])
        for number in range(1, count + 1)
    )


def _wheel(folder: Path, number: int, piece: bytes) -> Part:
    package = f"tiny_weights_part{number}"
    info = f"{package}-1.0.dist-info"
    trace = folder / "imported"
    files = {
        f"{package}/__init__.py": f"open({str(trace)!r}, 'w').close()\n".encode(),
        f"{package}/data/part{number:02d}.bin": piece,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-weights-part{number}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]).encode()
    path = folder / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return Part(
        wheel=f"tiny-weights-part{number}==1.0",
        sha256=sha256(path.read_bytes()),
        file=f"{package}/data/part{number:02d}.bin",
    )


def _digest(data: bytes) -> str:
    return urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
