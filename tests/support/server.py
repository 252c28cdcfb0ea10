"""A model server on 127.0.0.1 that plays what a test tells it, in the Messages or the chat dialect.

    with ModelServer() as server:
        server.reply(thinking("hm"), text("Hi", pieces=5), tool_use("Read", {"file_path": "a"}))
        ...                      # base URL for Anthropic: server.url, for OpenAI: server.openai_url
        assert server.requests[0].json["model"] == "m"

Each `reply`, `anthropic`, `openai`, `sse`, `raw` and `error` is the answer to one POST, in order; a
POST too many is answered with status 500 and remembered in `unexpected`. `always` answers every one.
`reply` speaks the dialect of the path that was asked. It is also a program of its own:

    python tests/support/server.py --port 0 --reply "Hello" --chunks 10 --seconds 1

prints its address in one line and answers until it is ended; GET /requests tells what it was sent.
"""

import argparse
import contextlib
import itertools
import json
import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Dialect = Literal["anthropic", "openai"]


# What an answer is made of.


@dataclass(frozen=True)
class Text:
    text: str
    pieces: int = 1
    seconds: float = 0.0


@dataclass(frozen=True)
class Thinking:
    text: str
    signature: str = "signed"
    pieces: int = 1


@dataclass(frozen=True)
class Redacted:
    data: str


@dataclass(frozen=True)
class ToolUse:
    name: str
    input: Mapping[str, Any] | str  # a string is sent as it is, JSON or not
    id: str = ""
    pieces: int = 2


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Cut:
    """The connection ends here; `reset` as a crashed server's does."""

    reset: bool = False


Item = Text | Thinking | Redacted | ToolUse | Pause | Cut
Record = Mapping[str, Any] | str | Pause | Cut

text, thinking, redacted, tool_use, pause, cut = Text, Thinking, Redacted, ToolUse, Pause, Cut


@dataclass(frozen=True)
class Answer:
    """One HTTP answer: `records` are events, else `body` is sent whole."""

    items: tuple[Item, ...] = ()
    dialect: Dialect | None = None
    stop: str = ""
    usage: Mapping[str, Any] | None = None
    records: tuple[Record, ...] | None = None
    body: bytes | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass(frozen=True)
class Recorded:
    """A request that came; `at` is `time.monotonic()`, header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    json: Any
    at: float


class _Closed(Exception):
    """The client went away."""


class ModelServer:
    """Starts on entering (or `start`), ends on leaving (or `close`)."""

    stream_type = "text/event-stream"

    def __init__(self, *, port: int = 0) -> None:
        self.requests: list[Recorded] = []
        self.unexpected: list[Recorded] = []
        self.models: list[dict[str, Any]] = [{"id": "model-one"}, {"id": "model-two"}]
        self.client_left = threading.Event()  # a client closed its connection during an answer
        self._answers: list[Answer] = []
        self._always: Answer | None = None
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._http = _HttpServer(("127.0.0.1", port), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def reply(self, *items: Item | str, **settings: Any) -> None:
        """The answer to one POST, in the dialect it asks for. Settings: fields of `Answer`."""
        parts = tuple(Text(item) if isinstance(item, str) else item for item in items)
        self._answers.append(Answer(parts, **settings))

    def anthropic(self, *items: Item | str, **settings: Any) -> None:
        self.reply(*items, dialect="anthropic", **settings)

    def openai(self, *items: Item | str, **settings: Any) -> None:
        self.reply(*items, dialect="openai", **settings)

    def sse(self, *records: Record, **settings: Any) -> None:
        """Events as given: a mapping as `data:` JSON (with its type as `event:`), a string raw."""
        self._answers.append(Answer(records=records, **settings))

    def raw(self, body: str | bytes, *, kind: str = "application/json", **settings: Any) -> None:
        data = body.encode() if isinstance(body, str) else body
        headers = {"content-type": kind, **settings.pop("headers", {})}
        self._answers.append(Answer(body=data, headers=headers, **settings))

    def html(self, title: str = "Sign in", **settings: Any) -> None:
        page = f"<!doctype html><html><head><title>{title}</title></head><body>Hi</body></html>"
        self.raw(page, kind="text/html; charset=utf-8", **settings)

    def error(
        self, status: int, message: str = "it failed", *, kind: str = "api_error", **settings: Any
    ) -> None:
        """An error body that both dialects read."""
        inner = {"type": kind, "message": message, "code": kind, "param": None}
        self.raw(json.dumps({"type": "error", "error": inner}), status=status, **settings)

    def always(self, *items: Item | str, **settings: Any) -> None:
        """Answer every POST that nothing else is scripted for."""
        parts = tuple(Text(item) if isinstance(item, str) else item for item in items)
        self._always = Answer(parts, **settings)

    def start(self) -> "ModelServer":
        self._thread.start()
        return self

    def close(self) -> None:
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()
        for connection in list(self._sockets):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> "ModelServer":
        return self.start()

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def answer(self, request: Recorded) -> Answer | None:
        """What is answered beside the script; None for what the script answers."""
        return None

    def records(self, answer: Answer) -> Iterator[Record] | None:
        """A scripted answer in a dialect of this server's own; None for the one of the path."""
        return None

    def _next(self, request: Recorded) -> Answer:
        aside = self.answer(request)
        if aside is not None:
            return aside
        with self._lock:
            self.requests.append(request)
            if self._answers:
                return self._answers.pop(0)
            if self._always is not None:
                return self._always
            self.unexpected.append(request)
        body = json.dumps(
            {"error": {"message": "the test scripted no answer", "type": "api_error"}}
        )
        return Answer(body=body.encode(), status=500)


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    owner: ModelServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def owner(self) -> ModelServer:
        assert isinstance(self.server, _HttpServer)
        return self.server.owner

    def setup(self) -> None:
        super().setup()
        self.owner._sockets.add(self.connection)

    def finish(self) -> None:
        self.owner._sockets.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def handle(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        request = self._recorded(None)
        aside = self.owner.answer(request)
        if aside is not None:
            self._play(aside)
        elif self.path == "/requests":
            self._send(200, json.dumps([asdict(seen) for seen in self.owner.requests]).encode())
        elif self.path.partition("?")[0].endswith("/models"):
            self.owner.requests.append(request)
            if self.owner._answers:  # a scripted error or page
                self._play(self.owner._answers.pop(0))
            else:
                self._send(200, json.dumps(_models(self.owner.models, self.path)).encode())
        else:
            self._send(404, b'{"error": {"message": "no such path", "type": "not_found_error"}}')

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        self._play(self.owner._next(self._recorded(self.rfile.read(length))))

    def _recorded(self, body: bytes | None) -> Recorded:
        headers = {name.lower(): value for name, value in self.headers.items()}
        data = json.loads(body) if body else None
        return Recorded(self.command, self.path, headers, data, time.monotonic())

    def _play(self, answer: Answer) -> None:
        try:
            self._wait(answer.delay)
            if answer.body is not None:
                self._send(answer.status, answer.body, answer.headers)
            else:
                self._stream(answer)
        except (_Closed, BrokenPipeError, ConnectionResetError):
            self.owner.client_left.set()
            self.close_connection = True

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] = {}) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer: Answer) -> None:
        dialect = answer.dialect or ("anthropic" if "/messages" in self.path else "openai")
        self.send_response(answer.status)
        for name, value in {"content-type": self.owner.stream_type, **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        own = self.owner.records(answer) if answer.records is None else None
        for record in _records(answer, dialect) if own is None else own:
            if isinstance(record, Cut):
                self._cut(record.reset)
                return
            if isinstance(record, Pause):
                self._wait(record.seconds)
            else:
                self._chunk(_encoded(record))
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _cut(self, reset: bool) -> None:
        self.close_connection = True
        if reset:
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            os.close(self.connection.detach())
        else:
            self.connection.shutdown(socket.SHUT_RDWR)

    def _wait(self, seconds: float) -> None:
        """Sleep, but notice a client that leaves."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.5))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise _Closed


def _records(answer: Answer, dialect: Dialect) -> Iterator[Record]:
    if answer.records is not None:
        yield from answer.records
    elif dialect == "anthropic":
        yield from _anthropic(answer)
    else:
        yield from _openai(answer)


def _encoded(record: Mapping[str, Any] | str) -> bytes:
    if isinstance(record, str):
        return record.encode()
    data = json.dumps(record, ensure_ascii=False)
    name = f"event: {record['type']}\n" if "type" in record else ""
    return f"{name}data: {data}\n\n".encode()


# The Messages dialect: platform.claude.com/docs/en/build-with-claude/streaming


def _anthropic(answer: Answer) -> Iterator[Record]:
    usage = {"input_tokens": 10, "output_tokens": 5, **(answer.usage or {})}
    start = {key: value for key, value in usage.items() if key != "output_tokens_details"}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "model-one",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**start, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": message}
    yield {"type": "ping"}
    index = 0
    for item in answer.items:
        if isinstance(item, Pause | Cut):
            yield item
            continue
        yield from _anthropic_block(index, item)
        index += 1
    called = any(isinstance(item, ToolUse) for item in answer.items)
    reason = answer.stop or ("tool_use" if called else "end_turn")
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _anthropic_block(index: int, item: Text | Thinking | Redacted | ToolUse) -> Iterator[Record]:
    def delta(kind: str, key: str, value: str) -> dict[str, Any]:
        data = {"type": kind, key: value}
        return {"type": "content_block_delta", "index": index, "delta": data}

    def start(**block: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    match item:
        case Text():
            yield start(type="text", text="")
            yield from _paced(item, lambda piece: delta("text_delta", "text", piece))
        case Thinking():
            yield start(type="thinking", thinking="", signature="")
            for piece in pieces_of(item.text, item.pieces):
                yield delta("thinking_delta", "thinking", piece)
            yield delta("signature_delta", "signature", item.signature)
        case Redacted():
            yield start(type="redacted_thinking", data=item.data)
        case ToolUse():
            yield start(type="tool_use", id=_id(item, index), name=item.name, input={})
            yield delta("input_json_delta", "partial_json", "")
            for piece in pieces_of(_json(item), item.pieces):
                yield delta("input_json_delta", "partial_json", piece)
    yield {"type": "content_block_stop", "index": index}


# The chat dialect: platform.openai.com/docs/api-reference/chat-streaming


def _openai(answer: Answer) -> Iterator[Record]:
    yield _chunk({"role": "assistant", "content": None})
    calls = 0
    for item in answer.items:
        match item:
            case Pause() | Cut():
                yield item
            case Text():
                yield from _paced(item, lambda piece: _chunk({"content": piece}))
            case Thinking():
                for piece in pieces_of(item.text, item.pieces):
                    yield _chunk({"reasoning_content": piece})
            case Redacted():
                pass
            case ToolUse():
                yield from _openai_call(calls, item)
                calls += 1
    yield _chunk({}, finish_reason=answer.stop or ("tool_calls" if calls else "stop"))
    usage = answer.usage or {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    yield {"object": "chat.completion.chunk", "choices": [], "usage": dict(usage)}
    yield "data: [DONE]\n\n"


def _openai_call(index: int, item: ToolUse) -> Iterator[Record]:
    function = {"name": item.name, "arguments": ""}
    first = {"index": index, "id": _id(item, index), "type": "function", "function": function}
    yield _chunk({"tool_calls": [first]})
    for piece in pieces_of(_json(item), item.pieces):
        yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def _chunk(delta: Mapping[str, Any], *, finish_reason: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "model-one",
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish_reason}],
    }


def _paced(item: Text, record: Any) -> Iterator[Record]:
    pieces = pieces_of(item.text, item.pieces)
    for number, piece in enumerate(pieces):
        if number and item.seconds:
            yield Pause(item.seconds / len(pieces))
        yield record(piece)


def pieces_of(whole: str, count: int) -> list[str]:
    count = max(1, min(count, len(whole)))
    cuts = [len(whole) * number // count for number in range(count + 1)]
    return [whole[start:end] for start, end in itertools.pairwise(cuts)]


def _json(item: ToolUse) -> str:
    return item.input if isinstance(item.input, str) else json.dumps(item.input)


def _id(item: ToolUse, index: int) -> str:
    return item.id or f"call_{index + 1}"


def _models(models: list[dict[str, Any]], path: str) -> dict[str, Any]:
    """Both dialects at once; pages as Anthropic's do, two a page when asked to continue."""
    rows = [
        {"type": "model", "object": "model", "created_at": "2026-01-01T00:00:00Z", **row}
        for row in models
    ]
    after = path.partition("after_id=")[2].partition("&")[0]
    start = next((n + 1 for n, row in enumerate(rows) if row["id"] == after), 0)
    page = rows[start : start + 2] if "limit=" in path else rows[start:]
    return {
        "object": "list",
        "data": page,
        "has_more": start + len(page) < len(rows),
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
    }


def main() -> None:
    """Serve one answer to everybody until ended."""
    parser = argparse.ArgumentParser(description="a scripted model server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--reply", default="Hello from the scripted server.")
    parser.add_argument("--size", type=int, default=0, help="repeat the reply to so many bytes")
    parser.add_argument("--chunks", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.0)
    options = parser.parse_args()
    reply = options.reply
    if options.size:
        reply = (reply * (options.size // max(1, len(reply)) + 1))[: options.size]
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with ModelServer(port=options.port) as server:
        server.always(Text(reply, options.chunks, options.seconds))
        print(server.url, flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
