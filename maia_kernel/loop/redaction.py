"""Secrets are taken out of what is sent, shown and written, whether a tool said them or the model."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar

from maia_kernel.display import ImageDisplay
from maia_kernel.messages import Block, Document, Image, Message, RedactedThinking, Thinking
from maia_kernel.ports import Secrets

T = TypeVar("T")

# Base64 of pictures and documents, and what a provider encrypted: no text to look into.
_SEALED: Final = (Image, Document, ImageDisplay, RedactedThinking)


def redacted(value: T, secrets: Secrets) -> T:
    """`value` (an event, a display, a block, a tool's output) with masks in place of secrets."""
    found: Any = _redacted(value, secrets)
    result: T = found
    return result


def hidden(value: object, secrets: Secrets) -> tuple[str, ...]:
    """The kinds of the secrets that `redacted` takes out of `value`."""
    return secrets.kinds(_texts(value))


def for_model(message: Message, secrets: Secrets) -> Message:
    """An assistant's message as the conversation keeps it.

    Signed reasoning stays as it is: its provider takes it back unchanged or not at all.
    """
    return replace(message, content=tuple(_resendable(b, secrets) for b in message.content))


def for_transcript(message: Message, secrets: Secrets) -> Message:
    """The message as it is written; reasoning that had to be changed loses its signature."""
    return replace(message, content=tuple(_written(block, secrets) for block in message.content))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, Mapping):
        yield from _texts([*value.keys(), *value.values()])
    elif is_dataclass(value) and not isinstance(value, (type, *_SEALED)):
        yield from _texts([getattr(value, field.name) for field in fields(value)])


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
