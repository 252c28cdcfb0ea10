"""The neutral conversation: messages made of content blocks, as pure frozen values.

Ids of sessions, files and providers live elsewhere; two messages with the same content are equal.
`to_dict`/`from_dict` use the field names of the public Messages format (type, text, tool_use_id, ...),
so that a transcript is readable by anyone who knows it. Whatever a provider needs back unchanged and
nobody else understands rides in `opaque`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never

Role = Literal["user", "assistant"]
Opaque = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text, of the person or of the model."""

    text: str
    opaque: Opaque | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """A picture; `data` is base64 without line breaks."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Document:
    """A PDF or other document; `data` is base64 without line breaks."""

    media_type: str
    data: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning; must go back with its signature, unchanged."""

    text: str
    signature: str = ""
    opaque: Opaque | None = None


@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """Reasoning that the provider encrypted; goes back unchanged."""

    data: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call. `invalid_json` holds the raw text when the model's input was not a JSON object."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    invalid_json: str | None = None
    opaque: Opaque | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call gave; exactly one for each `ToolUse`."""

    tool_use_id: str
    content: tuple["Text | Image | Document", ...]
    is_error: bool = False


Block = Text | Image | Document | Thinking | RedactedThinking | ToolUse | ToolResult
ResultBlock = Text | Image | Document


@dataclass(frozen=True, slots=True)
class Message:
    """One message: who speaks, and content blocks in order."""

    role: Role
    content: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The tool calls, in order."""
        return tuple(block for block in self.content if isinstance(block, ToolUse))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, read back by `from_dict`."""
        return {"role": self.role, "content": [block_to_dict(block) for block in self.content]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Message":
        """The message that `to_dict` wrote; a plain string content is one text block.

        Raises:
            ValueError: for an unknown role or block type.
        """
        role, content = data["role"], data["content"]
        if role not in ("user", "assistant"):
            raise ValueError(f"unknown role {role!r}")
        if isinstance(content, str):
            return cls(role, (Text(content),))
        return cls(role, tuple(block_from_dict(block) for block in content))


def user(*content: Block | str) -> Message:
    """A user message; strings become text blocks."""
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in content))


def assistant(*content: Block | str) -> Message:
    """An assistant message; strings become text blocks."""
    return Message(
        "assistant", tuple(Text(part) if isinstance(part, str) else part for part in content)
    )


def block_to_dict(block: Block) -> dict[str, Any]:
    """One block in JSON-ready form."""
    match block:
        case Text():
            data: dict[str, Any] = {"type": "text", "text": block.text}
        case Image():
            data = {"type": "image", "source": _source(block.media_type, block.data)}
        case Document():
            data = {"type": "document", "source": _source(block.media_type, block.data)}
            if block.title:
                data["title"] = block.title
        case Thinking():
            data = {"type": "thinking", "thinking": block.text, "signature": block.signature}
        case RedactedThinking():
            data = {"type": "redacted_thinking", "data": block.data}
        case ToolUse():
            data = _tool_use(block)
        case ToolResult():
            content = [block_to_dict(part) for part in block.content]
            data = {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": content}
            data["is_error"] = block.is_error
        case _:
            assert_never(block)
    if isinstance(block, Text | Thinking | ToolUse) and block.opaque is not None:
        data["opaque"] = dict(block.opaque)
    return data


def block_from_dict(data: Mapping[str, Any]) -> Block:
    """The block that `block_to_dict` wrote; raises `ValueError` for an unknown type."""
    opaque = data.get("opaque")
    match data.get("type"):
        case "text":
            return Text(data["text"], opaque)
        case "image":
            return Image(data["source"]["media_type"], data["source"]["data"])
        case "document":
            source = data["source"]
            return Document(source["media_type"], source["data"], data.get("title", ""))
        case "thinking":
            return Thinking(data["thinking"], data.get("signature", ""), opaque)
        case "redacted_thinking":
            return RedactedThinking(data["data"])
        case "tool_use":
            return ToolUse(
                data["id"], data["name"], data["input"], data.get("invalid_json"), opaque
            )
        case "tool_result":
            return ToolResult(
                data["tool_use_id"],
                _result_content(data.get("content", [])),
                bool(data.get("is_error", False)),
            )
        case other:
            raise ValueError(f"unknown block type {other!r}")


def _tool_use(block: ToolUse) -> dict[str, Any]:
    data = {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}
    return data if block.invalid_json is None else {**data, "invalid_json": block.invalid_json}


def _result_content(content: Any) -> tuple[ResultBlock, ...]:
    if isinstance(content, str):
        return (Text(content),)
    blocks = tuple(block_from_dict(part) for part in content)
    return tuple(block for block in blocks if isinstance(block, Text | Image | Document))


def _source(media_type: str, data: str) -> dict[str, str]:
    return {"type": "base64", "media_type": media_type, "data": data}
