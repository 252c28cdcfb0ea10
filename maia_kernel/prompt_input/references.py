"""Finding `@` references in a prompt: pure text, no disk."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_REFERENCE = re.compile(
    r"""(?<![^\s(\[{"'«,;:=>])@      # not inside a word: jean@example.com
        [ \t]?
        (?: '(?P<quoted>(?:\\.|[^'\\\n])+)' (?P<lines>:\d+(?:-\d*)?)? | (?P<word>[^\s@]\S*) )""",
    re.VERBOSE,
)
_LINES = re.compile(r"(?P<path>.+?):(?P<first>\d+)(?P<range>-(?P<last>\d*))?")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
_CLOSING = ".,;:!?)]}>\"'»…"
_CUT = re.compile(r"[,;()'\"<>«»]")


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines `first` to `last`, from 1; `last` is None for "to the end"."""

    first: int
    last: int | None

    def __str__(self) -> str:
        if self.last == self.first:
            return str(self.first)
        return f"{self.first}-{'' if self.last is None else self.last}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a reference: a path, and the lines of it."""

    path: str
    lines: Lines | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """An `@` and what follows; `readings` are tried in order, `explicit` when it is quoted."""

    written: str
    readings: tuple[Reading, ...]
    explicit: bool


def find_references(text: str) -> Iterator[Reference]:
    """Every `@...` outside code fences that may name something, in order."""
    for part in _outside_fences(text):
        for match in _REFERENCE.finditer(part):
            quoted = match["quoted"]
            if quoted is not None:
                path = re.sub(r"\\(.)", r"\1", quoted)
                whole = _LINES.fullmatch(f"x{match['lines']}") if match["lines"] else None
                lines = _lines(whole) if whole else None
                yield Reference(match.group(), (Reading(path, lines),), explicit=True)
            else:
                yield Reference(match.group(), tuple(_readings(match["word"])), explicit=False)


def _readings(word: str) -> Iterator[Reading]:
    """A word may end with punctuation of the sentence: the longest reading first."""
    tried: set[str] = set()
    for candidate in _shorter(word):
        if not candidate or candidate in tried:
            continue
        tried.add(candidate)
        yield Reading(candidate)
        match = _LINES.fullmatch(candidate)
        if match:
            yield Reading(match["path"], _lines(match))


def _shorter(word: str) -> Iterator[str]:
    yield word
    while word and word[-1] in _CLOSING:
        word = word[:-1]
        yield word
    yield _CUT.split(word, maxsplit=1)[0]


def _lines(match: re.Match[str]) -> Lines:
    first = int(match["first"])
    if match["range"] is None:
        return Lines(first, first)
    return Lines(first, int(match["last"]) if match["last"] else None)


def _outside_fences(text: str) -> Iterator[str]:
    """The text between fenced code blocks (CommonMark 4.5); one left open goes to the end."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        if fence:
            closes = match and match["fence"].startswith(fence) and not match["info"].strip()
            fence = "" if closes else fence
        elif match and not (match["fence"][0] == "`" and "`" in match["info"]):
            fence = match["fence"]
            yield "".join(kept)
            kept = []
        else:
            kept.append(line)
    yield "".join(kept)
