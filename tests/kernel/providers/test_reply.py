"""Chunks fold into an assistant message."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maia_kernel.messages import RedactedThinking, Text, Thinking, ToolUse
from maia_kernel.providers.base import (
    BlockFinished,
    Chunk,
    RedactedThinkingChunk,
    SignatureChunk,
    Stopped,
    TextChunk,
    ThinkingChunk,
    ToolInputChunk,
    ToolUseStarted,
    UsageReported,
)
from maia_kernel.providers.reply import ReplyState, fold
from maia_kernel.usage import Usage


def folded(*chunks: Chunk) -> ReplyState:
    state = ReplyState()
    for chunk in chunks:
        state = fold(state, chunk)
    return state


def call(raw: str) -> ToolUse:
    state = folded(ToolUseStarted(0, "c", "Read"), ToolInputChunk(0, raw), BlockFinished(0))
    block = state.finished(0)
    assert isinstance(block, ToolUse)
    return block


def test_blocks_that_interleave_come_out_in_order_of_index() -> None:
    """Given pieces of four blocks mixed, the message has each block whole and in order."""
    state = folded(
        ToolUseStarted(3, "c1", "Read", {"extra": 1}),
        ThinkingChunk(0, "Let me "),
        RedactedThinkingChunk(1, "secret"),
        ToolInputChunk(3, '{"a":'),
        TextChunk(2, "Hel"),
        ThinkingChunk(0, "see"),
        SignatureChunk(0, "old"),
        SignatureChunk(0, "new"),
        ToolInputChunk(3, "1}"),
        TextChunk(2, "lo"),
        *(BlockFinished(index) for index in (3, 2, 1, 0)),
        UsageReported(Usage(1, 1)),
        UsageReported(Usage(1, 9)),
        Stopped("tool_use", "because"),
    )
    assert state.message().content == (
        Thinking("Let me see", "new"),
        RedactedThinking("secret"),
        Text("Hello"),
        ToolUse("c1", "Read", {"a": 1}, None, {"extra": 1}),
    )
    assert state.usage == Usage(1, 9)
    assert state.stop == Stopped("tool_use", "because")


@pytest.mark.parametrize("raw", ["", "  \n"])
def test_no_input_is_an_empty_object(raw: str) -> None:
    """A call without any input has the input {}."""
    assert call(raw) == ToolUse("c", "Read", {}, None)


@pytest.mark.parametrize(
    "raw",
    ['{"a": 1', '{"a": 1}}', "[1]", '"text"', "null", '{"a": NaN}', "{'a': 1}", "[" * 100_000],
)
def test_input_that_is_no_json_object_is_kept_raw(raw: str) -> None:
    """Damaged JSON, or JSON of another kind, is never repaired: the raw text is kept."""
    assert call(raw) == ToolUse("c", "Read", {}, raw)


def test_a_block_that_did_not_end_is_not_in_the_message() -> None:
    """Only complete blocks count, and empty ones are left out."""
    state = folded(TextChunk(0, "whole"), BlockFinished(0), TextChunk(1, ""), BlockFinished(1))
    state = fold(state, TextChunk(2, "cut of"))
    assert state.message().content == (Text("whole"),)
    with pytest.raises(KeyError):
        state.finished(2)


def test_a_piece_for_another_kind_of_block_is_refused() -> None:
    """Text for a block that is a call, or input for a block that never began, is an error."""
    with pytest.raises(ValueError):
        folded(ToolUseStarted(0, "c", "Read"), TextChunk(0, "x"))
    with pytest.raises(ValueError):
        folded(ToolInputChunk(0, "{}"))


@given(st.lists(st.text(max_size=5), max_size=40))
def test_text_is_the_pieces_in_order(pieces: list[str]) -> None:
    """However text is cut, the block is all of it in order."""
    state = folded(*(TextChunk(0, piece) for piece in pieces), BlockFinished(0))
    assert state.finished(0) == Text("".join(pieces))


def test_folding_stays_cheap_for_long_replies() -> None:
    """Ten times the pieces cost about ten times the time, not a hundred times."""

    def seconds(count: int) -> float:
        start = time.perf_counter()
        folded(*(TextChunk(0, "word ") for _ in range(count)), BlockFinished(0))
        return time.perf_counter() - start

    seconds(1000)
    assert seconds(20_000) < 60 * max(seconds(2_000), 1e-3)


def test_states_are_values() -> None:
    """Folding gives a new state and leaves the old one as it was."""
    before = folded(TextChunk(0, "a"))
    after = fold(before, TextChunk(0, "b"))
    assert fold(before, BlockFinished(0)).finished(0) == Text("a")
    assert fold(after, BlockFinished(0)).finished(0) == Text("ab")
