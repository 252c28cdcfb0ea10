"""One request put together, with its cache breakpoints."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from maia_kernel.messages import Message
from maia_kernel.providers.base import Request, SystemPart, Thinking, ToolSpec


def assemble(
    messages: tuple[Message, ...],
    *,
    model: str,
    system: tuple[SystemPart, ...],
    tools: tuple[ToolSpec, ...],
    max_tokens: int | None,
    thinking: Thinking | None = None,
    params: Mapping[str, Any] | None = None,
) -> Request:
    """The request for `messages`. Two breakpoints move with the newest user messages.

    With the two of the system prompt that makes four, the most a server takes
    (facts of the Messages API: at most 4 breakpoints, each looks back 20 blocks).
    """
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    return Request(
        model=model,
        messages=messages,
        system=system,
        tools=tools,
        max_tokens=max_tokens,
        thinking=thinking,
        cache_after=tuple(users[-2:]),
        params=params or {},
    )


def joined(before: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
    """The conversation `before` with the new prompt in it.

    One that stopped after tool results goes on in the same user message, since roles must alternate.
    """
    if before and before[-1].role == "user":
        last = before[-1]
        return (*before[:-1], replace(last, content=(*last.content, *message.content)))
    return (*before, message)
