"""Folds the chunks of one reply into an assistant message: pure values, no provider, no I/O.

The input of a call is MAIA's own concatenation of its pieces, parsed strictly when its block is
finished: lenient parsers of SDKs drop keys of damaged JSON silently.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn, assert_never

from maia_kernel.messages import Block, Message, RedactedThinking, Text, Thinking, ToolUse
from maia_kernel.providers.base import (
    BlockFinished,
    Chunk,
    Noticed,
    RedactedThinkingChunk,
    SignatureChunk,
    Stopped,
    TextChunk,
    ThinkingChunk,
    ToolInputChunk,
    ToolUseStarted,
    UsageReported,
)
from maia_kernel.usage import Usage

_Kind = Literal["text", "thinking", "redacted_thinking", "tool_use"]
_BlockChunk = (
    TextChunk
    | ThinkingChunk
    | SignatureChunk
    | RedactedThinkingChunk
    | ToolUseStarted
    | ToolInputChunk
    | BlockFinished
)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A block that is still growing; `parts` joined are its text, reasoning, data or JSON."""

    kind: _Kind
    parts: tuple[str, ...] = ()
    signature: str = ""
    id: str = ""
    name: str = ""
    opaque: Mapping[str, Any] | None = None
    finished: Block | None = None


@dataclass(frozen=True, slots=True)
class ReplyState:
    """What has come of a reply so far. `stop` is None until the model is done."""

    usage: Usage = field(default_factory=Usage)
    stop: Stopped | None = None
    _drafts: Mapping[int, _Draft] = field(default_factory=dict)

    def finished(self, index: int) -> Block:
        """The complete block `index`; raises `KeyError` when it is unknown or still open."""
        block = self._drafts[index].finished
        if block is None:
            raise KeyError(index)
        return block

    def message(self) -> Message:
        """The assistant message of all complete blocks, in order of index; empty ones left out."""
        drafts = (self._drafts[index] for index in sorted(self._drafts))
        blocks = (draft.finished for draft in drafts)
        return Message("assistant", tuple(b for b in blocks if b is not None and _has_content(b)))


def fold(state: ReplyState, chunk: Chunk) -> ReplyState:
    """`state` after `chunk`.

    Raises:
        ValueError: input or a signature for a block that was never opened, or of another kind.
    """
    match chunk:
        case UsageReported(usage):
            return replace(state, usage=usage)
        case Stopped():
            return replace(state, stop=chunk)
        case Noticed():
            return state
        case _:
            draft = _grown(state._drafts.get(chunk.index), chunk)
            return replace(state, _drafts={**state._drafts, chunk.index: draft})


def _grown(draft: _Draft | None, chunk: _BlockChunk) -> _Draft:
    match chunk:
        case TextChunk():
            return _grow(draft, "text", chunk.text)
        case ThinkingChunk():
            return _grow(draft, "thinking", chunk.text)
        case SignatureChunk():
            return replace(_grow(draft, "thinking", ""), signature=chunk.signature)
        case RedactedThinkingChunk():
            return _grow(draft, "redacted_thinking", chunk.data)
        case ToolUseStarted():
            return _Draft("tool_use", id=chunk.id, name=chunk.name, opaque=chunk.opaque)
        case ToolInputChunk():
            if draft is None:
                raise ValueError(f"input for a call that was not opened (block {chunk.index})")
            return _grow(draft, "tool_use", chunk.partial_json)
        case BlockFinished():
            draft = draft or _Draft("text")
            return replace(draft, finished=_complete(draft))
        case _:
            assert_never(chunk)


def parse_input(raw: str) -> dict[str, Any] | None:
    """The JSON object of a call's input; an empty string is `{}`; None when it is not an object."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _complete(draft: _Draft) -> Block:
    joined = "".join(draft.parts)
    match draft.kind:
        case "text":
            return Text(joined)
        case "thinking":
            return Thinking(joined, draft.signature)
        case "redacted_thinking":
            return RedactedThinking(joined)
        case "tool_use":
            value = parse_input(joined)
            if value is None:
                return ToolUse(draft.id, draft.name, {}, joined, draft.opaque)
            return ToolUse(draft.id, draft.name, value, None, draft.opaque)
        case _:
            assert_never(draft.kind)


def _has_content(block: Block) -> bool:
    match block:
        case Text():
            return bool(block.text)
        case Thinking():
            return bool(block.text or block.signature)
        case _:
            return True


def _grow(draft: _Draft | None, kind: _Kind, piece: str) -> _Draft:
    draft = draft or _Draft(kind)
    if draft.kind != kind:
        raise ValueError(f"a {kind} piece for a {draft.kind} block")
    return replace(draft, parts=_push(draft.parts, piece))


def _push(parts: tuple[str, ...], piece: str) -> tuple[str, ...]:
    # Each part stays more than twice as long as the next, so that a long reply of small pieces costs
    # n log n and not n squared.
    while parts and len(parts[-1]) <= 2 * len(piece):
        parts, piece = parts[:-1], parts[-1] + piece
    return (*parts, piece) if piece else parts


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
