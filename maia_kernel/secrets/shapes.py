"""What well-known keys look like, found in a text. The shapes are data: `shapes.toml`.

A shape has a fixed beginning, so that a text is searched for a few dozen words and only looked at
closely where one stands: the time grows with the length of the text alone.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from os.path import commonprefix
from typing import Final

LONGEST: Final = 20_000
"""Characters of a secret that is still growing; no secret that we know is longer."""

_TOKEN: Final = "[A-Za-z0-9_.~+/=%-]"
# Words that people write where a key would stand, in documentation and templates.
_PLACEHOLDER: Final = re.compile(
    r"example|your|placeholder|dummy|redacted|change.?me|xxxx|\*\*\*|\.\.\.|\A[$<{]|"
    r"\A(?:pass(?:word|wd)?|pwd|secret|token|key|user|test|postgres|mysql|root|admin)\Z",
    re.IGNORECASE,
)
_FEWEST_DIFFERENT: Final = 6


@dataclass(frozen=True, slots=True)
class Found:
    """A secret in a text: where it stands and of what kind it is."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Shape:
    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    growing: re.Pattern[str]
    any_case: bool
    inside: bool
    common: str
    """What all anchors begin with."""

    def starts(self, text: str, begin: int = 0) -> Iterator[int]:
        """Where an anchor stands, at a place where it may."""
        if self.common and not self.any_case and self.common not in text:
            return
        for anchor in self.anchors:
            for at in _places(text, anchor, begin, any_case=self.any_case):
                if self.inside or not _in_word(text, at):
                    yield at


def find(text: str) -> list[Found]:
    """The secrets in `text`, in order, none within another."""
    found: list[Found] = []
    for shape in _shapes():
        for at in shape.starts(text):
            match = shape.pattern.match(text, at)
            if match is None:
                continue
            group = "secret" if "secret" in shape.pattern.groupindex else 0
            if not _is_placeholder(match[group]):
                found.append(Found(*match.span(group), shape.kind))
    found.sort(key=lambda one: (one.start, -one.end))
    kept: list[Found] = []
    for one in found:
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def growing(text: str) -> int:
    """How many characters at the end of `text` may be the beginning of a secret, or a part of one."""
    begin = max(0, len(text) - LONGEST)
    first = len(text)
    for shape in _shapes():
        for at in shape.starts(text, begin):
            if at >= first:
                continue
            if shape.growing.match(text, at) is not None:
                first = at
        for anchor in shape.anchors:
            first = min(first, _half(text, anchor, shape))
    return len(text) - first


def _half(text: str, anchor: str, shape: _Shape) -> int:
    """Where the beginning of `anchor` stands at the end of `text`; the text's length if nowhere."""
    tail = text[-len(anchor) + 1 :].lower() if shape.any_case else text[-len(anchor) + 1 :]
    for size in range(len(tail), 0, -1):
        at = len(text) - size
        if anchor.startswith(tail[-size:]) and (shape.inside or not _in_word(text, at)):
            return at
    return len(text)


def _places(text: str, anchor: str, begin: int, *, any_case: bool) -> Iterator[int]:
    if any_case and text.isascii():
        # Many times faster than an expression; of other text `lower` may change the length.
        text = text.lower()
    elif any_case:
        pattern = re.compile(re.escape(anchor), re.IGNORECASE)
        yield from (match.start() for match in pattern.finditer(text, begin))
        return
    at = text.find(anchor, begin)
    while at >= 0:
        yield at
        at = text.find(anchor, at + len(anchor))


def _in_word(text: str, at: int) -> bool:
    """True in the middle of a word; `\\n` written out, as in JSON, is no letter."""
    before = text[at - 1 : at] if at else ""
    word = before.isascii() and (before.isalnum() or before in "_-")
    return bool(before) and word and text[max(0, at - 2) : at - 1] != "\\"


def _is_placeholder(secret: str) -> bool:
    return len(set(secret)) < min(_FEWEST_DIFFERENT, len(secret)) or (
        _PLACEHOLDER.search(secret[:400]) is not None
    )


@cache
def _shapes() -> tuple[_Shape, ...]:
    source = files("maia_kernel.secrets") / "shapes.toml"
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    return tuple(
        _Shape(
            row["kind"],
            tuple(row["anchors"]),
            _compiled(row, row["body"]),
            _compiled(row, rf"{row.get('open', _TOKEN)}{{0,{LONGEST}}}\Z"),
            row.get("any_case", False),
            row.get("inside", False),
            commonprefix(row["anchors"]) if row["anchors"][1:] else "",  # noqa: RUF071 - as meant
        )
        for row in data["shape"]
    )


def _compiled(row: dict[str, list[str]], body: str) -> re.Pattern[str]:
    anchors = "|".join(re.escape(anchor) for anchor in row["anchors"])
    case = "(?i:" if row.get("any_case") else "(?:"
    return re.compile(f"{case}{anchors})(?:{body})", re.DOTALL)
