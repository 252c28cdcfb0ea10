"""Messages and events survive the trip through JSON, and errors stay one line."""

import json

import pytest

from maia_kernel import events
from maia_kernel.display import (
    DiffDisplay,
    ImageDisplay,
    TableDisplay,
    TextDisplay,
    TodoDisplay,
    TodoItem,
)
from maia_kernel.errors import MESSAGE_LIMIT, MaiaError
from maia_kernel.messages import (
    Document,
    Image,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from maia_kernel.questions import PermissionAnswer, PermissionQuestion, RuleFile, RuleOffer
from maia_kernel.usage import Usage

MESSAGES = [
    Message(
        "user", (Text("hi"), Image("image/png", "AAAA"), Document("application/pdf", "BBBB", "t"))
    ),
    Message(
        "assistant",
        (
            Thinking("hm", "sig", {"k": 1}),
            RedactedThinking("xx"),
            Text("é", {"id": "1"}),
            ToolUse("1", "Read", {"file_path": "a"}, None, {"sig": "s"}),
            ToolUse("2", "Read", {}, '{"fi'),
        ),
    ),
    Message(
        "user",
        (ToolResult("1", (Text("ok"), Image("image/png", "AA")), False), ToolResult("2", (), True)),
    ),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_survives_json(message: Message) -> None:
    """Given any blocks, what is written is read back equal, opaque data included."""
    assert Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message


@pytest.mark.parametrize(
    "data", [{"role": "robot", "content": []}, {"role": "user", "content": [{"type": "?"}]}]
)
def test_unknown_roles_and_blocks_are_refused(data: dict) -> None:
    """Given something nobody knows, reading fails instead of guessing."""
    with pytest.raises(ValueError, match="unknown"):
        Message.from_dict(data)


QUESTION = PermissionQuestion(
    "1",
    "Edit",
    "a.py",
    (DiffDisplay("a.py", "+x"),),
    "why",
    ("a.py",),
    RuleOffer(("Edit(a.py)",), (RuleFile("local", "f"),)),
)
EVENTS: list[events.Event] = [
    events.TurnStarted("s", "m"),
    events.RequestStarted(1),
    events.TextDelta("t"),
    events.ThinkingDelta("t"),
    events.ToolInputDelta("1", "Read", "{"),
    events.ToolStarted(
        "1", "Read", "a", displays=(TextDisplay("x", "bash"), TableDisplay(("a",), (("1",),)))
    ),
    events.ToolProgress("1", "out"),
    events.ToolFinished(
        "1",
        "Read",
        "a",
        False,
        0.1,
        (ImageDisplay("image/png", "AA"), TodoDisplay((TodoItem("a", "pending"),))),
    ),
    events.PermissionRequested("1", QUESTION),
    events.PermissionResolved("1", "Edit", "a.py", PermissionAnswer("once")),
    events.ModeChanged("plan"),
    events.TodosChanged((TodoItem("a", "pending", "doing a"),)),
    events.TaskChanged("1", "running", "s"),
    events.Notice("info", "n"),
    events.Retrying(1, 8, 0.5, "busy"),
    events.Compacting("full"),
    events.Compacted(10, 5),
    events.UsageChanged(Usage(1, 2), 0.1),
    events.TurnFinished("done", Usage(1, 2), 1.0, "m", None),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_an_event_is_json_with_type_and_schema(event: events.Event) -> None:
    """Given any event, `to_dict` is JSON-ready and tagged."""
    data = json.loads(json.dumps(event.to_dict()))
    assert data["type"] == event.type
    assert data["schema"] == 1


def test_every_event_is_in_the_list_above() -> None:
    """Given a new event, this test asks for its JSON form to be checked."""
    assert {type(event) for event in EVENTS} == set(events.Event.__args__)


def test_an_error_is_one_line_of_at_most_500_characters() -> None:
    """Given a server's long page, the message is cut and on one line."""
    message = str(MaiaError("a\n" * 2000))
    assert "\n" not in message
    assert len(message) == MESSAGE_LIMIT
