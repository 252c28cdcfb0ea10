"""A neutral request as the JSON of a chat completion (platform.openai.com/docs/api-reference/chat)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from maia_kernel.messages import (
    Block,
    Document,
    Image,
    Message,
    Text,
    ToolResult,
    ToolUse,
)
from maia_kernel.providers import catalog
from maia_kernel.providers.base import Capabilities, Request, ToolSpec
from maia_kernel.providers.effort import effort_of

_IMAGES_OF_RESULTS = "Images of the tool results above:"


def chat_body(
    request: Request,
    capabilities: Capabilities,
    *,
    params: Mapping[str, Any],
    max_tokens_field: str,
) -> dict[str, Any]:
    """The JSON of a request but for `stream`; `params` are the server's, the request's go above."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": chat_messages(request, capabilities),
        "stream_options": {"include_usage": True},
        **params,
        **request.params,
    }
    if request.tools:
        body["tools"] = chat_tools(request.tools)
    if request.max_tokens is not None:
        body[max_tokens_field] = request.max_tokens
    family = catalog.family(request.model)
    if request.thinking is not None and family is not None and family.thinking == "effort":
        budget = request.thinking.budget_tokens
        effort = request.thinking.effort or (None if budget is None else effort_of(budget))
        if effort is not None:
            body["reasoning_effort"] = effort
    return body


def chat_messages(request: Request, capabilities: Capabilities) -> list[dict[str, Any]]:
    """System prompt and conversation, in order.

    Reasoning is left out: servers refuse fields of assistant messages that they do not know. What the
    model cannot see is named in its place.
    """
    system = "\n\n".join(part.text for part in request.system if part.text)
    start = [{"role": "system", "content": system}] if system else []
    rest = (part for message in request.messages for part in _message(message, capabilities))
    return [*start, *rest]


def chat_tools(tools: tuple[ToolSpec, ...]) -> list[dict[str, Any]]:
    """The tools as functions."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.input_schema),
            },
        }
        for tool in tools
    ]


def arguments_of(call: ToolUse) -> str:
    """The input of a call as JSON text; broken input goes back wrapped, so that every server can read it."""
    if call.invalid_json is not None:
        return json.dumps({"INVALID_JSON": call.invalid_json}, ensure_ascii=False)
    return json.dumps(dict(call.input), ensure_ascii=False)


def _message(message: Message, capabilities: Capabilities) -> Iterator[dict[str, Any]]:
    if message.role == "assistant":
        yield from _assistant(message)
        return
    results = [block for block in message.content if isinstance(block, ToolResult)]
    for result in results:
        yield {
            "role": "tool",
            "tool_call_id": result.tool_use_id,
            "content": _result_text(result, capabilities),
        }
    # A tool message may hold text alone, so pictures follow in a message of their own.
    seen: list[Block] = [
        block
        for result in results
        for block in result.content
        if not isinstance(block, Text) and _can_see(block, capabilities)
    ]
    said: list[Block] = [block for block in message.content if not isinstance(block, ToolResult)]
    content: list[Block] = [Text(_IMAGES_OF_RESULTS), *seen, *said] if seen else said
    if content:
        yield {"role": "user", "content": _content(content, capabilities)}


def _assistant(message: Message) -> Iterator[dict[str, Any]]:
    data: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.tool_uses:
        data["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_of(call)},
            }
            for call in message.tool_uses
        ]
    if data["content"] is not None or message.tool_uses:
        yield data


def _content(blocks: list[Block], capabilities: Capabilities) -> str | list[dict[str, Any]]:
    """A plain string where that is enough: several servers take nothing else."""
    parts = [_part(block, capabilities) for block in blocks]
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _part(block: Block, capabilities: Capabilities) -> dict[str, Any]:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Image() if capabilities.images:
            url = f"data:{block.media_type};base64,{block.data}"
            return {"type": "image_url", "image_url": {"url": url}}
        case Document() if capabilities.pdf:
            data = f"data:{block.media_type};base64,{block.data}"
            name = block.title or "document.pdf"
            return {"type": "file", "file": {"filename": name, "file_data": data}}
        case _:
            return {"type": "text", "text": _left_out(block)}


def _result_text(result: ToolResult, capabilities: Capabilities) -> str:
    parts = [
        block.text if isinstance(block, Text) else _left_out(block)
        for block in result.content
        if isinstance(block, Text) or not _can_see(block, capabilities)
    ]
    said = "\n".join(parts)
    return f"Error: {said}" if result.is_error and not said.startswith("Error") else said


def _can_see(block: Block, capabilities: Capabilities) -> bool:
    return (isinstance(block, Image) and capabilities.images) or (
        isinstance(block, Document) and capabilities.pdf
    )


def _left_out(block: Block) -> str:
    if isinstance(block, Document):
        return f"[document {block.title or block.media_type} left out: this model cannot read it]"
    return "[image left out: this model cannot see images]"
