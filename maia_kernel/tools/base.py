"""The contract of a tool: one class in one file.

The loop looks a tool up by name, parses the model's input with `Input`, asks `validate`, decides
permission on `subject`, then iterates `run`. Front-ends draw `summary`, `icon`, `displays`.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from maia_kernel.display import Display, TodoItem
from maia_kernel.messages import ResultBlock, Text
from maia_kernel.permissions.patterns import Anchored
from maia_kernel.permissions.subject import Subject
from maia_kernel.ports import Ask, KernelPort, Modes, Secrets
from maia_kernel.processes import Groups
from maia_kernel.sandbox.session import Sandbox
from maia_kernel.tools.background import BackgroundTasks


class ToolInput(BaseModel):
    """Base of input models: unknown fields are a fault that the model is told about."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


Defer = Literal["never", "crowded", "always"]
"""`crowded`: when there are many tools of this kind."""
In = TypeVar("In", bound=ToolInput)


@dataclass(frozen=True, slots=True)
class Progress:
    """New output of a running tool, to be appended to what came before."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result: `content` for the model, `displays` for the person.

    `is_error` marks a result that came but is a failure (an exit code, a traceback). `todos` is set
    by a tool that replaced the todo list.
    """

    content: tuple[ResultBlock, ...]
    displays: tuple[Display, ...] = ()
    is_error: bool = False
    todos: tuple[TodoItem, ...] | None = None

    @classmethod
    def of(cls, text: str, *displays: Display, is_error: bool = False) -> "ToolOutput":
        """A result of plain text."""
        return cls((Text(text),), displays, is_error)


@dataclass(frozen=True, slots=True)
class FileSeen:
    """A file as the conversation last saw it: `mtime_ns` and sha256 `digest` of its bytes.

    `whole` is False when only a part of it was read.
    """

    mtime_ns: int
    digest: str
    whole: bool


@dataclass(slots=True)
class ToolContext:
    """What tools of one session share. Owned by the session, lives on the engine's loop.

    `cwd` is the working folder; `shell_cwd` where the next Bash command starts; `additional` other
    folders the person opened; `env` the settings' variables for children; `spill` the folder for
    outputs too long to return; `seen` the files read or written, by resolved path; `read_denied` and
    `read_asked` what a search leaves out; `groups` what its commands started and what of it still runs,
    `background` those that the model did not wait for; `sandbox` what keeps commands within bounds,
    where the person wants that; `ask` puts a question to the person of the running turn, None where
    there is nobody; `modes` is the permission mode of that turn.
    `loaded` are the deferred tools that ToolSearch found, in that order.
    """

    cwd: Path
    shell_cwd: Path
    model: str
    spill: Path
    additional: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    hidden_env: tuple[str, ...] = ()
    kernel: KernelPort | None = None
    ask: Ask | None = None
    modes: Modes | None = None
    secrets: Secrets | None = None
    images: bool = True
    pdf: bool = True
    seen: dict[Path, FileSeen] = field(default_factory=dict)
    todos: tuple[TodoItem, ...] = ()
    read_denied: tuple[Anchored, ...] = ()
    read_asked: tuple[Anchored, ...] = ()
    changed_files: list[Path] = field(default_factory=list)
    groups: Groups = field(default_factory=Groups)
    sandbox: Sandbox | None = None
    background: BackgroundTasks = field(default_factory=BackgroundTasks)
    loaded: list[str] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Tool(ABC, Generic[In]):
    """One tool. Properties of a call (read-only, safe together with others) depend on its input."""

    name: str
    icon: ClassVar[str] = "•"
    """One character of an ordinary text font: many machines have no emoji."""
    counted: ClassVar[str] = ""
    """How several calls read together, a key of the texts `views.counted`: "files" is "read 6 files"."""
    description: str
    """For the model: what it does, when to use it, its limits."""
    defer: ClassVar[Defer] = "never"
    """When its definition is sent only after ToolSearch has found it."""
    search_hint: ClassVar[str] = ""
    """Words by which ToolSearch finds it, besides name and description."""
    aliases: ClassVar[tuple[str, ...]] = ()
    time_limit: float | None = None
    """Seconds after which the loop cancels the call; None where the tool keeps its own limit."""

    @property
    @abstractmethod
    def Input(self) -> type[In]:
        """The pydantic model of the input; its JSON Schema is what the model sees."""

    def schema(self) -> dict[str, Any]:
        """The input's JSON Schema, without pydantic's titles and `null` alternatives."""
        schema: dict[str, Any] = plain_schema(self.Input.model_json_schema(by_alias=True))
        for model in (schema, *schema.get("$defs", {}).values()):
            model.pop("description", None)  # the class's docstring, which is for us
        return schema

    @abstractmethod
    def read_only(self, call: In, context: ToolContext) -> bool:
        """True when this call changes nothing."""

    def concurrency_safe(self, call: In, context: ToolContext) -> bool:
        """True when this call may run together with others; by default as `read_only`."""
        return self.read_only(call, context)

    def validate(self, call: In, context: ToolContext) -> None:
        """Check what the schema cannot say, before anybody is asked.

        Raises:
            ToolRetry: the call is wrong; the message says how to call.
            ToolFailed: it cannot work now.
        """
        return

    @abstractmethod
    def subject(self, call: In, context: ToolContext) -> Subject:
        """What the permission rules match."""

    @abstractmethod
    def summary(self, call: In, context: ToolContext) -> str:
        """One line for the screen, without the tool's name where the icon says it."""

    def displays(self, call: In, context: ToolContext) -> tuple[Display, ...]:
        """What the call would do, drawn: the command, the diff. Shown on the card and when opened."""
        return ()

    @abstractmethod
    def run(self, call: In, context: ToolContext) -> AsyncIterator[Progress | ToolOutput]:
        """Do it: progress as it comes, one `ToolOutput` last.

        Cancellation (`asyncio.CancelledError`) must leave no process and no half-written file.

        Raises:
            ToolFailed, ToolRetry, NeedsUser: the model is told.
        """


def plain_schema(schema: Any) -> Any:
    """A JSON Schema of pydantic's without titles and `null` alternatives, at any depth."""
    if isinstance(schema, list):
        return [plain_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # An optional field is `anyOf: [X, null], default: null`; small models and some servers stumble.
    match schema:
        case {"anyOf": [variant, {"type": "null"}]}:
            rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
            return plain_schema({**variant, **rest})
    # A property may itself be called "title": only the keyword's string goes.
    return {
        key: plain_schema(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
