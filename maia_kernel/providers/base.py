"""The port to a model: one neutral request in, a stream of neutral chunks out.

An adapter only translates. It raises errors of `maia_kernel.errors` and nothing else of its own; it
never retries (the loop does), never logs a key, and never invents an end: a stream without its
terminal marker is `StreamBroken`.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from maia_kernel.messages import Message
from maia_kernel.usage import Usage

StopReason = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "context_window_exceeded",
]
PromptProfile = Literal["full", "short"]
Effort = Literal["low", "medium", "high", "xhigh", "max"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `input_schema` is a JSON Schema object."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A section of the system prompt; `cache` puts a cache breakpoint after it."""

    text: str
    cache: bool = False


@dataclass(frozen=True, slots=True)
class Thinking:
    """What the person asked for: an effort word and, or, a budget in tokens. Adapters map or drop it."""

    effort: Effort | None = None
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """Everything one request says. `cache_after` holds indexes into `messages` to mark for the cache.

    `params` are extra top-level fields of the server's settings (temperature, ...); they never name
    a model or messages.
    """

    model: str
    messages: tuple[Message, ...]
    system: tuple[SystemPart, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    thinking: Thinking | None = None
    cache_after: tuple[int, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextChunk:
    """Text of block `index`; the first chunk of an index opens the block."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingChunk:
    """Reasoning of block `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class SignatureChunk:
    """The signature of thinking block `index`; replaces an earlier one."""

    index: int
    signature: str


@dataclass(frozen=True, slots=True)
class RedactedThinkingChunk:
    """A whole redacted thinking block."""

    index: int
    data: str


@dataclass(frozen=True, slots=True)
class ToolUseStarted:
    """A tool call opens at block `index`."""

    index: int
    id: str
    name: str
    opaque: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolInputChunk:
    """JSON text of the input of the call at block `index`; pieces are concatenated."""

    index: int
    partial_json: str


@dataclass(frozen=True, slots=True)
class BlockFinished:
    """Block `index` is complete; nothing more comes for it."""

    index: int


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Usage of this request so far; replaces what was reported before."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Noticed:
    """A line for the person about how this reply was got: a field left out, a call repaired."""

    text: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The model is done; always the last chunk. `detail` is the server's own word, or its explanation."""

    reason: StopReason
    detail: str = ""


Chunk = (
    TextChunk
    | ThinkingChunk
    | SignatureChunk
    | RedactedThinkingChunk
    | ToolUseStarted
    | ToolInputChunk
    | BlockFinished
    | UsageReported
    | Noticed
    | Stopped
)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do. Token numbers are None where nobody knows.

    `prompt_profile` "short" is for small local models: a short system prompt, no tools, answer only.
    `answer_note` is a Markdown line shown after every answer (never sent back to the model).
    `context_window` and `max_output` are in tokens. `broken_retries` is how often a broken stream is
    worth sending again.
    """

    tools: bool = True
    images: bool = False
    pdf: bool = False
    thinking: bool = False
    cache: bool = False
    context_window: int | None = None
    max_output: int | None = None
    prompt_profile: PromptProfile = "full"
    answer_note: str = ""
    broken_retries: int = 2


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that can be chosen; `spec` is `provider:id`. Not `ready`, it has to be got first, and
    `detail` says how.
    """

    spec: str
    label: str = ""
    detail: str = ""
    ready: bool = True


class Provider(Protocol):
    """One way to reach models. Lives on the engine's loop; `aclose` ends its connections."""

    @property
    def name(self) -> str:
        """The word before the colon of a model spec."""
        ...

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Send `request`; the chunks of the reply as they come, `Stopped` last.

        Raises:
            ProviderError: one of its subclasses, before or while streaming.
        """
        ...

    async def models(self) -> tuple[ModelInfo, ...]:
        """What can be used here; raises `ProviderError` when the server cannot be asked."""
        ...

    def capabilities(self, model: str) -> Capabilities:
        """What `model` (without the provider's prefix) can do; never asks a server."""
        ...

    async def prepare(self, model: str) -> None:
        """Learn, once, what the server says of `model`, so that `capabilities` knows it afterwards.

        Called before the first request to a model. Most have nothing to ask; a server that does not
        answer in a few seconds is not waited for, and nothing is raised.
        """
        ...

    def check(self, model: str) -> None:
        """Return when a request to `model` may work; never asks a server.

        Raises:
            MaiaError: it certainly fails (no key, not downloaded, a wrong address), and what to do.
        """
        ...

    async def aclose(self) -> None:
        """End connections and child processes."""
        ...
