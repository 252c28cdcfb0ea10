"""Untrusted words inside our own Markdown."""

import re
from html import escape

from maia_kernel.neutral import line

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")


def escaped(words: str) -> str:
    """`words` on one line, letter by letter, anywhere but at the start of a line of Markdown."""
    return _SPECIAL.sub(r"\\\1", escape(line(words), quote=False))


def code(words: str) -> str:
    """`words` on one line as a code span, whatever backticks they hold (CommonMark 6.1)."""
    neutral = line(words) or " "
    longest = max((len(run) for run in re.findall("`+", neutral)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if neutral[0] == "`" or neutral[-1] == "`" else ""
    return f"{fence}{pad}{neutral}{pad}{fence}"
