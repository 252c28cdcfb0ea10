"""What happens during a turn, as a closed union of values.

The notebook, the command line and the tests read the same events. `to_dict` gives the stable form of
`--output-format stream-json`: one object a line with `type` and `schema`. Match on the union with
`assert_never`, so that a new event cannot be forgotten.
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from maia_kernel.display import Display, TodoItem, display_to_dict, todo_to_dict
from maia_kernel.questions import PermissionAnswer, PermissionQuestion
from maia_kernel.usage import Usage

SCHEMA = 1

NoticeLevel = Literal["info", "warning", "error"]
EndReason = Literal[
    "done",  # the model answered without calling a tool
    "max_turns",
    "budget",
    "output_limit",
    "refusal",
    "context_window_exceeded",
    "error",  # `error` of TurnFinished says which, in one line
    "interrupted",
]


@dataclass(frozen=True, slots=True)
class _Event:
    type: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, tagged by `type` and `schema`."""
        data: dict[str, Any] = {"type": self.type, "schema": SCHEMA}
        data.update({field.name: _plain(getattr(self, field.name)) for field in fields(self)})
        return data


@dataclass(frozen=True, slots=True)
class TurnStarted(_Event):
    """A prompt was taken; `model` is `provider:model`, `mode` the permission mode."""

    type: ClassVar[str] = "turn_started"
    session: str
    model: str
    mode: str = "default"


@dataclass(frozen=True, slots=True)
class RequestStarted(_Event):
    """A request goes to the model; `number` counts from 1 in the turn."""

    type: ClassVar[str] = "request_started"
    number: int


@dataclass(frozen=True, slots=True)
class TextDelta(_Event):
    """A piece of the answer."""

    type: ClassVar[str] = "text_delta"
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta(_Event):
    """A piece of the model's reasoning."""

    type: ClassVar[str] = "thinking_delta"
    text: str


@dataclass(frozen=True, slots=True)
class ToolInputDelta(_Event):
    """A piece of a call's input, as JSON text, before the call can start."""

    type: ClassVar[str] = "tool_input_delta"
    id: str
    name: str
    partial_json: str


@dataclass(frozen=True, slots=True)
class ToolStarted(_Event):
    """A call is taken up; `icon` is one character, `read_only` calls in a row may be folded.

    `counted` names the text for several such calls ("read 6 files"): the key without `views.counted.`
    """

    type: ClassVar[str] = "tool_started"
    id: str
    name: str
    summary: str
    icon: str = "•"
    read_only: bool = False
    displays: tuple[Display, ...] = ()
    counted: str = ""


@dataclass(frozen=True, slots=True)
class ToolProgress(_Event):
    """New output of a running call."""

    type: ClassVar[str] = "tool_progress"
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished(_Event):
    """A call has its result; `seconds` excludes the time a person took to answer."""

    type: ClassVar[str] = "tool_finished"
    id: str
    name: str
    summary: str
    is_error: bool
    seconds: float
    displays: tuple[Display, ...] = ()


@dataclass(frozen=True, slots=True)
class PermissionRequested(_Event):
    """A person is being asked; the call with the same id waits."""

    type: ClassVar[str] = "permission_requested"
    id: str
    question: PermissionQuestion


@dataclass(frozen=True, slots=True)
class PermissionResolved(_Event):
    """The answer to a question, or its withdrawal."""

    type: ClassVar[str] = "permission_resolved"
    id: str
    tool: str
    summary: str
    answer: PermissionAnswer


@dataclass(frozen=True, slots=True)
class ModeChanged(_Event):
    """The permission mode is another one: the model went into plan mode, or a plan was approved."""

    type: ClassVar[str] = "mode_changed"
    mode: str


@dataclass(frozen=True, slots=True)
class TodosChanged(_Event):
    """The todo list, whole."""

    type: ClassVar[str] = "todos_changed"
    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True)
class TaskChanged(_Event):
    """A background task started, went on or ended."""

    type: ClassVar[str] = "task_changed"
    id: str
    status: str
    summary: str


@dataclass(frozen=True, slots=True)
class Notice(_Event):
    """One line for the person beside the answer."""

    type: ClassVar[str] = "notice"
    level: NoticeLevel
    text: str


@dataclass(frozen=True, slots=True)
class Retrying(_Event):
    """The request is sent again after `delay` seconds.

    The views take back what they showed since the last `RequestStarted`: the answer comes anew.
    """

    type: ClassVar[str] = "retrying"
    attempt: int
    attempts: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class Compacting(_Event):
    """The conversation is being summarised."""

    type: ClassVar[str] = "compacting"
    reason: str


@dataclass(frozen=True, slots=True)
class Compacted(_Event):
    """The conversation was summarised; token counts before and after."""

    type: ClassVar[str] = "compacted"
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class UsageChanged(_Event):
    """Tokens of the turn so far; `cost_usd` is None where the price is unknown."""

    type: ClassVar[str] = "usage"
    usage: Usage
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class TurnFinished(_Event):
    """The end, always reported; `error` is one line when the reason is not `done`.

    `text` is the text of the model's last message, whole; `session` the name of the session.
    `exit_code` is what `maia -p` ends with: 0 done, 1 the turn failed, 3 model or key, 4 a limit,
    130 interrupted.
    """

    type: ClassVar[str] = "turn_finished"
    reason: EndReason
    usage: Usage
    seconds: float
    model: str
    cost_usd: float | None = None
    error: str = ""
    exit_code: int = 0
    text: str = ""
    session: str = ""


Event = (
    TurnStarted
    | RequestStarted
    | TextDelta
    | ThinkingDelta
    | ToolInputDelta
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | PermissionRequested
    | PermissionResolved
    | ModeChanged
    | TodosChanged
    | TaskChanged
    | Notice
    | Retrying
    | Compacting
    | Compacted
    | UsageChanged
    | TurnFinished
)


def _plain(value: Any) -> Any:
    match value:
        case Usage() | PermissionQuestion():
            return value.to_dict()
        case PermissionAnswer():
            return {"choice": value.choice, "message": value.message, "by": value.by}
        case TodoItem():
            return todo_to_dict(value)
        case tuple():
            return [_plain(item) for item in value]
        case str() | int() | float() | None:
            return value
        case _:
            return display_to_dict(value)
