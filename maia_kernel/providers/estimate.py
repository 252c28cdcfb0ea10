"""How many tokens something is, roughly, when a server does not say."""

import json
import math

from maia_kernel.messages import (
    Block,
    Document,
    Image,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from maia_kernel.providers.base import Request

# Measured on Python source with a 200k-word vocabulary: 4.5 characters a token; prose and newer
# vocabularies give fewer, so this errs on the side of more tokens.
_BYTES_PER_TOKEN = 3.6
_MESSAGE_TOKENS = 4
_IMAGE_TOKENS = 1600
_DOCUMENT_PAGE_BYTES = 40_000
_DOCUMENT_PAGE_TOKENS = 2500


def text_tokens(text: str) -> int:
    """Tokens of `text`."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def request_tokens(request: Request) -> int:
    """Tokens that the model has to read for `request`."""
    system = sum(text_tokens(part.text) for part in request.system)
    tools = sum(
        text_tokens(tool.name + tool.description + json.dumps(tool.input_schema, default=str))
        for tool in request.tools
    )
    messages = sum(
        _MESSAGE_TOKENS + sum(block_tokens(block) for block in message.content)
        for message in request.messages
    )
    return system + tools + messages


def block_tokens(block: Block) -> int:
    """Tokens of one content block."""
    match block:
        case Text():
            return text_tokens(block.text)
        case Image():
            return _IMAGE_TOKENS
        case Document():
            pages = max(1, len(block.data) // _DOCUMENT_PAGE_BYTES)
            return pages * _DOCUMENT_PAGE_TOKENS
        case Thinking():
            return text_tokens(block.text)
        case RedactedThinking():
            return text_tokens(block.data)
        case ToolUse():
            return text_tokens(block.name + json.dumps(dict(block.input), default=str))
        case ToolResult():
            return sum(block_tokens(part) for part in block.content)
