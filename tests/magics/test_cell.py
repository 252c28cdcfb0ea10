"""The text of a cell: options, prompt, mistakes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maia.cell import CellRequest, mode_named, parse
from maia_kernel.errors import UsageError


@pytest.mark.parametrize(
    ("line", "body", "expected"),
    [
        ("", "hello\n", CellRequest("hello\n")),
        ("first words", "body\n", CellRequest("first words\nbody\n")),
        ("--model a:b", "x", CellRequest("x", model="a:b")),
        ("--model=a:b   say  it", None, CellRequest("say  it", model="a:b")),
        ("--mode ACCEPTEDITS go", None, CellRequest("go", mode="acceptEdits")),
        ("--new --quiet", "x", CellRequest("x", new=True, quiet=True)),
        ("--session 'my work' x", None, CellRequest("x", session="my work")),
        ("--max-turns 3 --no-context x", None, CellRequest("x", max_turns=3, context=False)),
        ("--out answer x", None, CellRequest("x", out="answer")),
        ("-- --model stays", None, CellRequest("--model stays")),
        ("say --model", None, CellRequest("say --model")),
        ("-x is no option", None, CellRequest("-x is no option")),
        ("--- a rule", None, CellRequest("--- a rule")),
        ('why "{x}" cost $5 % of it!?', None, CellRequest('why "{x}" cost $5 % of it!?')),
    ],
)
def test_options_and_prompt(line: str, body: str | None, expected: CellRequest) -> None:
    """Given a magic's line and body, then options are read at its start and the rest is the prompt."""
    assert parse(line, body) == expected


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--sesion x", "Unknown option --sesion; the nearest is --session. Usage: %%maia [--model"),
        ("--wild x", "Unknown option --wild. Usage: %%maia [--model"),
        ("--mode wild x", "Unknown mode 'wild'. Modes: default, acceptEdits"),
        ("--max-turn 3", "the nearest is --max-turns"),
        ("--model", "--model needs a value"),
        ("--model --new", "--model needs a value"),
        ("--quiet=yes x", "--quiet takes no value"),
        ("--max-turns none x", "--max-turns needs a whole number above 0, not 'none'"),
        ("--max-turns 0 x", "above 0"),
        ("--out 2x y", "needs a variable name"),
        ("--mode acceptEdit x", "the nearest is acceptEdits"),
        ("--new --session a x", "not both"),
    ],
)
def test_mistakes(line: str, said: str) -> None:
    """Given a wrong option, then the error is one line that says what would be right."""
    with pytest.raises(UsageError) as caught:
        parse(line, "body")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text())
def test_any_body_is_untouched(body: str) -> None:
    """Given any text as body, then it is the prompt, character by character."""
    assert parse("", body).prompt == body


@given(st.text().filter(lambda text: not text.lstrip().startswith("--")))
def test_any_line_is_untouched(line: str) -> None:
    """Given any line that begins with no option, then it is the prompt but for leading space."""
    assert parse(line).prompt == line.lstrip()


def test_modes_in_any_case() -> None:
    """Given a mode in other letters, then it is found."""
    assert mode_named(" dontask ") == "dontAsk"
