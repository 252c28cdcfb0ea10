"""Known secrets are taken out of what is shown and written, whether a tool said them or the model."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar

from maia_kernel.display import ImageDisplay
from maia_kernel.messages import Block, Document, Image, Message, RedactedThinking, Thinking
from maia_kernel.ports import Secrets

T = TypeVar("T")

# Base64 of pictures and documents, and what a provider encrypted: no text to look into.
_SEALED: Final = (Image, Document, ImageDisplay, RedactedThinking)


def redacted(value: T, secrets: Secrets) -> T:
    """`value` (an event, a display, a block, a tool's output) with known secrets in it as `***`."""
    found: Any = _redacted(value, secrets)
    result: T = found
    return result


def for_model(message: Message, secrets: Secrets) -> Message:
    """An assistant's message as the conversation keeps it.

    Signed reasoning stays as it is: its provider takes it back unchanged or not at all.
    """
    return replace(message, content=tuple(_resendable(b, secrets) for b in message.content))


def for_transcript(message: Message, secrets: Secrets) -> Message:
    """The message as it is written; reasoning that had to be changed loses its signature."""
    return replace(message, content=tuple(_written(block, secrets) for block in message.content))


class Pieces:
    """One text that comes in pieces: a secret is taken out wherever it was cut.

    Only an end that may be the beginning of a secret is held back, until the next piece or `rest`.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text so far may be shown now, after what was returned before."""
        redact = self._secrets.redact
        raw = self._held + piece
        whole = redact(raw)
        place = len(raw) - self._secrets.unfinished(raw)
        if redact(raw[:place]) + redact(raw[place:]) != whole:
            # The end begins within a whole secret, which goes at once.
            raw, place = whole, len(whole) - self._secrets.unfinished(whole)
        # Held as it came: it may be one whole secret and the beginning of a longer one.
        self._held = raw[place:]
        return redact(raw[:place])

    def rest(self) -> str:
        """What was held back; the text is over."""
        left, self._held = self._held, ""
        return self._secrets.redact(left)


def _redacted(value: Any, secrets: Secrets) -> Any:
    if isinstance(value, str):
        return secrets.redact(value)
    if isinstance(value, tuple | list):
        parts = [_redacted(part, secrets) for part in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, Mapping):
        return {secrets.redact(str(k)): _redacted(part, secrets) for k, part in value.items()}
    if is_dataclass(value) and not isinstance(value, (type, *_SEALED)):
        old = {field.name: getattr(value, field.name) for field in fields(value)}
        new = {name: _redacted(part, secrets) for name, part in old.items()}
        changed = {name: part for name, part in new.items() if part != old[name]}
        return replace(value, **changed) if changed else value
    return value


def _resendable(block: Block, secrets: Secrets) -> Block:
    return block if isinstance(block, Thinking) and block.signature else redacted(block, secrets)


def _written(block: Block, secrets: Secrets) -> Block:
    safe = redacted(block, secrets)
    if isinstance(safe, Thinking) and safe != block:
        return replace(safe, signature="")
    return safe
