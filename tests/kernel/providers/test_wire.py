"""Formats on the wire, cut anywhere."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maia_kernel.providers.wire.sse import SseEvent, SseParser
from maia_kernel.providers.wire.think_tags import ThinkTags

STREAM = (
    b'\xef\xbb\xbf: a comment\r\n\r\nevent: start\ndata: {"a": 1}\n\ndata:no space\rdata: two lines\r\r'
    b"id: 7\nretry: 10\n\ndata: \xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82\r\n\r\n\ndata: last"
)
EVENTS = [
    SseEvent("start", '{"a": 1}'),
    SseEvent("", "no space\ntwo lines"),
    SseEvent("", "é€🙂"),
    SseEvent("", "last"),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_are_the_same_however_bytes_are_cut(cuts: list[int]) -> None:
    """Given CRLF, CR, LF, comments and UTF-8, any cutting of the bytes gives the same events."""
    parser = SseParser()
    edges = [0, *sorted(cuts), len(STREAM)]
    events = [
        event
        for start, end in itertools.pairwise(edges)
        for event in parser.feed(STREAM[start:end])
    ]
    assert events + parser.finish() == EVENTS


def joined(parts: Sequence[tuple[str, str]], kind: str) -> str:
    return "".join(piece for name, piece in parts if name == kind)


@pytest.mark.parametrize(
    ("whole", "opened", "thinking", "text"),
    [
        ("<think>\nhm\n</think>\n\nHi", False, "hm", "Hi"),
        ("  <think>hm</think>Hi", False, "hm", "Hi"),
        ("[THINK]hm[/THINK]Hi", False, "hm", "Hi"),
        ("<thinking>hm</thinking> Hi", False, "hm", "Hi"),
        ("hm</think>Hi", True, "hm", "Hi"),
        ("Use a <think> tag", False, "", "Use a <think> tag"),
        ("<thin", False, "", "<thin"),
        ("<think>never ended", False, "never ended", ""),
        ("<think>a < b</thin </think>x", False, "a < b</thin ", "x"),
        ("<think></think>Hi", False, "", "Hi"),
        ("<table>", False, "", "<table>"),
    ],
)
def test_think_tags_are_found_however_text_is_cut(
    whole: str, opened: bool, thinking: str, text: str
) -> None:
    """Reasoning between tags at the start is told from text, in pieces of any size."""
    for size in range(1, len(whole) + 1):
        tags = ThinkTags(opened=opened)
        parts = [
            part
            for start in range(0, len(whole), size)
            for part in tags.feed(whole[start : start + size])
        ]
        parts += tags.finish()
        assert joined(parts, "thinking").strip("\n") == thinking, size
        assert joined(parts, "text") == text, size
