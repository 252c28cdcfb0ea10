"""Streaming Markdown cut into segments that each render on their own."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maia_widgets.segments import HARD, SOFT, Segments

PARAGRAPH = "Some words about the matter, and **more** of them.\n\n"


def cut(text: str, size: int = 37) -> list[str]:
    segments = Segments()
    for start in range(0, len(text), size):
        segments.feed(text[start : start + size])
    return [*segments.finished, segments.current]


def balanced(segment: str) -> bool:
    return len(re.findall(r"^```", segment, re.MULTILINE)) % 2 == 0


def test_a_short_answer_is_one_segment() -> None:
    """Below the limit nothing is cut."""
    assert cut(PARAGRAPH * 10) == [PARAGRAPH * 10]


def test_paragraphs_are_cut_at_blank_lines_and_nothing_is_lost() -> None:
    """Segments join to the answer, end at a blank line, and stay near the limit."""
    parts = cut(PARAGRAPH * 500)
    assert "".join(parts) == PARAGRAPH * 500
    assert all(part.endswith("\n\n") for part in parts)
    assert all(len(part) <= SOFT + 2 * len(PARAGRAPH) for part in parts)
    assert len(parts) >= 5


def test_a_fence_is_not_split_by_blank_lines_in_it() -> None:
    """A fence of 6 kB with blank lines stays whole: the cut is before or after it."""
    fence = "```python\n" + "x = 1\n\n" * 900 + "```\n\n"
    parts = cut(PARAGRAPH * 60 + fence + PARAGRAPH * 60)
    assert "".join(parts) == PARAGRAPH * 60 + fence + PARAGRAPH * 60
    assert all(balanced(part) for part in parts)


@pytest.mark.parametrize("size", [1, 37, 100_000])
def test_an_endless_fence_is_closed_and_opened_again(size: int) -> None:
    """A fence of 100 kB is cut at lines; each piece is a fence with the same info string."""
    body = "".join(f"line_{number} = {number}\n" for number in range(6000))
    parts = cut(f"Look:\n\n```python title=x\n{body}```\n\nEnd.\n", size)
    assert len(parts) > 5
    assert all(balanced(part) for part in parts)
    assert all(part.startswith("```python title=x\n") for part in parts[2:-1])
    lines = [row for part in parts for row in part.split("\n") if row.startswith("line_")]
    assert "\n".join(lines) + "\n" == body
    assert max(map(len, parts)) <= HARD + SOFT


def test_a_list_with_blank_lines_is_not_split() -> None:
    """Items, also those with paragraphs of their own, stay in one segment with their numbers."""
    items = "".join(f"{n}. item {n}\n\n   more about it, in a paragraph\n\n" for n in range(1, 120))
    parts = cut(PARAGRAPH * 70 + items + "After the list.\n\n" + PARAGRAPH * 70)
    assert sum("item 1\n" in part or "item 119\n" in part for part in parts) == 1


def test_an_endless_table_repeats_its_head() -> None:
    """A table of 60 kB is cut between rows, and every piece has head and ruler."""
    rows = "".join(f"| {number} | some value |\n" for number in range(2500))
    parts = cut("| n | value |\n|---|-------|\n" + rows)
    assert len(parts) > 2
    assert all(part.startswith("| n | value |\n|---|-------|\n| ") for part in parts)
    assert sum(part.count("some value") for part in parts) == 2500


def test_details_are_not_split() -> None:
    """A block of HTML details with blank lines in it stays whole."""
    block = "<details><summary>More</summary>\n\n" + PARAGRAPH * 60 + "</details>\n\n"
    parts = cut(PARAGRAPH * 70 + block + PARAGRAPH * 70)
    assert all(part.count("<details>") == part.count("</details>") for part in parts)


def test_one_line_without_end_is_cut_at_a_space() -> None:
    """100 kB without a line break do not grow one output for ever."""
    text = "word " * 20_000
    parts = cut(text)
    assert "".join(parts) == text
    assert max(map(len, parts)) <= HARD + 2 * SOFT


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["- item\n", "\n", "para\n\n", "```\n", "~~~~js\n", "| a | b |\n", "|---|---|\n"]
        ),
        max_size=400,
    ),
    st.integers(1, 5000),
)
def test_how_the_answer_arrives_does_not_matter(blocks: list[str], size: int) -> None:
    """The same text gives the same segments, in whatever pieces it comes."""
    text = "".join(blocks) * 5
    assert cut(text, size) == cut(text, 1)
