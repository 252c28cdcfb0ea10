"""Keeps IPython's hands off prompts: a clean-up transformer for MAIA's own magics.

IPython would take `%maia what is this?` for a request for help and strip `>>> ` from a prompt's lines.
The transformer turns such text into plain calls with the text as a literal. It runs first, on raw lines.
"""

import io
import re
import tokenize

_CELL = re.compile(r"%%maia(?:[ \t]+(?P<line>[^\n]*))?\n?$")
_LINE = re.compile(
    r"(?P<indent>[ \t]*)%(?P<name>maia(?:_[a-z]+)?)[ \t]+(?P<line>\S[^\n]*?)[ \t]*\n?$"
)


def keep_prompts(lines: list[str]) -> list[str]:
    """`lines` of a cell with MAIA's magics as calls, so that nothing else reads their text."""
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return lines
    found = _CELL.match(lines[first])
    if found and (found["line"] or "").strip() != "?":
        line, body = found["line"] or "", "".join(lines[first + 1 :])
        # IPython refuses a cell magic without a body, but a prompt may be all on the first line.
        call = (
            f"run_cell_magic('maia', {line!r}, {body!r})"
            if body.strip()
            else f"run_line_magic('maia', {line!r})"
        )
        return [f"get_ipython().{call}\n"]
    if lines[first].startswith("%%"):
        return lines
    return [_kept(lines, number) for number in range(len(lines))]


# `has_side_effects` is IPython's word for "not while checking whether a cell is complete": consoles
# decide with the raw text whether Enter ends a %% cell.
keep_prompts.has_side_effects = True  # type: ignore[attr-defined]


def _kept(lines: list[str], number: int) -> str:
    found = _LINE.match(lines[number])
    if not found or not found["line"].endswith("?") or _in_string(lines[:number]):
        return lines[number]
    return f"{found['indent']}get_ipython().run_line_magic({found['name']!r}, {found['line']!r})\n"


def _in_string(before: list[str]) -> bool:
    """Whether a string literal is still open at the end of these lines."""
    plain = "".join("\n" if line.lstrip().startswith(("%", "!")) else line for line in before)
    try:
        for _ in tokenize.generate_tokens(io.StringIO(plain).readline):
            pass
    except tokenize.TokenError as error:
        return "string" in str(error)
    except SyntaxError:
        return False
    return False
