"""A text that comes in pieces, without the secrets in it, wherever they were cut."""

from typing import Final

from maia_kernel.ports import Secrets

_CONTEXT: Final = 2


class Pieces:
    """One text that comes in pieces: a secret is taken out wherever it was cut.

    Only an end that may be the beginning of a secret is held back, until the next piece or `rest`.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._before = ""  # the last characters of what is out: is this the middle of a word?
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text so far may be shown now, after what was returned before."""
        before, raw = self._before, self._held + piece
        whole = self._masked(before, raw)
        place = self._place(before, raw)
        if whole == raw:  # nearly always: looking once is enough
            self._before, self._held = _end(before, raw[:place]), raw[place:]
            return raw[:place]
        masked = self._masked(before, raw[:place])
        if masked + self._masked(_end(before, raw[:place]), raw[place:]) != whole:
            # The end begins within a whole secret, which goes at once.
            raw, place = whole, self._place(before, whole)
            masked = self._masked(before, raw[:place])
        # Held as it came: it may be one whole secret and the beginning of a longer one.
        self._before, self._held = _end(before, raw[:place]), raw[place:]
        return masked

    def rest(self) -> str:
        """What was held back; the text is over."""
        left, self._held = self._held, ""
        return self._masked(self._before, left)

    def _place(self, before: str, raw: str) -> int:
        return max(0, len(raw) - self._secrets.unfinished(before + raw))

    def _masked(self, before: str, raw: str) -> str:
        whole = self._secrets.redact(before + raw)
        return whole[len(before) :] if whole.startswith(before) else self._secrets.redact(raw)


def _end(before: str, raw: str) -> str:
    return (before + raw)[-_CONTEXT:]
