"""Code of a cell as Python and as what IPython adds to it: `!command`, `%magic`, `%%magic`, `x = !ls`.

Nothing is run or transformed by IPython: a line that only IPython understands becomes `pass`, and what
it says is kept beside.
"""

import ast
import re
import textwrap
from dataclasses import dataclass, field
from typing import Final

LONGEST: Final = 200_000
"""Characters of code that are looked at; longer code is not understood."""

_CELL_MAGIC = re.compile(r"\s*%%(!|[\w.]+)[ \t]*([^\n]*)\n?", re.ASCII)
_PROMPT = re.compile(r"(?m)^(\s*)(?:>>> ?|\.\.\. ?|In \[\d+\]: ?|\s+\.\.\.+: ?)")
_LINE = re.compile(
    r"(?P<indent>\s*)(?:(?P<target>[\w.,\s\[\]'\"*()]+?)=\s*)?(?P<mark>!!|!|%|\?\??|,|;|/)(?P<rest>.*)",
    re.DOTALL,
)
_ASSIGNED = frozenset({"!", "!!", "%"})
_SHELLS: Final = frozenset(
    {"bash", "sh", "zsh", "ksh", "dash", "system", "sx", "!", "script", "cmd"}
)
_PYTHON_CELLS: Final = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "pypy"})


@dataclass(frozen=True, slots=True)
class Magic:
    """What a magic is asked: its name (`!` for a shell line), its line, and its cell if it has one."""

    name: str
    line: str
    cell: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A cell: `tree` is None where it is no Python that could be read."""

    tree: ast.Module | None
    magics: tuple[Magic, ...] = field(default=())


def read_source(code: str) -> Source:
    """Take `code` apart; never raises."""
    if len(code) > LONGEST or "\x00" in code:
        return Source(None)
    whole = _parsed(code)
    if whole is not None:
        return Source(whole)
    code = _PROMPT.sub(r"\1", textwrap.dedent(code)).lstrip("\n")
    cell = _CELL_MAGIC.match(code)
    if cell is not None:
        return _of_cell(cell[1], cell[2].strip(), code[cell.end() :])
    lines, magics = _without_magics(code)
    return Source(_parsed(lines), tuple(magics))


def is_shell(magic: Magic) -> bool:
    """True when the magic's line or cell is for a shell."""
    return magic.name in _SHELLS


def _of_cell(name: str, line: str, body: str) -> Source:
    magic = Magic(name, line, body)
    if name not in _PYTHON_CELLS:
        return Source(ast.Module([], []), (magic,))
    inner = read_source(body)
    return Source(inner.tree, (magic, *inner.magics))


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _without_magics(code: str) -> tuple[str, list[Magic]]:
    """The code with `pass` in place of IPython's lines, which may go on behind a backslash."""
    lines, magics = code.split("\n"), []
    kept: list[str] = []
    at = 0
    while at < len(lines):
        first, size = lines[at], 1
        match = _LINE.fullmatch(first)
        if match is None or (match["target"] and match["mark"] not in _ASSIGNED):
            kept.append(_without_help(first))
            at += 1
            continue
        joined = match["rest"]
        while joined.endswith("\\") and at + size < len(lines):
            joined = joined[:-1] + lines[at + size].strip()
            size += 1
        magics.append(_line_magic(match["mark"], joined.strip()))
        kept += [f"{match['indent']}pass", *[""] * (size - 1)]
        at += size
    return "\n".join(kept), magics


def _line_magic(mark: str, rest: str) -> Magic:
    if mark in ("!", "!!"):
        return Magic("!", rest.removeprefix("!").strip())
    if mark == "%":
        name, _, line = rest.partition(" ")
        return Magic(name, line.strip())
    return Magic(mark, rest)


def _without_help(line: str) -> str:
    stripped = line.rstrip()
    return "pass" if stripped.endswith("?") and not stripped.lstrip().startswith("#") else line
