"""Chat completion chunks of any server as neutral chunks.

Written against what servers send rather than what the API says: every level may be null or missing,
calls come without ids or with one index for all, arguments as objects, reasoning under several names
or between tags. Sources of each case: the public reports on Ollama, llama.cpp, vLLM, SGLang, TGI.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
from maia_kernel.providers.reply import parse_input
from maia_kernel.providers.wire.think_tags import ThinkTags
from maia_kernel.usage import Usage

_REFUSALS = ("content_filter", "safety", "refusal")


@dataclass(slots=True)
class _Call:
    """One tool call; `index` is the server's, `block` ours. It opens when its name is known."""

    index: Any
    id: str
    block: int
    name: str = ""
    arguments: str = ""
    opened: bool = False
    finished: bool = False

    @property
    def whole(self) -> bool:
        """Whether the arguments are a complete object, to which nothing can be added."""
        return bool(self.arguments.strip()) and parse_input(self.arguments) is not None


class ChatReply:
    """Feed it chunks (or a whole completion) in order, then `finish` it once.

    `finish_reason` is the server's word, None until it came; `usage` None where it reported nothing;
    `said` is everything the model wrote, for an estimate.
    """

    def __init__(self, *, thinking_opened: bool = False) -> None:
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.said: list[str] = []
        self._tags = ThinkTags(opened=thinking_opened)
        self._calls: list[_Call] = []
        self._blocks = 0
        self._open: tuple[Literal["text", "thinking"], int] | None = None
        self._refused = False

    def feed(self, data: Mapping[str, Any]) -> Iterator[Chunk]:
        """The neutral chunks of one chunk."""
        self.usage = _usage(data.get("usage")) or self.usage
        choice = _first(data.get("choices"))
        reason = choice.get("finish_reason")
        if reason:
            self.finish_reason = str(reason)
        delta = _mapping(choice.get("delta")) or _mapping(choice.get("message"))
        reasoning = _reasoning(delta)
        if reasoning:
            self._tags.opened = False  # the server tells reasoning apart itself
            yield from self._say("thinking", reasoning)
        thought, content = _content(delta.get("content"))
        if thought:
            yield from self._say("thinking", thought)
        for kind, piece in self._tags.feed(content) if content else ():
            yield from self._say(kind, piece)
        if refusal := delta.get("refusal"):
            self._refused = True
            yield from self._say("text", str(refusal))
        yield from self._take_calls(delta)

    def finish(self) -> Iterator[Chunk]:
        """What was held back, and the end of every open block."""
        for kind, piece in self._tags.finish():
            yield from self._say(kind, piece)
        yield from self._close_open()
        for call in self._calls:
            yield from self._close(call)

    @property
    def opened_in_prompt(self) -> bool:
        """Whether the text shows that this model's answers begin inside a `<think>` block."""
        said = "".join(self.said)
        return "</think>" in said and "<think>" not in said

    @property
    def stop(self) -> StopReason:
        """The neutral reason; calls that came count more than a word such as `stop`."""
        word = (self.finish_reason or "").lower()
        if "length" in word or "max_" in word or word == "token_limit":
            return "max_tokens"
        if self._refused or word in _REFUSALS:
            return "refusal"
        return "tool_use" if self._calls else "end_turn"

    def _say(self, kind: Literal["text", "thinking"], piece: str) -> Iterator[Chunk]:
        if self._open is None or self._open[0] != kind:
            if not piece.strip() and (kind == "thinking" or self._calls):
                return  # white space between calls opens no block
            yield from self._close_open()
            self._open = (kind, self._next_block())
        self.said.append(piece)
        index = self._open[1]
        yield TextChunk(index, piece) if kind == "text" else ThinkingChunk(index, piece)

    def _close_open(self) -> Iterator[Chunk]:
        if self._open is not None:
            yield BlockFinished(self._open[1])
            self._open = None

    def _next_block(self) -> int:
        self._blocks += 1
        return self._blocks - 1

    def _take_calls(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        deltas = delta.get("tool_calls") or ()
        if isinstance(deltas, Mapping):
            deltas = (deltas,)
        old = _mapping(delta.get("function_call"))
        # Some servers send the older field beside the new one, with the same call.
        if not deltas and old and not any(call.index != "function_call" for call in self._calls):
            deltas = ({"index": "function_call", "function": old},)
        for part in deltas:
            if isinstance(part, Mapping):
                yield from self._take_call(part)

    def _take_call(self, part: Mapping[str, Any]) -> Iterator[Chunk]:
        function = _mapping(part.get("function"))
        index, name = part.get("index"), str(function.get("name") or "")
        call = self._find(index, str(part.get("id") or ""), name)
        if call is None:
            yield from self._close_open()
            for earlier in self._calls:
                if earlier.whole:
                    yield from self._close(earlier)
            call = _Call(
                index, str(part.get("id") or f"call_{uuid.uuid4().hex}"), self._next_block()
            )
            self._calls.append(call)
        call.name = call.name or name
        yield from self._grow(call, function.get("arguments"))

    def _find(self, index: Any, id: str, name: str) -> _Call | None:
        """The call that a delta goes on with; None when it begins a new one."""
        known = [call for call in self._calls if id and call.id == id]
        if known:
            return known[-1]
        same = [call for call in self._calls if index is None or call.index == index]
        if not same:
            return None
        call = same[-1]
        begins = bool(name) and (bool(id) or call.whole)
        return None if begins else call

    def _grow(self, call: _Call, arguments: Any) -> Iterator[Chunk]:
        if isinstance(arguments, Mapping | list):
            piece = "" if call.arguments else json.dumps(arguments, ensure_ascii=False)
        else:
            piece = str(arguments or "")
        if call.finished:
            return
        call.arguments += piece
        if call.opened:
            if piece:
                yield ToolInputChunk(call.block, piece)
        elif call.name:
            yield from self._open_call(call)
        self.said.append(piece)

    def _open_call(self, call: _Call) -> Iterator[Chunk]:
        call.opened = True
        yield ToolUseStarted(call.block, call.id, call.name)
        if call.arguments:
            yield ToolInputChunk(call.block, call.arguments)

    def _close(self, call: _Call) -> Iterator[Chunk]:
        if not call.finished:
            call.finished = True
            if not call.opened:
                yield from self._open_call(call)
            yield BlockFinished(call.block)


def _usage(data: Any) -> Usage | None:
    if not isinstance(data, Mapping) or not data.get("prompt_tokens"):
        return None
    details = _mapping(data.get("prompt_tokens_details"))
    read, written = _count(details, "cached_tokens"), _count(details, "cache_write_tokens")
    return Usage(
        input_tokens=max(0, _count(data, "prompt_tokens") - read - written),
        output_tokens=_count(data, "completion_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        thinking_tokens=_count(_mapping(data.get("completion_tokens_details")), "reasoning_tokens"),
    )


def _reasoning(delta: Mapping[str, Any]) -> str:
    for name in ("reasoning_content", "reasoning"):
        if isinstance(delta.get(name), str) and delta[name]:
            return str(delta[name])
    details = delta.get("reasoning_details")
    return _texts(details, ("text", "summary")) if isinstance(details, list) else ""


def _content(content: Any) -> tuple[str, str]:
    """Reasoning and text of a delta's content, which is a string, null or a list of parts."""
    if not isinstance(content, list):
        return "", str(content or "")
    thinking = [part.get("thinking") for part in content if isinstance(part, Mapping)]
    thought = "".join(
        _texts(part, ("text",)) if isinstance(part, list) else str(part or "") for part in thinking
    )
    return thought, _texts(content, ("text",))


def _texts(parts: list[Any], names: tuple[str, ...]) -> str:
    found = [
        part if isinstance(part, str) else next((part[n] for n in names if part.get(n)), "")
        for part in parts
        if isinstance(part, str | Mapping)
    ]
    return "".join(str(piece) for piece in found)


def _first(choices: Any) -> Mapping[str, Any]:
    return _mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name)
    return int(value) if isinstance(value, int | float) else 0
