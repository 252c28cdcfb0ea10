"""Texts with secrets in them, and the same texts with masks in their place."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from maia_kernel.secrets.shapes import Found, find, growing

KNOWN: Final = "***"
_MASK: Final = re.compile(r"\[secret: [A-Za-z][A-Za-z ]{2,40}\]|\*\*\*")


_LOOKS: Final = 4


class _Values(Protocol):
    def redact(self, text: str) -> str: ...

    def unfinished(self, text: str) -> int: ...

    def kinds(self, texts: Iterable[str]) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Mask:
    """Hides the values that this process knows as `***`, and what has the shape of a key as
    `[secret: its kind]`. With `shapes` off only the known values. The port `Secrets`.
    """

    known: _Values
    shapes: bool = True

    def redact(self, text: str) -> str:
        """`text` with masks in place of secrets; a text with masks stays as it is."""
        text = self.known.redact(text)
        if not self.shapes:
            return text
        # What one mask uncovers of a text that was no secret as a whole, the next look finds.
        for _ in range(_LOOKS):
            found = find(text)
            if not found:
                break
            text = _masked(text, found)
        return text

    def unfinished(self, text: str) -> int:
        """How many characters at the end of `text` may be the beginning of a secret."""
        known = self.known.unfinished(text)
        return max(known, growing(text)) if self.shapes else known

    def kinds(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The kinds of the secrets in these texts, each once, sorted."""
        every = list(texts)
        kinds = set(self.known.kinds(every))
        if self.shapes:
            kinds.update(one.kind for text in every for one in find(self.known.redact(text)))
        return tuple(sorted(kinds))


def _masked(text: str, found: Sequence[Found]) -> str:
    parts, last = [], 0
    for one in found:
        parts += [text[last : one.start], f"[secret: {one.kind}]"]
        last = one.end
    return "".join([*parts, text[last:]])


def adds_masks(before: str, after: str, *, hides: bool) -> bool:
    """True when `after` has masks that `before` has not: they stand for values nobody was shown.

    Three stars count only where `hides` says that `before` has a value that is shown so.
    """
    own = [one for one in _MASK.findall(after) if one != KNOWN or hides]
    return len(own) > masks_in(before)


def masks_in(text: str) -> int:
    """How many masks stand in `text`; three stars may be anybody's."""
    return len(_MASK.findall(text))


def is_mask(text: str) -> bool:
    """True when `text` holds a mask that only `Mask` writes."""
    return any(found != KNOWN for found in _MASK.findall(text))
