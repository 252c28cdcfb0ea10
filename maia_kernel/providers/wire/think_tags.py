"""Reasoning between `<think>` tags in the text of local models, found while it streams.

Only a tag that opens the answer counts: the same word later is the model's text, for instance in an
answer about HTML. Where the chat template has already opened the tag in the prompt, the answer holds
only `</think>`; `opened` says that a model's answer is expected to begin inside. If it then never
closes, it was the answer after all, and is said again as text.
"""

from dataclasses import dataclass
from typing import Literal

_PAIRS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
}
_Part = tuple[Literal["text", "thinking"], str]


@dataclass(slots=True)
class ThinkTags:
    """Give it text with `feed`, then `finish`; both return parts in order, never an empty one."""

    opened: bool = False
    _state: Literal["start", "thinking", "gap", "text"] = "start"
    _closing: str = "</think>"
    _held: str = ""
    _unclosed: str = ""  # what an answer that is expected to begin inside has said so far

    def feed(self, piece: str) -> list[_Part]:
        """What is certain after `piece`; the rest is held back until more comes."""
        self._held += piece
        parts: list[_Part] = []
        if self._state == "start":
            self._begin()
        if self._state == "thinking":
            parts += self._think()
        if self._state == "gap":
            self._held = self._held.lstrip()
            if self._held:
                self._state = "text"
        if self._state == "text" and self._held:
            parts.append(("text", self._held))
            self._held = ""
        return parts

    def finish(self) -> list[_Part]:
        """What was held back."""
        held, self._held = self._held, ""
        if self._state == "thinking" and self.opened:
            held = self._unclosed + held
            return [("text", held)] if held else []
        if not held:
            return []
        return [("thinking", held)] if self._state == "thinking" else [("text", held)]

    def _begin(self) -> None:
        if self.opened:
            self._state = "thinking"
            return
        start = self._held.lstrip()
        if not start:
            return
        for tag, closing in _PAIRS.items():
            if start.startswith(tag):
                self._state, self._closing = "thinking", closing
                self._held = start[len(tag) :].lstrip("\n")
                return
        if not any(tag.startswith(start) for tag in _PAIRS):
            self._state = "text"

    def _think(self) -> list[_Part]:
        before, found, after = self._held.partition(self._closing)
        if found:
            self._held, self._state = after, "gap"
            return [("thinking", before.rstrip("\n"))] if before.strip() else []
        # The end may be the beginning of the closing tag.
        keep = next(
            (n for n in range(len(self._closing) - 1, 0, -1) if before.endswith(self._closing[:n])),
            0,
        )
        sure, self._held = before[: len(before) - keep], before[len(before) - keep :]
        if self.opened:
            self._unclosed += sure
        return [("thinking", sure)] if sure else []
