"""Rules that a person types are checked before they are kept, and go into the file they choose."""

import json
from pathlib import Path

import pytest

from maia_kernel.events import Notice, PermissionRequested, PermissionResolved
from maia_kernel.questions import PermissionAnswer, PermissionQuestion, RulePlace
from tests.support.agents import ScriptedAsk, WaitForever, make_agent, only, play

KEY = "sk-canary-4711-0815"
SCRIPT = """
    - reply: [{tool_use: {name: Bash, input: {command: "touch a && mkdir b"}}}]
    - reply: [done]
    """
OFFERED = ("Bash(touch a)", "Bash(mkdir b)")


def allowed(file: Path) -> list[str]:
    return json.loads(file.read_text())["permissions"]["allow"] if file.exists() else []


@pytest.mark.parametrize(
    ("typed", "fault"),
    [
        (("Bash(touch a",), "closing bracket is missing"),
        (("",), "does not begin with a tool"),
        (("B*",), "must name its tool in full"),
        (("Bash(touch a)\x1b",), "closing bracket"),
        (("Bsah(touch:*)", "Bash(mkdir:*)"), "which is no tool"),
        (("Bash(touch:*)",), "would not allow this call"),
        (("Edit(**)",), "would not allow this call"),
        (("Bash(touch:*)", "Bash(rmdir:*)"), "a part of it is left"),
        ((f"Bash(touch {KEY})", "Bash(mkdir:*)"), "holds a secret"),
    ],
)
async def test_a_rule_that_is_no_good_is_asked_for_again(
    tmp_path: Path, typed: tuple[str, ...], fault: str
) -> None:
    """Given a malformed rule, an unknown tool, a secret, or a rule that would not cover the call, the
    same question comes once more with one line that says so; nothing is written; then a good rule is."""
    ask = ScriptedAsk([PermissionAnswer("always", rules=typed), PermissionAnswer("always")])
    agent = make_agent(tmp_path, SCRIPT, environ={"OPENAI_API_KEY": KEY})
    events = await play(agent, "go", ask=ask)
    first, second = ask.questions
    assert isinstance(first, PermissionQuestion)
    assert isinstance(second, PermissionQuestion)
    assert first.refused is None
    assert second.refused is not None
    assert fault in second.refused.fault
    assert "\n" not in second.refused.fault
    assert KEY not in str(second)
    assert second.id == first.id
    assert allowed(tmp_path / ".maia" / "settings.local.json") == [*OFFERED]
    assert len(only(events, PermissionRequested)) == len(only(events, PermissionResolved)) == 1
    assert (tmp_path / "b").is_dir()


async def test_a_refused_rule_may_be_given_up(tmp_path: Path) -> None:
    """Given a bad rule and then a denial, nothing runs and nothing is written."""
    bad = PermissionAnswer("always", rules=("Bash(",))
    await play(make_agent(tmp_path, SCRIPT), "go", ask=ScriptedAsk([bad, PermissionAnswer("deny")]))
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / ".maia" / "settings.local.json").exists()


@pytest.mark.parametrize(
    ("place", "file"),
    [
        ("local", "work/.maia/settings.local.json"),
        ("project", "work/.maia/settings.json"),
        ("user", ".maia/settings.json"),
    ],
)
async def test_the_rules_go_where_the_person_says(
    tmp_path: Path, place: RulePlace, file: str
) -> None:
    """Given one of the three files, the edited rules stand in it alone, a notice names it, and the next
    agent in the folder does not ask."""
    work = Path.home() / "work"
    work.mkdir()
    ask = ScriptedAsk(
        [PermissionAnswer("always", rules=("Bash(touch:*)", OFFERED[1]), place=place)]
    )
    events = await play(make_agent(work, SCRIPT), "go", ask=ask)
    [question] = ask.questions
    assert isinstance(question, PermissionQuestion)
    assert question.offer is not None
    assert question.offer.rules == OFFERED
    assert [f.place for f in question.offer.files] == ["local", "project", "user"]
    shown = next(f.path for f in question.offer.files if f.place == place)
    written = {path for path in Path.home().rglob("settings*.json") if allowed(path)}
    assert written == {Path.home() / file}
    assert allowed(Path.home() / file) == ["Bash(touch:*)", "Bash(mkdir b)"]
    assert sum(shown in notice.text for notice in only(events, Notice)) == 2
    (work / "b").rmdir()
    silent = ScriptedAsk()
    await play(make_agent(work, SCRIPT), "again", ask=silent)
    assert silent.questions == []
    assert (work / "b").is_dir()


async def test_rules_for_the_session_are_checked_too(tmp_path: Path) -> None:
    """Given a rule for this session that would not cover the call, it is refused as well."""
    answers = [PermissionAnswer("session", rules=("Bash(ls)",)), PermissionAnswer("session")]
    ask = ScriptedAsk([*answers])
    await play(make_agent(tmp_path, SCRIPT), "go", ask=ask)
    assert len(ask.questions) == 2
    assert (tmp_path / "b").is_dir()


async def test_nobody_in_time_is_a_denial(tmp_path: Path) -> None:
    """Given permissions.askTimeout, a question that is not answered in time is denied."""
    settings = Path.home() / ".maia" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"permissions": {"askTimeout": 0.05}}))
    events = await play(make_agent(tmp_path, SCRIPT), "go", ask=WaitForever())
    [resolved] = only(events, PermissionResolved)
    assert (resolved.answer.choice, resolved.answer.by) == ("deny", "nobody")
    assert events[-1].reason == "done"
    assert not (tmp_path / "a").exists()
