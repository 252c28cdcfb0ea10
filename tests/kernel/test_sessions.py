"""The journal: append-only, private, flushed, without secrets."""

import json
import stat
from pathlib import Path

import pytest

from maia_kernel.errors import SessionError, UsageError
from maia_kernel.messages import Message
from tests.support.agents import make_agent, play


async def test_a_session_is_one_private_file_of_json_lines(tmp_path: Path) -> None:
    """Given a turn, the file holds a header, the messages and the end, and only its owner reads it."""
    agent = make_agent(tmp_path, "- reply: [Hello]")
    session = agent.open_session("mine")
    assert not (tmp_path / ".maia").exists()
    await play(agent, "hi", session=session)
    assert session.path == tmp_path / ".maia/.sessions/mine.jsonl"
    assert stat.S_IMODE(session.path.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in session.path.read_text().splitlines()]
    assert [line["type"] for line in lines] == [
        "header",
        "turn_started",
        "message",
        "message",
        "turn_finished",
    ]
    assert lines[0]["schema"] == 1
    messages = [Message.from_dict(line["message"]) for line in lines if line["type"] == "message"]
    assert tuple(messages) == session.messages


async def test_two_sessions_of_one_name_get_two_files(tmp_path: Path) -> None:
    """Given a name that exists, the second session's file is `_2`."""
    agent = make_agent(tmp_path, "{loop: true, entries: [{reply: [Hello]}]}")
    first, second = agent.open_session("same"), agent.open_session("same")
    await play(agent, "hi", session=first)
    await play(agent, "hi", session=second)
    assert (first.name, second.name) == ("same", "same_2")


async def test_what_maia_works_in_stays_out_of_git(tmp_path: Path) -> None:
    """Given the first write, `.maia/.gitignore` leaves settings and skills to be committed."""
    agent = make_agent(tmp_path, "- reply: [Hello]")
    await play(agent, "hi")
    ignored = (tmp_path / ".maia/.gitignore").read_text().splitlines()
    assert ".sessions/" in ignored
    assert "settings.json" not in ignored


async def test_a_key_in_use_never_reaches_the_file(tmp_path: Path) -> None:
    """Given a key in the environment and in the conversation, the file has `***`."""
    key = "sk-test-canary-0123456789"
    agent = make_agent(tmp_path, f"- reply: [the key is {key}]", environ={"OPENAI_API_KEY": key})
    session = agent.open_session()
    await play(agent, f"is {key} my key?", session=session)
    content = session.path.read_text()
    assert key not in content
    assert "***" in content


async def test_clearing_empties_the_context_and_keeps_the_file(tmp_path: Path) -> None:
    """Given %maia_clear, the next request starts anew and the transcript goes on."""
    agent = make_agent(
        tmp_path, "- reply: [one]\n- {expect: {messages: 1, contains: again}, reply: [two]}"
    )
    session = agent.open_session()
    await play(agent, "hi", session=session)
    session.clear()
    assert (await play(agent, "again", session=session))[-1].reason == "done"
    kinds = [json.loads(line)["type"] for line in session.path.read_text().splitlines()]
    assert "cleared" in kinds


@pytest.mark.parametrize("name", ["a/b", "", "  ", "x" * 101, ".hidden", "a\\b", "a\nb"])
def test_names_that_cannot_be_files_are_refused(tmp_path: Path, name: str) -> None:
    """Given a separator, nothing, or too much, the name is refused with the rule."""
    agent = make_agent(tmp_path, "- reply: [x]")
    if name == "":
        assert agent.open_session(name).name.startswith("session_")
        return
    with pytest.raises(UsageError):
        agent.open_session(name)


async def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    """Given `.maia` that is a file, the prompt fails with the path and what to do."""
    (tmp_path / ".maia").write_text("in the way")
    agent = make_agent(tmp_path, "- reply: [x]")
    with pytest.raises(SessionError, match=r"\.maia"):
        await play(agent, "hi")
