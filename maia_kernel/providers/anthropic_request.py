"""A neutral request as the JSON of the Messages API (platform.claude.com/docs/en/api/messages)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from maia_kernel.messages import (
    Block,
    Document,
    Image,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    block_to_dict,
)
from maia_kernel.providers.base import Capabilities, Request, ToolSpec
from maia_kernel.providers.base import Thinking as Wanted
from maia_kernel.providers.catalog import ThinkingStyle
from maia_kernel.providers.effort import budget_of, effort_of

_CACHE = {"type": "ephemeral"}
_MAX_BREAKPOINTS = 4
_MIN_BUDGET = 1024
_ANSWER_TOKENS = 1024  # kept for the answer beside a budget of thinking
_FOREIGN_ID = re.compile(r"[^a-zA-Z0-9_-]")
# The API refuses cache marks on these, and on empty text.
_UNMARKABLE = ("thinking", "redacted_thinking")


def body_of(
    request: Request, capabilities: Capabilities, style: ThinkingStyle, max_tokens: int
) -> dict[str, Any]:
    """Every top-level field but `stream`; what `params` name is for the caller to add."""
    messages, marks = _messages(request, capabilities)
    system: list[dict[str, Any]] = [
        {"type": "text", "text": part.text} for part in request.system if part.text
    ]
    cached = [part.cache for part in request.system if part.text]
    # The static parts come first in the prefix; a fifth mark would be refused, so the oldest of the
    # messages' marks go.
    room = _MAX_BREAKPOINTS - sum(cached)
    for block, marked in zip(system, cached, strict=True):
        if marked:
            block["cache_control"] = dict(_CACHE)
    for block in marks[max(0, len(marks) - max(0, room)) :] if room > 0 else ():
        block["cache_control"] = dict(_CACHE)
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": max_tokens,
        "messages": messages,
    }
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.thinking is not None:
        body.update(_thinking(request.thinking, style, max_tokens))
    return body


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.input_schema),
    }


def _messages(
    request: Request, capabilities: Capabilities
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The messages, and of each one to be cached its last block that may carry a mark."""
    messages: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for index, message in enumerate(request.messages):
        content = list(_content(message, capabilities))
        if not content:
            continue
        messages.append({"role": message.role, "content": content})
        if index in request.cache_after:
            markable = [block for block in content if block["type"] not in _UNMARKABLE]
            marks += markable[-1:]
    return messages, marks


def _content(message: Message, capabilities: Capabilities) -> Iterator[dict[str, Any]]:
    for block in message.content:
        data = _block(block, capabilities)
        if data is not None:
            yield data


def _block(block: Block, capabilities: Capabilities) -> dict[str, Any] | None:
    match block:
        case Text():
            return {"type": "text", "text": block.text} if block.text else None
        case Image():
            if not capabilities.images:
                return {"type": "text", "text": "[image left out: this model cannot see images]"}
            return block_to_dict(block)
        case Document():
            return _document(block, capabilities)
        case Thinking():
            # Reasoning of another provider has no signature, and would be refused.
            signed = {"type": "thinking", "thinking": block.text, "signature": block.signature}
            return signed if block.signature else None
        case RedactedThinking():
            return block_to_dict(block)
        case ToolUse():
            return {
                "type": "tool_use",
                "id": _id(block.id),
                "name": block.name,
                "input": _input(block),
            }
        case ToolResult():
            return _result(block, capabilities)
        case _:
            assert_never(block)


def _document(block: Document, capabilities: Capabilities) -> dict[str, Any]:
    if capabilities.pdf:
        return block_to_dict(block)
    title = block.title or block.media_type
    return {"type": "text", "text": f"[document {title} left out: this model cannot read it]"}


def _input(call: ToolUse) -> Mapping[str, Any]:
    if call.invalid_json is not None:
        return {"INVALID_JSON": call.invalid_json}  # the API's own way to hand broken input back
    return dict(call.input)


def _result(result: ToolResult, capabilities: Capabilities) -> dict[str, Any]:
    parts = [_block(part, capabilities) for part in result.content]
    data: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(result.tool_use_id)}
    content = [part for part in parts if part is not None]
    if content:
        data["content"] = content
    if result.is_error:
        data["is_error"] = True
    return data


def _id(id: str) -> str:
    """Ids that another provider gave, in the alphabet this one takes."""
    return _FOREIGN_ID.sub("_", id) or "call"


def _thinking(wanted: Wanted, style: ThinkingStyle, max_tokens: int) -> dict[str, Any]:
    """The fields for what was asked, as far as the model takes them."""
    if wanted.effort is None and wanted.budget_tokens is None:
        return {}
    if wanted.budget_tokens == 0:
        return {} if style in ("always", "none") else {"thinking": {"type": "disabled"}}
    match style:
        case "adaptive" | "always":
            return _adaptive(wanted)
        case "mixed":
            return _adaptive(wanted) if wanted.effort else _budget(wanted, max_tokens)
        case "budget":
            return _budget(wanted, max_tokens)
        case "effort" | "none":
            return {}
        case _:
            assert_never(style)


def _adaptive(wanted: Wanted) -> dict[str, Any]:
    effort = wanted.effort
    if effort is None and wanted.budget_tokens is not None:
        effort = effort_of(wanted.budget_tokens)
    fields: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
    if effort is not None:
        fields["output_config"] = {"effort": effort}
    return fields


def _budget(wanted: Wanted, max_tokens: int) -> dict[str, Any]:
    tokens = wanted.budget_tokens
    if tokens is None:
        tokens = budget_of(wanted.effort) if wanted.effort else 0
    tokens = min(max(tokens, _MIN_BUDGET), max_tokens - _ANSWER_TOKENS)
    if tokens < _MIN_BUDGET:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}
