"""A neutral request as the JSON of Ollama's own chat API (github.com/ollama/ollama, docs/api.md)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from maia_kernel.messages import (
    Block,
    Document,
    Image,
    Message,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from maia_kernel.providers.base import Request
from maia_kernel.providers.effort import effort_of

_LEVELS: Final = {"low": "low", "medium": "medium", "high": "high", "xhigh": "max", "max": "max"}
# The fields of `options` that people set as parameters of a server; the others are the request's own.
_TOP_LEVEL: Final = frozenset({"format", "keep_alive", "think", "truncate", "shift"})


@dataclass(frozen=True, slots=True)
class Facts:
    """What a model can do, as the server said; the limits in tokens, None where it did not say.

    `levels`: it takes words for thinking, and ignores yes and no.
    """

    tools: bool = True
    images: bool = False
    thinking: bool = False
    levels: bool = False
    context_window: int | None = None


def chat_body(
    request: Request, facts: Facts, *, num_ctx: int | None, params: Mapping[str, Any]
) -> dict[str, Any]:
    """The whole JSON of `POST /api/chat`, streamed. `num_ctx` is the context length in tokens.

    It stays the same for all of a session: another value would load the model anew.
    """
    given = {**params, **request.params}
    body = {name: value for name, value in given.items() if name in _TOP_LEVEL}
    options = {name: value for name, value in given.items() if name not in _TOP_LEVEL}
    if num_ctx is not None:
        options["num_ctx"] = num_ctx
    if request.max_tokens is not None:
        options["num_predict"] = request.max_tokens
    think = _think(request, facts)
    return {
        "model": request.model,
        "messages": list(_messages(request, facts)),
        "stream": True,
        **({"think": think} if think is not None else {}),
        **({"tools": _tools(request)} if request.tools and facts.tools else {}),
        **body,
        "options": options,
    }


def _think(request: Request, facts: Facts) -> bool | str | None:
    wanted = request.thinking
    if wanted is None or not facts.thinking:
        return None
    budget = wanted.budget_tokens
    effort = wanted.effort or (None if budget is None else effort_of(budget))
    if effort is None:
        return None
    return _LEVELS[effort] if facts.levels else True


def _tools(request: Request) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.input_schema),
            },
        }
        for tool in request.tools
    ]


def _messages(request: Request, facts: Facts) -> Iterator[dict[str, Any]]:
    system = "\n\n".join(part.text for part in request.system if part.text)
    if system:
        yield {"role": "system", "content": system}
    names = {call.id: call.name for message in request.messages for call in message.tool_uses}
    for message in request.messages:
        if message.role == "assistant":
            yield from _assistant(message)
        else:
            yield from _user(message, facts, names)


def _assistant(message: Message) -> Iterator[dict[str, Any]]:
    data: dict[str, Any] = {"role": "assistant", "content": message.text}
    # Reasoning goes back only beside the calls that it led to, as the model's template wants it.
    thoughts = [block.text for block in message.content if isinstance(block, Thinking)]
    if message.tool_uses:
        if any(thoughts):
            data["thinking"] = "".join(thoughts)
        data["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": _arguments(call)}}
            for call in message.tool_uses
        ]
    if data["content"] or message.tool_uses:
        yield data


def _arguments(call: ToolUse) -> dict[str, Any]:
    if call.invalid_json is not None:
        return {"INVALID_JSON": call.invalid_json}
    return dict(call.input)


def _user(message: Message, facts: Facts, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for block in message.content:
        if isinstance(block, ToolResult):
            said, images = _said(block.content, facts)
            if block.is_error and not said.startswith("Error"):
                said = f"Error: {said}"
            yield {
                "role": "tool",
                "tool_name": names.get(block.tool_use_id, ""),
                "tool_call_id": block.tool_use_id,
                "content": said,
                **({"images": images} if images else {}),
            }
    blocks = [block for block in message.content if not isinstance(block, ToolResult)]
    said, images = _said(blocks, facts)
    if said or images:
        yield {"role": "user", "content": said, **({"images": images} if images else {})}


def _said(blocks: Sequence[Block], facts: Facts) -> tuple[str, list[str]]:
    """Text and pictures of a message; what the model cannot see is named in its place."""
    texts, images = [], []
    for block in blocks:
        match block:
            case Text():
                texts.append(block.text)
            case Image() if facts.images:
                images.append(block.data)
            case Image():
                texts.append("[image left out: this model cannot see images]")
            case Document():
                name = block.title or block.media_type
                texts.append(f"[document {name} left out: this model cannot read it]")
            case _:
                texts.append(json.dumps(str(block)))
    return "\n\n".join(texts), images
