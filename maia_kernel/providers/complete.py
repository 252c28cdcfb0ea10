"""What every adapter's stream goes through, so that all end alike."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from maia_kernel.errors import ProtocolFault, StreamBroken
from maia_kernel.providers.base import Chunk, Stopped, StopReason, TextChunk, ToolUseStarted
from maia_kernel.texts import text

# The loop has an answer of its own to these, also when nothing was said before.
_MAY_BE_EMPTY: frozenset[StopReason] = frozenset(
    {"max_tokens", "pause_turn", "refusal", "context_window_exceeded"}
)


async def complete(chunks: AsyncGenerator[Chunk], *, provider: str) -> AsyncIterator[Chunk]:
    """The same chunks, up to and including `Stopped`; closing this closes `chunks`.

    Raises:
        StreamBroken: the chunks end without `Stopped`.
        ProtocolFault: neither text nor a call came; the message names the finish reason.
    """
    answered = False
    async with aclosing(chunks):
        async for chunk in chunks:
            match chunk:
                case TextChunk():
                    answered = answered or bool(chunk.text.strip())
                case ToolUseStarted():
                    answered = True
                case Stopped():
                    if not answered and chunk.reason not in _MAY_BE_EMPTY:
                        reason = chunk.detail or chunk.reason
                        message = text("providers.empty", provider=provider, reason=reason)
                        raise ProtocolFault(message, provider=provider)
                    yield chunk
                    return
            yield chunk
    raise StreamBroken(text("providers.cut", provider=provider), provider=provider)
