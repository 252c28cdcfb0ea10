"""The chat dialect of Ollama's own API, as records that `tests.support.server` plays.

Source: github.com/ollama/ollama, docs/api.md. `Ollama` is a whole server: models, show, ps and pull
answered from `installed`, chats as they were scripted.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.server import (
    Answer,
    Cut,
    ModelServer,
    Pause,
    Record,
    Recorded,
    Redacted,
    Text,
    Thinking,
    ToolUse,
    pieces_of,
)

ABLE = ("completion", "tools", "vision", "thinking")


class Ollama(ModelServer):
    """`installed` maps a model's name to what `show` says of it; `given` is the context that `ps` tells.
    A scripted error or page answers a list, too.
    """

    stream_type = "application/x-ndjson"

    def __init__(self, *, port: int = 0) -> None:
        super().__init__(port=port)
        self.installed: dict[str, dict[str, Any]] = {
            name: shown() for name in ("model-one", "model-two")
        }
        self.given: int | None = None
        self.asked: list[Recorded] = []  # what is no chat

    def answer(self, request: Recorded) -> Answer | None:
        match request.path:
            case "/api/tags" if self._answers:
                return self._answers.pop(0)
            case "/api/tags":
                return self._aside(request, {"models": [_row(n) for n in self.installed]})
            case "/api/ps":
                rows = [{**_row(n), "context_length": self.given} for n in self.installed]
                return self._aside(request, {"models": rows if self.given else []})
            case "/api/show":
                name = request.json["model"]
                if name not in self.installed:
                    return self._aside(request, {"error": f"model '{name}' not found"}, 404)
                return self._aside(request, self.installed[name])
            case "/api/pull":
                return self._aside_lines(request, list(_pulled(request.json["model"])))
        return None

    def records(self, answer: Answer) -> Iterator[Record] | None:
        return map(_line, _chat(answer))

    def _aside(self, request: Recorded, body: Mapping[str, Any], status: int = 200) -> Answer:
        self.asked.append(request)
        headers = {"content-type": "application/json"}
        return Answer(body=json.dumps(body).encode(), status=status, headers=headers)

    def _aside_lines(self, request: Recorded, lines: list[dict[str, Any]]) -> Answer:
        self.asked.append(request)
        return Answer(records=tuple(map(_line, lines)))


def shown(*able: str, window: int = 131_072, architecture: str = "llama") -> dict[str, Any]:
    """What `POST /api/show` says of a model."""
    info = {"general.architecture": architecture, f"{architecture}.context_length": window}
    return {"capabilities": list(able or ABLE), "model_info": info, "details": {}}


def _row(name: str) -> dict[str, Any]:
    details = {"parameter_size": "8.0B", "quantization_level": "Q4_K_M", "family": "llama"}
    return {"name": name, "model": name, "size": 1, "digest": "0" * 64, "details": details}


def _pulled(name: str) -> Iterator[dict[str, Any]]:
    if name.startswith("no-"):
        yield {"error": "pull model manifest: file does not exist"}
        return
    yield {"status": "pulling manifest"}
    for done in (0, 500, 1000):
        yield {"status": "pulling abc", "digest": "sha256:abc", "total": 1000, "completed": done}
    yield {"status": "success"}


def _chat(answer: Answer) -> Iterator[Record]:
    calls = 0
    for item in answer.items:
        match item:
            case Pause() | Cut():
                yield item
            case Text():
                parts = pieces_of(item.text, item.pieces)
                for number, piece in enumerate(parts):
                    if number and item.seconds:
                        yield Pause(item.seconds / len(parts))
                    yield _said(content=piece)
            case Thinking():
                for piece in pieces_of(item.text, item.pieces):
                    yield _said(content="", thinking=piece)
            case Redacted():
                pass
            case ToolUse():
                calls += 1
                function = {"index": calls - 1, "name": item.name, "arguments": item.input}
                call = {**({"id": item.id} if item.id else {}), "function": function}
                yield _said(content="", tool_calls=[call])
    usage = answer.usage or {"prompt_eval_count": 10, "eval_count": 5}
    end = {"done": True, "done_reason": answer.stop or "stop", "total_duration": 1, **usage}
    yield {"model": "m", "created_at": TIME, "message": {"role": "assistant", "content": ""}, **end}


TIME = "2026-01-01T00:00:00Z"


def _said(**message: Any) -> dict[str, Any]:
    message = {"role": "assistant", **message}
    return {"model": "m", "created_at": TIME, "message": message, "done": False}


def _line(record: Record) -> Record:
    return f"{json.dumps(record)}\n" if isinstance(record, Mapping) else record
