"""What a change of a text looks like: a unified diff for the person, a numbered excerpt for the model."""

import difflib
from dataclasses import dataclass

from maia_kernel.files import split_lines

_COMPARED_LINES = 3_000  # difflib is quadratic: beyond, the changed middle is shown as replaced
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Change:
    """A diff without file headers, and how many lines it adds and removes."""

    diff: str
    added: int
    removed: int

    @property
    def size(self) -> str:
        """As in `+3 -1`."""
        return f"+{self.added} -{self.removed}"


def change_of(before: str, after: str) -> Change:
    """The whole change from one text to another, line ends apart: a person allows what they can see."""
    old, new = split_lines(before), split_lines(after)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    middle = (len(old) - start - end, len(new) - start - end)
    if max(middle) > _COMPARED_LINES:
        lines = _replaced(old, new, start, end)
    else:
        # Only the part that differs, with context: the rest costs time and says nothing.
        first = max(0, start - _CONTEXT)
        tail = max(0, end - _CONTEXT)
        lines = list(
            difflib.unified_diff(
                old[first : len(old) - tail], new[first : len(new) - tail], lineterm="", n=_CONTEXT
            )
        )[2:]
        lines = [_shifted(line, first) if line.startswith("@@") else line for line in lines]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return Change("\n".join(lines), added, removed)


def excerpt(text: str, at: int, length: int, *, context: int = 4, most: int = 40) -> str:
    """Numbered lines of `text` around the characters `at` to `at + length`."""
    lines = split_lines(text)
    first = text.count("\n", 0, at)
    last = text.count("\n", 0, at + length)
    begin, end = max(0, first - context), min(len(lines), last + 1 + context)
    shown = [f"{number:>6}\t{line}" for number, line in enumerate(lines[begin:end], begin + 1)]
    if len(shown) > most:
        left = len(shown) - most
        shown = [*shown[: most // 2], f"[... {left} lines ...]", *shown[-most // 2 :]]
    return "\n".join(shown)


def _common(old: list[str], new: list[str]) -> int:
    length = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        length += 1
    return length


def _replaced(old: list[str], new: list[str], start: int, end: int) -> list[str]:
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    head = f"@@ -{_range(start, len(gone))} +{_range(start, len(come))} @@"
    return [head, *(f"-{line}" for line in gone), *(f"+{line}" for line in come)]


def _range(start: int, count: int) -> str:
    """As POSIX diff writes it: an empty range stands after the line before it, one line has no count."""
    if count == 1:
        return f"{start + 1}"
    return f"{start + 1 if count else start},{count}"


def _shifted(header: str, by: int) -> str:
    """A hunk header of a slice, with the line numbers of the whole."""
    if not by:
        return header
    _, old, new, _ = header.split(" ", 3)
    return f"@@ {_moved(old, by)} {_moved(new, by)} @@"


def _moved(part: str, by: int) -> str:
    start, comma, count = part[1:].partition(",")
    return f"{part[0]}{int(start) + by}{comma}{count}"
