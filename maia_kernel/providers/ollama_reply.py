"""The lines of an answer of Ollama's chat API as neutral chunks."""

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from maia_kernel.providers.base import (
    BlockFinished,
    Chunk,
    StopReason,
    TextChunk,
    ThinkingChunk,
    ToolInputChunk,
    ToolUseStarted,
)
from maia_kernel.providers.wire.think_tags import ThinkTags
from maia_kernel.usage import Usage


class OllamaReply:
    """Feed it the lines in order, then `finish` it once. `done_reason` is None until the last line came;
    `usage` where the server counted; `said` is everything the model wrote, for an estimate.
    """

    def __init__(self) -> None:
        self.done_reason: str | None = None
        self.usage: Usage | None = None
        self.said: list[str] = []
        self._tags = ThinkTags()
        self._blocks = 0
        self._calls = 0
        self._open: tuple[Literal["text", "thinking"], int] | None = None

    def feed(self, data: Mapping[str, Any]) -> Iterator[Chunk]:
        """The neutral chunks of one line."""
        message = data.get("message")
        if isinstance(message, Mapping):
            if thought := str(message.get("thinking") or ""):
                yield from self._say("thinking", thought)
            if content := str(message.get("content") or ""):
                for kind, piece in self._tags.feed(content):
                    yield from self._say(kind, piece)
            for call in message.get("tool_calls") or ():
                if isinstance(call, Mapping):
                    yield from self._call(call)
        if data.get("done"):
            self.done_reason = str(data.get("done_reason") or "stop")
            self.usage = _usage(data)

    def finish(self) -> Iterator[Chunk]:
        """What was held back, and the end of the open block."""
        for kind, piece in self._tags.finish():
            yield from self._say(kind, piece)
        yield from self._close()

    @property
    def stop(self) -> StopReason:
        """The neutral reason; calls that came count more than the word `stop`."""
        if self.done_reason == "length":
            return "max_tokens"
        return "tool_use" if self._calls else "end_turn"

    def _say(self, kind: Literal["text", "thinking"], piece: str) -> Iterator[Chunk]:
        if self._open is None or self._open[0] != kind:
            if not piece.strip() and (kind == "thinking" or self._calls):
                return  # white space between calls opens no block
            yield from self._close()
            self._open = (kind, self._next())
        self.said.append(piece)
        index = self._open[1]
        yield TextChunk(index, piece) if kind == "text" else ThinkingChunk(index, piece)

    def _call(self, call: Mapping[str, Any]) -> Iterator[Chunk]:
        """A call comes whole; its arguments are an object, of some models a text."""
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        arguments = function.get("arguments")
        raw = (
            arguments
            if isinstance(arguments, str)
            else json.dumps(arguments or {}, ensure_ascii=False)
        )
        yield from self._close()
        index = self._next()
        self._calls += 1
        self.said.append(raw)
        id = str(call.get("id") or f"call_{uuid.uuid4().hex}")
        yield ToolUseStarted(index, id, str(function.get("name") or ""))
        yield ToolInputChunk(index, raw)
        yield BlockFinished(index)

    def _close(self) -> Iterator[Chunk]:
        if self._open is not None:
            yield BlockFinished(self._open[1])
            self._open = None

    def _next(self) -> int:
        self._blocks += 1
        return self._blocks - 1


def _usage(data: Mapping[str, Any]) -> Usage | None:
    """The counts of the last line; a prompt that was in the cache may be left out of them."""
    read, written = data.get("prompt_eval_count"), data.get("eval_count")
    if not isinstance(read, int) or not isinstance(written, int):
        return None
    return Usage(input_tokens=read, output_tokens=written)
