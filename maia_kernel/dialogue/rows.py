"""What is written of a question, row by row, and who reads it."""

import shutil
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from unicodedata import combining, east_asian_width

from maia_kernel.texts import text

Read = Callable[[str], Awaitable[str]]
"""Asks the person for one line, as `input()` does; EOFError when there is nobody any more."""
Write = Callable[[str], None]

FOLDED_FROM: Final = 80
"""Rows of a question from which on only the first ones are written, until the person asks for all."""
_SHOWN: Final = 40
_GUTTER, _CONTINUED = "  │ ", "  ┆ "
_NARROWEST: Final = 40  # columns


class Person:
    """Who reads and types."""

    def __init__(self, read: Read, write: Write) -> None:
        self._read, self._write = read, write

    def tell(self, *rows: str) -> None:
        """Write `rows`, a line each."""
        self._write("".join(f"{row}\n" for row in rows))

    async def line(self, key: str, **values: object) -> str:
        """What is typed after the prompt of `key`; a front-end squeezes a prompt into one line."""
        return await self._read(text(f"dialogue.{key}", **values))


def choice_row(letter: str, key: str, **values: object) -> str:
    """What may be typed, and what it does."""
    return f"  {letter}  {text(f'dialogue.{key}', **values)}"


def folded(rows: list[str], key: str = "folded") -> list[str]:
    """The first of many rows, and how many are left out."""
    if len(rows) <= FOLDED_FROM:
        return rows
    left = len(rows) - _SHOWN
    return [*rows[:_SHOWN], text(f"dialogue.{key}", count=left)]


def guttered(rows: Sequence[str]) -> list[str]:
    """Rows of others, each behind a gutter; what does not fit goes on in the next row."""
    return [piece for row in rows for piece in wrapped(row, _GUTTER)]


def wrapped(row: str, first: str) -> list[str]:
    """`row` in pieces that fit the screen, so that none of it begins a line."""
    if row.isascii() and "\t" not in row and len(row) + len(first) < _NARROWEST:
        return [f"{first}{row}".rstrip()]
    width = max(shutil.get_terminal_size((100, 24)).columns - 1, _NARROWEST)
    pieces, begun, used = [], 0, len(first)
    for place, char in enumerate(row):
        cells = _cells(char)
        if used + cells > width:
            pieces.append(row[begun:place])
            begun, used = place, len(_CONTINUED)
        used += cells
    pieces.append(row[begun:])
    return [f"{_CONTINUED if n else first}{piece}".rstrip() for n, piece in enumerate(pieces)]


def _cells(char: str) -> int:
    """Columns that a terminal gives `char`."""
    if char == "\t":
        return 8
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def is_escape(typed: str) -> bool:
    """The Escape key as a line holds it; arrows and other keys send more than that one code."""
    return set(typed.strip()) == {"\x1b"}
