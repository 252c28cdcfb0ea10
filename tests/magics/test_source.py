"""IPython leaves MAIA's prompts alone."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from maia.source import keep_prompts

# IPython splits lines at all of these; editors send line feeds.
_TYPED = st.characters(
    exclude_categories=("Cs",),
    exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029",
)


@pytest.fixture(scope="module")
def manager() -> TransformerManager:
    manager = TransformerManager()
    manager.cleanup_transforms.insert(0, keep_prompts)
    return manager


def calls(code: str) -> list[tuple[str, list[str]]]:
    """The magics that transformed code calls, with their arguments."""
    return [
        (node.func.attr, [ast.literal_eval(argument) for argument in node.args])
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]


@pytest.mark.parametrize(
    ("cell", "call"),
    [
        ("%maia what is this?", ("run_line_magic", ["maia", "what is this?"])),
        ("%maia is it {x} or $y?", ("run_line_magic", ["maia", "is it {x} or $y?"])),
        ("%maia really??", ("run_line_magic", ["maia", "really??"])),
        ("%maia do it!", ("run_line_magic", ["maia", "do it!"])),
        ('%maia say "it\'s"', ("run_line_magic", ["maia", 'say "it\'s"'])),
        ("%maia_new what?", ("run_line_magic", ["maia_new", "what?"])),
        ("%%maia\nwhat?", ("run_cell_magic", ["maia", "", "what?\n"])),
        ("%%maia what?\n", ("run_line_magic", ["maia", "what?"])),
        (
            "%%maia --new why?\n>>> f()\n>>> g()\n",
            ("run_cell_magic", ["maia", "--new why?", ">>> f()\n>>> g()\n"]),
        ),
        (
            "\n\n%%maia\n  In [1]: x\n%time y?\n",
            ("run_cell_magic", ["maia", "", "  In [1]: x\n%time y?\n"]),
        ),
    ],
)
def test_prompts_arrive_as_typed(
    manager: TransformerManager, cell: str, call: tuple[str, list[str]]
) -> None:
    """Given a prompt with what IPython would act on, then the magic gets it as it was typed."""
    assert calls(manager.transform_cell(cell)) == [call]


@given(st.text(_TYPED).filter(str.strip))
def test_any_prompt_arrives_as_typed(body: str) -> None:
    """Given any body, then the cell magic gets it unchanged, but for a final line break."""
    manager = TransformerManager()
    manager.cleanup_transforms.insert(0, keep_prompts)
    ((name, (_, _, arrived)),) = calls(manager.transform_cell("%%maia\n" + body))
    assert name == "run_cell_magic"
    assert arrived.removesuffix("\n") == body.removesuffix("\n")


@pytest.mark.parametrize("cell", ["%maia?", "%%maia?", "%maia_model?", "%maia_model??"])
def test_help_stays_help(manager: TransformerManager, cell: str) -> None:
    """Given a magic with nothing but a question mark, then it is a request for help."""
    assert "pinfo" in manager.transform_cell(cell)


def test_between_other_lines(manager: TransformerManager) -> None:
    """Given a line magic among code, then only that line is taken."""
    code = manager.transform_cell("for x in range(2):\n    %maia is {x} even?\nprint(x)\n")
    assert ("run_line_magic", ["maia", "is {x} even?"]) in calls(code)
    assert code.endswith("print(x)\n")


@pytest.mark.parametrize(
    "cell", ['text = """\n%maia is this a prompt?\n"""\n', "%%bash\n%maia what?\n", "x = 1\n", ""]
)
def test_other_cells_stay(cell: str) -> None:
    """Given text that only looks like a magic, or another cell, then nothing is changed."""
    lines = cell.splitlines(keepends=True)
    assert keep_prompts(lines) == lines


def test_not_while_checking_completeness(manager: TransformerManager) -> None:
    """Given a %% cell in a console, when Enter is pressed, then the console's own rule decides."""
    assert manager.check_complete("%%maia\nhello") == ("incomplete", 0)
