"""MAIA's logo as half-block pixels: a theatre mask, for she takes many parts."""

from typing import Final

_LEFT_HALF: Final = (
    ".#######",
    "########",
    "########",
    "##...###",
    "#..#..##",
    "########",
    "########",
    "########",
    "#.######",
    "#..#####",
    ".#......",
    ".##.....",
    "..######",
    "....####",
)
PIXELS: Final = tuple(half + half[::-1] for half in _LEFT_HALF)
"""Rows of 16 pixels, `#` for ink."""

_BLOCKS: Final = {"##": "█", "#.": "▀", ".#": "▄", "..": " "}

LOGO: Final = tuple(
    "".join(_BLOCKS[above + below] for above, below in zip(upper, lower, strict=True)).rstrip()
    for upper, lower in zip(PIXELS[::2], PIXELS[1::2], strict=True)
)
"""The mask in seven lines of text, two pixels a character."""
