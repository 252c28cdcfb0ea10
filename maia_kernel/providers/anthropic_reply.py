"""Events of the Messages API as neutral chunks (platform.claude.com/docs/en/build-with-claude/streaming).

The index of a block is the server's own. Unknown events, blocks and deltas are passed over, as the
API asks of its clients.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from maia_kernel.providers.base import (
    BlockFinished,
    Chunk,
    RedactedThinkingChunk,
    SignatureChunk,
    Stopped,
    StopReason,
    TextChunk,
    ThinkingChunk,
    ToolInputChunk,
    ToolUseStarted,
    UsageReported,
)
from maia_kernel.usage import Usage

_REASONS: Mapping[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause_turn",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_window_exceeded",
}


class MessagesReply:
    """Feed it events in order; `Stopped` comes out with `message_stop`, when `ended` turns true.

    `started` says that a message began.
    """

    def __init__(self) -> None:
        self.started = False
        self.ended = False
        self._called = False
        self._open: dict[int, str] = {}  # index -> type of the blocks that we know
        self._inputs: dict[int, Any] = {}  # inputs that came whole, with the start of their block
        self._usage: dict[str, Any] = {}
        self._reason = ""
        self._detail = ""

    def feed(self, data: Mapping[str, Any]) -> Iterator[Chunk]:
        """The neutral chunks of one event."""
        match data.get("type"):
            case "message_start":
                self.started = True
                yield from self._report(_mapping(_mapping(data.get("message")).get("usage")))
            case "content_block_start":
                yield from self._start(_index(data), _mapping(data.get("content_block")))
            case "content_block_delta":
                yield from self._delta(_index(data), _mapping(data.get("delta")))
            case "content_block_stop":
                yield from self._close(_index(data))
            case "message_delta":
                self._stop(_mapping(data.get("delta")))
                yield from self._report(_mapping(data.get("usage")))
            case "message_stop":
                self.ended = True
                for index in sorted(self._open):
                    yield from self._close(index)
                yield Stopped(self._neutral_reason(), self._detail or self._reason)

    def _start(self, index: int, block: Mapping[str, Any]) -> Iterator[Chunk]:
        kind = str(block.get("type", ""))
        match kind:
            case "text":
                yield TextChunk(index, str(block.get("text") or ""))
            case "thinking":
                yield ThinkingChunk(index, str(block.get("thinking") or ""))
                if block.get("signature"):
                    yield SignatureChunk(index, str(block["signature"]))
            case "redacted_thinking":
                yield RedactedThinkingChunk(index, str(block.get("data") or ""))
            case "tool_use":
                self._called = True
                self._inputs[index] = block.get("input")
                yield ToolUseStarted(
                    index, str(block.get("id") or ""), str(block.get("name") or "")
                )
            case _:
                return
        self._open[index] = kind

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        match self._open.get(index), delta.get("type"):
            case "text", "text_delta":
                yield TextChunk(index, str(delta.get("text") or ""))
            case "thinking", "thinking_delta":
                yield ThinkingChunk(index, str(delta.get("thinking") or ""))
            case "thinking", "signature_delta":
                yield SignatureChunk(index, str(delta.get("signature") or ""))
            case "tool_use", "input_json_delta":
                if piece := str(delta.get("partial_json") or ""):
                    self._inputs.pop(index, None)
                    yield ToolInputChunk(index, piece)

    def _close(self, index: int) -> Iterator[Chunk]:
        if self._open.pop(index, None) is None:
            return
        if whole := self._inputs.pop(index, None):
            yield ToolInputChunk(index, json.dumps(whole, ensure_ascii=False))
        yield BlockFinished(index)

    def _stop(self, delta: Mapping[str, Any]) -> None:
        if delta.get("stop_reason"):
            self._reason = str(delta["stop_reason"])
        details = _mapping(delta.get("stop_details"))
        said = [str(details[name]) for name in ("category", "explanation") if details.get(name)]
        self._detail = ": ".join(said) or self._detail

    def _neutral_reason(self) -> StopReason:
        reason = _REASONS.get(self._reason, "end_turn")
        return "tool_use" if self._called and reason == "end_turn" else reason

    def _report(self, usage: Mapping[str, Any]) -> Iterator[Chunk]:
        # Later numbers are totals and replace earlier ones; a null or missing one keeps what was said.
        self._usage.update({name: value for name, value in usage.items() if value is not None})
        if not self._usage:
            return
        details = _mapping(self._usage.get("output_tokens_details"))
        yield UsageReported(
            Usage(
                input_tokens=_count(self._usage, "input_tokens"),
                output_tokens=_count(self._usage, "output_tokens"),
                cache_read_tokens=_count(self._usage, "cache_read_input_tokens"),
                cache_write_tokens=_count(self._usage, "cache_creation_input_tokens"),
                thinking_tokens=_count(details, "thinking_tokens"),
            )
        )


def whole_message(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events that a message sent in one piece stands for."""
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(message.get("content") or ()):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": message}
    yield {"type": "message_stop"}


def _index(data: Mapping[str, Any]) -> int:
    return _count(data, "index")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name)
    return int(value) if isinstance(value, int | float) else 0
