"""A key that MAIA knows is shown, written and kept nowhere, however the model says it."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from maia_kernel.display import DiffDisplay, ImageDisplay, TextDisplay, TodoDisplay, TodoItem
from maia_kernel.events import Event, TextDelta, ThinkingDelta, ToolInputDelta, TurnFinished
from maia_kernel.loop.redaction import for_model, for_transcript, redacted
from maia_kernel.messages import Image, Message, RedactedThinking, Text, Thinking, ToolUse
from maia_kernel.questions import PermissionAnswer
from maia_kernel.settings.keys import KnownSecrets
from maia_kernel.settings.values import Secret
from maia_kernel.tools.pieces import Pieces
from tests.support.agents import ScriptedAsk, make_agent, only, play

KEY = "sk-canary-123456"
QUOTED = 'zebra"stripe\\1'


def known(*values: str) -> KnownSecrets:
    secrets = KnownSecrets()
    for value in values:
        secrets.add(Secret(value))
    return secrets


def shown(pieces: Sequence[str], *values: str) -> list[str]:
    """What each piece let through, and the rest at the end."""
    stream = Pieces(known(*values))
    return [*(stream.feed(piece) for piece in pieces), stream.rest()]


def test_a_key_cut_anywhere_is_masked() -> None:
    """Given a text with the key in it, wherever it is cut in three, the parts shown join to stars."""
    text = f"a {KEY}, {KEY}{KEY} sk-can not"
    for one, two in itertools.combinations(range(len(text) + 1), 2):
        parts = shown((text[:one], text[one:two], text[two:]), KEY)
        assert "".join(parts) == "a ***, ****** sk-can not"
    assert "".join(shown(text, KEY)) == "a ***, ****** sk-can not"


def test_only_the_beginning_of_a_key_waits() -> None:
    """Text that cannot be the beginning of a key is shown at once; the rest comes when it cannot be any
    more, or at the end."""
    assert shown(("ask ", "me s", "k-x ", "sk-can"), KEY) == ["ask ", "me ", "sk-x ", "", "sk-can"]


@pytest.mark.parametrize("other", [f"{KEY}-and-more", f"before-{KEY}", "123456-tail"])
def test_keys_that_hold_or_touch_each_other(other: str) -> None:
    """Given a secret that begins with, ends with, or begins in another one, both are masked whole."""
    for text in (f"x {other} y", f"x {KEY} y", f"x {KEY}{other} y"):
        whole = known(KEY, other).redact(text)
        assert "".join(shown(text, KEY, other)) == whole
        assert "canary" not in whole


def test_every_text_of_a_value_is_masked_and_no_picture() -> None:
    """Displays, todos and events lose the key in every text; base64 stays."""
    secrets = known(KEY)
    values = (
        TextDisplay(KEY, title=KEY),
        DiffDisplay(f"/{KEY}", f"+{KEY}"),
        TodoDisplay((TodoItem(KEY, "pending", KEY),)),
        TextDelta(KEY),
    )
    assert KEY not in str(redacted(values, secrets))
    sealed = (ImageDisplay("image/png", KEY), Image("image/png", KEY), RedactedThinking(KEY))
    assert redacted(sealed, secrets) == sealed


def test_signed_reasoning_is_kept_for_the_provider_and_masked_on_disk() -> None:
    """Given signed reasoning with the key in it, the conversation has it unchanged and the transcript
    has it masked, without the signature that does not fit any more; other reasoning stays signed."""
    said = Thinking(f"the key is {KEY}", "signature")
    other = Thinking("nothing", "signature")
    message = Message("assistant", (said, other, Text(KEY), ToolUse("1", "Bash", {"command": KEY})))
    secrets = known(KEY)
    conversation, transcript = for_model(message, secrets), for_transcript(message, secrets)
    assert conversation.content[:2] == (said, other)
    assert transcript.content[:2] == (Thinking("the key is ***"), other)
    rest = (Text("***"), ToolUse("1", "Bash", {"command": "***"}))
    assert conversation.content[2:] == transcript.content[2:] == rest


SCRIPT = """
- reply:
    - {thinking: "I found sk-canary-123456 somewhere", signature: sig, chunks: 20}
    - {text: "The key is sk-canary-123456 indeed.", chunks: 20}
    - tool_use:
        name: Bash
        id: one
        input: {command: "printf %s 'sk-canary-123456' > out.txt", description: "use sk-canary-123456"}
    - tool_use:
        name: TodoWrite
        input: {todos: [{content: sk-canary-123456, status: pending, activeForm: sk-canary-123456}]}
- reply: [{text: "Once more: sk-canary-123456", chunks: 9}, {text: "sk-can"}, {text: "ary-123456"}]
"""


def told(events: Sequence[Event]) -> str:
    return json.dumps([event.to_dict() for event in events])


async def test_a_whole_turn_shows_and_writes_no_key(tmp_path: Path) -> None:
    """Given a model that says the key in its reasoning, text, calls and todos, and a person who would
    allow all of it for ever, then the call works with the true key, and no event, question, message,
    journal or settings file holds it."""
    agent = make_agent(tmp_path, SCRIPT, environ={"OPENAI_API_KEY": KEY})
    session = agent.open_session()
    ask = ScriptedAsk([PermissionAnswer("always")])
    events = await play(agent, "go", session=session, ask=ask)
    assert (tmp_path / "out.txt").read_text() == KEY
    assert KEY not in told(events)
    joined = {
        kind: "".join(getattr(e, field) for e in only(events, kind))
        for kind, field in ((TextDelta, "text"), (ThinkingDelta, "text"))
    }
    assert joined[TextDelta] == "The key is *** indeed.Once more: ******"
    assert joined[ThinkingDelta] == "I found *** somewhere"
    assert "canary" not in "".join(e.partial_json for e in only(events, ToolInputDelta))
    finished = events[-1]
    assert isinstance(finished, TurnFinished)
    assert finished.text == "Once more: ******"
    assert KEY not in str(ask.questions)
    written = "".join(p.read_text() for p in (tmp_path / ".maia").rglob("*") if p.is_file())
    assert "The key is *** indeed." in written
    assert "canary" not in written
    thinking = session.messages[1].content[0]
    assert thinking == Thinking(f"I found {KEY} somewhere", "sig")
    assert "canary" not in str((*session.messages[1].content[1:], *session.messages[2:]))


async def test_a_password_with_a_quote_is_masked_inside_json(tmp_path: Path) -> None:
    """Given a secret that JSON writes with backslashes, the pieces of a call and the journal have none."""
    (tmp_path / ".maia").mkdir()
    settings = {"env": {"DB_PASSWORD": QUOTED}}
    home = Path.home() / ".maia"
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps(settings))
    call = {"name": "Read", "input": {"file_path": QUOTED}}
    agent = make_agent(tmp_path, json.dumps([{"reply": [{"tool_use": call}]}, {"reply": [QUOTED]}]))
    session = agent.open_session()
    events = await play(agent, "go", session=session)
    assert not [e for e in events if "stripe" in told([e])]
    assert "stripe" not in session.path.read_text()
