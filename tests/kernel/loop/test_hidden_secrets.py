"""Keys by their shape go neither to the model nor to disk; nothing on disk is spoilt by their masks."""

import json
import subprocess
from pathlib import Path

import pytest

from maia_kernel.events import Event, Notice, ToolFinished
from maia_kernel.questions import PermissionAnswer, PermissionQuestion
from maia_kernel.sessions import Session
from tests.support.agents import ScriptedAsk, make_agent, only, play

TOKEN = "ghp_q8Zr3LmK0vXc7Ty2Bn5Wd9Hs4Jf6Pg1Ae2Ro"
HIDDEN = "[secret: GitHub token]"


def script(*replies: object) -> str:
    """A model that answers with these, one reply each."""
    return json.dumps([{"reply": [reply]} for reply in replies])


def use(name: str, **fields: object) -> dict[str, object]:
    return {"tool_use": {"name": name, "input": fields}}


def sent(session: Session) -> str:
    """The conversation as the model has it."""
    return str(session.messages)


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in only(events, Notice)]


async def test_a_prompt_and_its_attachments(tmp_path: Path) -> None:
    """Given a token in the prompt and another place of it in an attached file, the model gets masks,
    the journal too, and the person is told once which kind and where."""
    (tmp_path / "deploy.py").write_text(f"TOKEN = '{TOKEN}'\n")
    agent = make_agent(tmp_path, script("done"))
    session = agent.open_session()
    events = await play(agent, f"use {TOKEN} in @deploy.py", session=session)
    assert TOKEN not in sent(session) + session.path.read_text()
    assert sent(session).count(HIDDEN) == 2
    (line,) = notices(events)
    assert line.startswith(
        "Hidden from the model and from what is kept: GitHub token (in your prompt)"
    )


async def test_results_progress_and_long_outputs(tmp_path: Path) -> None:
    """Given tools that print and read a token, no event, message, journal or kept output has it; the
    notice comes once for a kind."""
    (tmp_path / "deploy.py").write_text(f"TOKEN = '{TOKEN}'\n")
    command = f"cat deploy.py; for i in $(seq 4000); do echo 0123456789; done; echo {TOKEN}"
    calls = (use("Read", file_path="deploy.py"), use("Bash", command=command))
    agent = make_agent(tmp_path, script(*calls, "done"))
    session = agent.open_session()
    ask = ScriptedAsk([PermissionAnswer("once")])
    events = await play(agent, "go", session=session, ask=ask)
    told = json.dumps([event.to_dict() for event in events])
    kept = [p for p in (tmp_path / ".maia").rglob("*") if p.is_file()]
    assert any(path.suffix == ".txt" for path in kept)
    assert TOKEN not in told + sent(session) + "".join(path.read_text() for path in kept)
    assert sent(session).count(HIDDEN) >= 3
    assert len(notices(events)) == 1
    assert "Read deploy.py" in notices(events)[0]


async def test_the_state_of_the_repository(tmp_path: Path) -> None:
    """Given a branch that is called like a token, the system prompt has the mask."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "-q", "-b", TOKEN], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    expected = {"expect": {"system": "secret: GitHub token"}, "reply": ["done"]}
    agent = make_agent(tmp_path, json.dumps([expected]))
    events = await play(agent, "go")
    assert events[-1].to_dict()["reason"] == "done"


async def test_the_person_may_let_the_model_see_them(tmp_path: Path) -> None:
    """Given secrets.shapes false in the person's own configuration, nothing is masked or told; the same
    in a project's file counts only once it is trusted."""
    for folder, seen in ((Path.home(), True), (tmp_path, False)):
        file = folder / ".maia" / "config.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text('{"secrets": {"shapes": false}}')
        agent = make_agent(tmp_path, script("done"))
        session = agent.open_session()
        await play(agent, f"use {TOKEN}", session=session)
        assert (TOKEN in sent(session)) is seen
        file.unlink()


@pytest.mark.parametrize(
    "change",
    [
        use("Edit", file_path="deploy.py", old_string=f"'{HIDDEN}'", new_string="'x'"),
        use("Edit", file_path="deploy.py", old_string="PORT = 1", new_string=f"B = '{HIDDEN}'"),
        use("Write", file_path="deploy.py", content=f"TOKEN = '{HIDDEN}'\nPORT = 2\n"),
        use("Write", file_path="new.py", content=f"TOKEN = '{HIDDEN}'\n"),
    ],
)
async def test_a_mask_never_takes_the_place_of_its_value(
    tmp_path: Path, change: dict[str, object]
) -> None:
    """Given a model that saw the mask and writes it back, the call fails with a reason and no file
    changes."""
    content = f"TOKEN = '{TOKEN}'\nPORT = 1\n"
    (tmp_path / "deploy.py").write_text(content)
    replies = (use("Read", file_path="deploy.py"), change, "done")
    agent = make_agent(tmp_path, script(*replies))
    session = agent.open_session()
    events = await play(agent, "go", session=session, ask=ScriptedAsk([PermissionAnswer("once")]))
    assert only(events, ToolFinished)[-1].is_error
    assert "mask" in sent(session)
    assert (tmp_path / "deploy.py").read_text() == content
    assert not (tmp_path / "new.py").exists()


async def test_the_lines_around_a_hidden_value_can_be_changed(tmp_path: Path) -> None:
    """Given an edit of another line, the value stays as it is on disk."""
    (tmp_path / "deploy.py").write_text(f"TOKEN = '{TOKEN}'\nPORT = 1\n")
    edit = use("Edit", file_path="deploy.py", old_string="PORT = 1", new_string="PORT = 2")
    agent = make_agent(tmp_path, script(use("Read", file_path="deploy.py"), edit, "done"))
    ask = ScriptedAsk([PermissionAnswer("once")])
    await play(agent, "go", ask=ask)
    assert (tmp_path / "deploy.py").read_text() == f"TOKEN = '{TOKEN}'\nPORT = 2\n"
    assert TOKEN not in str(ask.questions)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        (".env", use("Read", file_path=".env")),
        ("server.pem", use("Read", file_path="server.pem")),
        (".env", use("Grep", pattern="x", path=".env")),
        (".env", use("Bash", command="cat .env")),
        ("id_rsa", use("Bash", command="head -n 1 ./id_rsa | wc -c")),
        (".env.local", use("Bash", command="cat .env.*")),
        (".env", use("Bash", command="wc -l < .env")),
    ],
)
async def test_reading_a_key_file_asks(tmp_path: Path, name: str, call: dict[str, object]) -> None:
    """Given a file for keys inside the working folder, each way to read it asks and says why; a rule
    that names it, or the command, allows it."""
    (tmp_path / name).write_text("x=1\n")
    agent = make_agent(tmp_path, script(call, "done"))
    ask = ScriptedAsk([PermissionAnswer("deny")])
    await play(agent, "go", ask=ask)
    (question,) = ask.questions
    assert isinstance(question, PermissionQuestion)
    assert "is a file for keys or passwords" in question.reason


async def test_a_rule_lets_a_key_file_be_read(tmp_path: Path) -> None:
    """Given a Read rule for it in the person's settings, nobody is asked."""
    (tmp_path / ".env").write_text("x=1\n")
    (Path.home() / ".maia").mkdir(exist_ok=True)
    rules = {"permissions": {"allow": ["Read(.env)"]}}
    (Path.home() / ".maia" / "settings.json").write_text(json.dumps(rules))
    agent = make_agent(tmp_path, script(use("Read", file_path=".env"), "done"))
    session = agent.open_session()
    await play(agent, "go", session=session, ask=(ask := ScriptedAsk()))
    assert not ask.questions
    assert "x=1" in sent(session)


@pytest.mark.parametrize(
    "name", [".env.example", "id_rsa.pub", "environment.py", "keys.py", "x.env.sample"]
)
async def test_templates_and_public_keys_are_ordinary_files(tmp_path: Path, name: str) -> None:
    """Given a file that only looks like one for keys, reading it does not ask."""
    (tmp_path / name).write_text("x=1\n")
    calls = (use("Read", file_path=name), use("Bash", command=f"cat {name}"))
    agent = make_agent(tmp_path, script(*calls, "done"))
    await play(agent, "go", ask=(ask := ScriptedAsk()))
    assert not ask.questions
