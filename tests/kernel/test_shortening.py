"""Long texts cut in the middle: whole lines, whole words, and nothing said twice."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from maia_kernel.secrets import Mask
from maia_kernel.settings.keys import KnownSecrets
from maia_kernel.settings.values import Secret
from maia_kernel.shortening import shortened, whole_head, whole_tail
from maia_kernel.tools.bash import Bash
from maia_kernel.tools.read import Read
from tests.support.tools import call, tool_context

KEY = "sk-test-canary-0123456789"


@given(text=st.text(st.sampled_from("ab \n"), max_size=400), limit=st.integers(2, 200))
def test_head_and_tail_are_of_the_text_and_the_count_is_right(text: str, limit: int) -> None:
    """For any text, what is shown are its beginning and its end, and the note counts the rest."""
    short = shortened(text, limit)
    if len(text) <= limit:
        assert short == text
        return
    head, _, rest = short.partition("\n[... ")
    count, _, tail = rest.partition(" characters left out ...]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    left = len(text) - len(head) - len(tail)
    assert left - int(count.replace(",", "")) in (0, 1)  # the line end before the note


def test_cuts_stand_where_a_line_or_a_word_ends() -> None:
    """Given lines, whole ones are kept; given one long line, whole words; given one word, characters."""
    lines = "".join(f"line {n}\n" for n in range(100))
    assert whole_head(lines[:203]).endswith("\n")
    assert whole_tail(lines[-203:]).startswith("line ")
    assert whole_head("some words and a hal").endswith("and a ")
    assert whole_tail("alf a word at the end").startswith(" a word")
    assert whole_head("x" * 50) == whole_tail("x" * 50) == "x" * 50


async def test_no_half_of_a_key_stands_at_a_cut(tmp_path: Path) -> None:
    """Given a known key wherever an output, its progress or a line of a file is cut, no part of it is
    shown."""
    known = KnownSecrets()
    known.add(Secret(KEY))
    context = tool_context(tmp_path.resolve(), secrets=Mask(known))
    for before in (14_990, 15_000 - len(KEY) // 2, 15_000, 985, 1_000):
        command = (
            f"head -c {before} /dev/zero | tr '\\0' x; printf %s {KEY[:8]}; printf %s {KEY[8:]}"
        )
        done = await call(
            Bash(), context, command=f"{command}; head -c 40000 /dev/zero | tr '\\0' y"
        )
        for text in (done.text, "".join(done.progress)):
            assert KEY[:8] not in text
            assert KEY[-8:] not in text
        for spilled in context.spill.glob("bash-*.txt"):
            assert KEY[:8] not in spilled.read_text()
    (context.cwd / "long.txt").write_text("x" * 1_990 + KEY + "y" * 1_000)
    assert KEY[:8] not in (await call(Read(), context, file_path="long.txt")).text
