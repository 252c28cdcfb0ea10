"""Cuts streaming Markdown into segments that each render on their own.

Every update of an output sends it whole, so outputs must stay short for the bytes to stay linear. A
segment ends at a blank line where a new block begins at the margin: never inside a code fence, a list
or a table. A block that is longer than `HARD` is cut all the same: a fence is closed and opened again
with its info string, a table repeats its head, anything else ends at a line or a space.
"""

import re

SOFT = 4096
"""Characters after which a segment ends at the next good place."""
HARD = 3 * SOFT
"""Characters after which it ends anyway."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_RULER = re.compile(r" {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$")
_HTML = re.compile(r"<(/?)(details|table|div)\b", re.IGNORECASE)


class Segments:
    """`feed` text; `finished` segments never change again, `current` is the growing one."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.current = ""
        self._start_anew()
        self._fence = ""  # the opening line of the fence that is open
        self._html = 0

    def feed(self, piece: str) -> None:
        """Append `piece`; may finish segments."""
        self.current += piece
        while (end := self.current.find("\n", self._scanned)) >= 0:
            self._take_line(self.current[self._scanned : end], end + 1)
        if len(self.current) - self._scanned > SOFT and len(self.current) >= HARD:
            self._cut(self.current.rfind(" ", self._scanned) + 1 or len(self.current), forced=True)

    def _start_anew(self) -> None:
        self._scanned = 0  # whole lines of `current` that were looked at
        self._break = 0  # the last good place to end
        self._blank = True
        self._list = False
        self._previous = ""
        self._table = ""  # head and ruler of the table that is open

    def _take_line(self, row: str, end: int) -> None:
        start, self._scanned = self._scanned, end
        fence = _FENCE.fullmatch(row)
        if self._fence:
            self._close(row, fence)
        else:
            self._outside(row, fence, start)
        self._blank, self._previous = not row.strip(), row
        if len(self.current) >= SOFT and self._break:
            self._cut(self._break)
        elif self._scanned >= HARD:
            self._cut(self._scanned, forced=True)

    def _close(self, row: str, fence: re.Match[str] | None) -> None:
        opening = _FENCE.fullmatch(self._fence)
        if fence and opening and not fence[2].strip() and fence[1].startswith(opening[1]):
            self._fence = ""

    def _outside(self, row: str, fence: re.Match[str] | None, start: int) -> None:
        item = bool(_ITEM.match(row))
        begins = self._blank and bool(row) and not row[0].isspace()
        if begins and not self._html and not (self._list and item):
            self._break = start
            self._list = item
        elif item:
            self._list = True
        if _RULER.fullmatch(row) and "|" in self._previous:
            self._table = f"{self._previous}\n{row}\n"
        elif not row.strip():
            self._table = ""
        for tag in _HTML.finditer(row):
            self._html = max(0, self._html + (-1 if tag[1] else 1))
        # A backtick fence with a backtick in its info string is inline code (CommonMark 4.5).
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._fence = row

    def _cut(self, place: int, *, forced: bool = False) -> None:
        """End the segment at `place`; `forced` says that it lies within a block."""
        head, rest = self.current[:place], self.current[place:]
        fence = _FENCE.fullmatch(self._fence) if forced else None
        if fence:
            head = head.removesuffix("\n")
            # Still the same fence: its opening line counts as seen.
            head, rest = f"{head}\n{fence[1]}\n", f"{self._fence}\n{rest}"
        elif forced and self._table and place == self._scanned:
            rest = self._table + rest
        self.finished.append(head)
        self.current = rest
        self._start_anew()
        if fence:
            self._scanned = len(self._fence) + 1
        else:
            # `feed` looks at the lines after `place` again, as lines of the new segment.
            self._fence, self._html = "", 0
