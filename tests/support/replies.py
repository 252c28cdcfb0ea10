"""Reads a provider's reply to its end."""

from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from maia_kernel.messages import Message, user
from maia_kernel.providers.base import Chunk, Provider, Request, Stopped
from maia_kernel.providers.reply import ReplyState, fold
from maia_kernel.usage import Usage

KEY = "sk-canary-7391-never-shown"


@dataclass(frozen=True)
class Reply:
    """A whole reply; `chunks` are what it was made of."""

    message: Message
    stop: Stopped
    usage: Usage
    chunks: tuple[Chunk, ...]


async def read(provider: Provider, request: Request | None = None, **fields: Any) -> Reply:
    """The reply to `request`, or to a plain prompt with `fields` of a request."""
    if request is None:
        fields = {"model": "m", "messages": (user("Hello"),), **fields}
        request = Request(**fields)
    state, seen = ReplyState(), []
    async with aclosing(provider.stream(request)) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            seen.append(chunk)
            state = fold(state, chunk)
    assert state.stop is not None
    assert seen[-1] is state.stop
    return Reply(state.message(), state.stop, state.usage, tuple(seen))
