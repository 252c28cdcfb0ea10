"""Edit: exact, unique, all or none; and what is said when the text is not there."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maia_kernel.display import DiffDisplay
from maia_kernel.errors import ToolRetry
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.changes import change_of
from maia_kernel.tools.edit import Edit, EditInput
from maia_kernel.tools.matching import nearest
from maia_kernel.tools.read import Read
from tests.support.tools import call


async def given_file(context: ToolContext, data: bytes, name: str = "a.py") -> Path:
    path = context.cwd / name
    path.write_bytes(data)
    await call(Read(), context, file_path=name)
    return path


async def edit(context: ToolContext, old: str, new: str, **more: Any) -> str:
    fields = {"file_path": "a.py", "old_string": old, "new_string": new} | more
    return (await call(Edit(), context, **fields)).text


async def test_one_replacement(context: ToolContext) -> None:
    """The only occurrence is replaced; the card's diff and the result show it; the file counts as read."""
    path = await given_file(context, b"def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    fields = {"file_path": "a.py", "old_string": "return 1", "new_string": "return 10"}
    (card,) = Edit().displays(EditInput(**fields), context)  # type: ignore[arg-type]
    assert card == DiffDisplay(
        "a.py", "@@ -1,5 +1,5 @@\n def f():\n-    return 1\n+    return 10\n \n \n def g():"
    )
    assert Edit().summary(EditInput(**fields), context) == "a.py"  # type: ignore[arg-type]
    text = await edit(context, "return 1", "return 10")
    assert path.read_text() == "def f():\n    return 10\n\n\ndef g():\n    return 2\n"
    assert "     2\t    return 10" in text
    await edit(context, "return 10", "return 11")


async def test_it_must_be_unique(context: ToolContext) -> None:
    """Given three occurrences, the lines are told and nothing changes; `replace_all` changes all."""
    path = await given_file(context, b"x = 1\ny = x\nz = x\n")
    with pytest.raises(ToolRetry, match=r"occurs 3 times \(lines 1, 2, 3\)"):
        await edit(context, "x", "w")
    assert path.read_text() == "x = 1\ny = x\nz = x\n"
    assert "in 3 places" in await edit(context, "x", "w", replace_all=True)
    assert path.read_text() == "w = 1\ny = w\nz = w\n"


async def test_several_edits_all_or_none(context: ToolContext) -> None:
    """Edits apply in order, each on the result of the last; if one fails nothing is written."""
    path = await given_file(context, b"a\nb\n")
    good = {"old_string": "a", "new_string": "c"}
    with pytest.raises(ToolRetry, match=r"edit 2 of 2: .*Nothing was written"):
        await call(
            Edit(), context, file_path="a.py", edits=[good, {"old_string": "zz", "new_string": "y"}]
        )
    assert path.read_text() == "a\nb\n"
    await call(
        Edit(), context, file_path="a.py", edits=[good, {"old_string": "c\nb", "new_string": "d"}]
    )
    assert path.read_text() == "d\n"


@pytest.mark.parametrize(
    "fields",
    [
        {"old_string": "a", "new_string": "a"},
        {"old_string": "", "new_string": "a"},
        {"old_string": "a"},
        {},
        {"old_string": "a", "new_string": "b", "edits": [{"old_string": "a", "new_string": "b"}]},
        {"edits": [{"old_string": "a", "new_string": "z"}, {"old_string": "z", "new_string": "a"}]},
    ],
)
async def test_calls_that_make_no_sense(context: ToolContext, fields: dict[str, Any]) -> None:
    """An edit that changes nothing or says nothing is refused, and the message says how to call."""
    await given_file(context, b"a\n")
    with pytest.raises(ToolRetry):
        await call(Edit(), context, file_path="a.py", **fields)


async def test_read_first_and_unchanged(context: ToolContext) -> None:
    """Unread or changed since: refused in validation; a part that was read is enough."""
    path = context.cwd / "a.py"
    path.write_text("a\nb\n")
    with pytest.raises(ToolRetry, match="Read it first"):
        await edit(context, "a", "c")
    await call(Read(), context, file_path="a.py", limit=1)
    await edit(context, "a", "c")
    path.write_text("c\nx\n")
    with pytest.raises(ToolRetry, match="changed on disk"):
        await edit(context, "c", "d")
    assert path.read_text() == "c\nx\n"


async def test_windows_line_ends_and_marks_stay(context: ToolContext) -> None:
    r"""A search with \n finds \r\n text, and what is written has the file's line ends."""
    path = await given_file(context, b"\xef\xbb\xbfa\r\nb\r\nc\r\n")
    await edit(context, "a\nb\n", "x\ny\nz\n")
    assert path.read_bytes() == b"\xef\xbb\xbfx\r\ny\r\nz\r\nc\r\n"


async def test_mixed_line_ends_elsewhere_are_untouched(context: ToolContext) -> None:
    """Given a file of mixed line ends, bytes outside the replacement stay as they are."""
    path = await given_file(context, b"a\r\nb\nc\r\nd\r\n")
    await edit(context, "c", "C")
    assert path.read_bytes() == b"a\r\nb\nC\r\nd\r\n"


async def test_the_replacement_is_literal(context: ToolContext) -> None:
    """Characters that mean something to regular expressions mean nothing here."""
    path = await given_file(context, b"f(a.*b) \\1\n")
    await edit(context, "(a.*b) \\1", "\\g<0>")
    assert path.read_text() == "f\\g<0>\n"


@pytest.mark.parametrize(
    ("text", "wanted", "said"),
    [
        ("\tif x:\n\t\treturn\n", "    if x:\n        return\n", "indentation"),
        ("a = 1  \nb = 2\n", "a = 1\nb = 2\n", "ends of lines"),
        ("x  =  1\n", "x = 1\n", "spaces and tabs"),
        ("say(\u201chi\u201d)\n", 'say("hi")\n', "quotes"),
        ("Hello World\n", "hello world\n", "case"),
        ("a = 1\nb = 2\n", "     1\ta = 1\n     2\tb = 2\n", "line numbers"),
        (
            "def compute(total, rate):\n    return total * rate\n",
            "def compute(total, rates):\n    return total * rates\n",
            "lines 1-2",
        ),
        ("alpha\nbeta\n", "qqqqq zzz", "nothing in the file resembles"),
        ("", "x", "empty"),
    ],
)
def test_not_found_tells_what_differs(text: str, wanted: str, said: str) -> None:
    """The nearest region is shown with what differs."""
    assert said in nearest(text, wanted)


async def test_not_found_shows_the_nearest_lines(context: ToolContext) -> None:
    """Given a near miss deep in a file, its lines come numbered, with both forms of the line."""
    body = "".join(f"line number {n}\n" for n in range(5_000))
    await given_file(context, (body + "    total = price * (1 + tax)\n").encode())
    with pytest.raises(ToolRetry) as caught:
        await edit(context, "total = price * (1 - tax)", "x")
    assert "  5001\t    total = price * (1 + tax)" in str(caught.value)
    assert "'total = price * (1 - tax)'" in str(caught.value)


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


@given(LINES, LINES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_diff_gives_the_new_text_back(old: list[str], new: list[str]) -> None:
    """For any two texts, applying the diff's hunks to the old lines gives the new ones."""
    change = change_of("".join(f"{x}\n" for x in old), "".join(f"{x}\n" for x in new))
    lines, at, applied = change.diff.split("\n") if change.diff else [], 0, []
    for line in lines:
        if line.startswith("@@"):
            start, _, count = line.split(" ")[1][1:].partition(",")
            first = int(start) - (0 if count == "0" else 1)
            applied += old[at:first]
            at = first
        elif line.startswith("+"):
            applied.append(line[1:])
        else:
            assert old[at] == line[1:]
            applied += [] if line.startswith("-") else [line[1:]]
            at += 1
    assert applied + old[at:] == new
    assert (change.added, change.removed) == (
        sum(line.startswith("+") for line in lines),
        sum(line.startswith("-") for line in lines),
    )
