"""Finding an exact text in a file, and saying what differs where it almost matches."""

import difflib
import re
from collections.abc import Callable

from maia_kernel.files import split_lines

_LINE_END = re.compile(r"\r\n|\r|\n")
_NUMBERED = re.compile(r"\s*\d+(?:\t|→)")
_SHOWN_LINES = 12
_COMPARED = 300  # characters of a line: the comparison is quadratic
_ANCHORS = 400  # lines compared character by character, at most
_QUOTES = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | dict.fromkeys("\u00a0\u202f", " ")
    | {"\u2026": "..."}
)


def find_all(text: str, wanted: str) -> list[tuple[int, int]]:
    """Where `wanted` stands in `text`, without overlaps; any line end matches any other."""
    if "\r" not in text and "\r" not in wanted:
        pattern = re.escape(wanted)
    else:
        pattern = r"(?:\r\n|\r|\n)".join(re.escape(part) for part in _LINE_END.split(wanted))
    return [match.span() for match in re.finditer(pattern, text)]


def nearest(text: str, wanted: str) -> str:
    """A message for the model: `wanted` is not in `text`, what comes nearest, what differs."""
    sought = split_lines(wanted.replace("\r\n", "\n"))
    lines = split_lines(text)
    if not lines:
        return "old_string was not found: the file is empty."
    if len(sought) > 0 and all(_NUMBERED.match(line) for line in sought):
        bare = [_NUMBERED.sub("", line, count=1) for line in sought]
        if find_all(text, "\n".join(bare)):
            return (
                "old_string was not found: it begins its lines with the line numbers that Read shows. "
                "Leave number and tab out."
            )
    # Once over the file in the loosest form; what exactly differs is asked of that place alone.
    start = _find_lines([_loose(line) for line in lines], [_loose(line) for line in sought])
    if start is not None:
        return _explained(lines, sought, start, _what_differs(lines, sought, start))
    start = _most_alike(lines, sought)
    if start is None:
        return (
            "old_string was not found, and nothing in the file resembles it. Read the file again."
        )
    return _explained(lines, sought, start, "")


def _spaces(line: str) -> str:
    return " ".join(line.split())


def _quotes(line: str) -> str:
    return line.translate(_QUOTES)


def _loose(line: str) -> str:
    return _spaces(_quotes(line)).lower()


_NORMAL_FORMS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("spaces at the ends of lines", str.rstrip),
    ("indentation (spaces or tabs at the beginning of lines)", str.strip),
    ("spaces and tabs", _spaces),
    ("quotes, dashes or special spaces", _quotes),
    ("spaces and in quotes or dashes", lambda line: _spaces(_quotes(line))),
    ("upper and lower case", _loose),
)


def _what_differs(lines: list[str], sought: list[str], start: int) -> str:
    place = lines[start : start + len(sought)]
    for what, normal in _NORMAL_FORMS:
        if _find_lines([normal(line) for line in place], [normal(line) for line in sought]) == 0:
            return f"It differs in {what}."
    return ""


def _find_lines(lines: list[str], sought: list[str]) -> int | None:
    """The first place where `sought` stands; its outer lines may be parts of lines."""
    length = len(sought)
    if not any(sought):
        return None
    if length == 1:
        return next((at for at, line in enumerate(lines) if sought[0] in line), None)
    for at in range(len(lines) - length + 1):
        if (
            lines[at].endswith(sought[0])
            and lines[at + length - 1].startswith(sought[-1])
            and lines[at + 1 : at + length - 1] == sought[1:-1]
        ):
            return at
    return None


def _most_alike(lines: list[str], sought: list[str]) -> int | None:
    """Where the longest sought line, or the window around it, has its best look-alike."""
    offset, anchor = max(enumerate(sought), key=lambda item: len(item[1].strip()))
    words = set(re.findall(r"\w+", anchor))
    scored = sorted(
        ((len(words & set(re.findall(r"\w+", line))), -at) for at, line in enumerate(lines)),
        reverse=True,
    )
    best: tuple[float, int] = (0.0, -1)
    stripped = [_spaces(line) for line in sought]
    for shared, negative in scored[:_ANCHORS]:
        if shared == 0:
            break
        at = -negative
        ratio = _likeness(_spaces(lines[at])[:_COMPARED], _spaces(anchor)[:_COMPARED])
        start = max(0, at - offset)
        window = [_spaces(line) for line in lines[start : start + len(sought)]]
        ratio += sum(line in window for line in stripped) / len(sought)
        best = max(best, (ratio, -start))
    return -best[1] if best[0] >= 0.6 else None


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def _explained(lines: list[str], sought: list[str], start: int, what: str) -> str:
    end = min(len(lines), start + len(sought))
    shown = [
        f"{number:>6}\t{line}"
        for number, line in enumerate(lines[start : min(end, start + _SHOWN_LINES)], start + 1)
    ]
    place = f"line {start + 1}" if end - start <= 1 else f"lines {start + 1}-{end}"
    message = [f"old_string was not found. The nearest text is at {place}:", *shown]
    if end - start > _SHOWN_LINES:
        message.append(f"[... {end - start - _SHOWN_LINES} more lines ...]")
    if what:
        message.append(what)
    message += _first_differences(lines[start:end], sought, start)
    return "\n".join(message)


def _first_differences(there: list[str], sought: list[str], start: int) -> list[str]:
    found: list[str] = []
    for number, (one, other) in enumerate(zip(there, sought, strict=False), start + 1):
        if one != other and other not in one:
            found.append(
                f"Line {number} of the file: {one[:200]!r}\nold_string has:     {other[:200]!r}"
            )
        if len(found) == 3:
            break
    if len(sought) > len(there):
        found.append("old_string goes on where the file ends.")
    return found
