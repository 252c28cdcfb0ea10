"""What tools ask the person: forms and plans, through the loop; plan mode and its end."""

import asyncio
import json
from pathlib import Path

import pytest

from maia_kernel.agent import Agent
from maia_kernel.events import Event, ModeChanged, PermissionRequested, ToolFinished, TurnStarted
from maia_kernel.permissions.modes import ModeState
from maia_kernel.questions import (
    Answer,
    FormAnswer,
    FormField,
    FormOption,
    FormQuestion,
    PermissionAnswer,
    PlanAnswer,
    PlanQuestion,
    Question,
)
from maia_kernel.settings import Flags
from tests.support.agents import FakeClock, ScriptedAsk, WaitForever, make_agent, only, play

FORM = """
    - reply:
        - tool_use:
            name: AskUserQuestion
            input:
              questions:
                - question: Which store?
                  header: Store
                  options:
                    - {label: SQLite, description: one file, preview: create table}
                    - {label: Postgres, description: a server}
                - question: Which days?
                  header: Days
                  multiSelect: true
                  options: [{label: Mon}, {label: Tue}]
    - reply: [done]
    """
PLAN = """
    - reply: [{tool_use: {name: EnterPlanMode, input: {}}}]
    - expect: {tool_result: ExitPlanMode}
      reply: [{tool_use: {name: Write, input: {file_path: a.txt, content: "early"}}}]
    - expect: {tool_result: Plan mode, is_error: true}
      reply: [{tool_use: {name: ExitPlanMode, input: {plan: "1. Write a.txt"}}}]
    - reply: [{tool_use: {name: Write, input: {file_path: a.txt, content: "now"}}}]
    - reply: [done]
    """


def results(agent: Agent, folder: Path) -> list[str]:
    """The text of every tool result in the transcript."""
    [journal] = (folder / ".maia" / ".sessions").glob("*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    blocks = [b for line in lines for b in line.get("message", {}).get("content", [])]
    return [
        "".join(part.get("text", "") for part in block["content"])
        for block in blocks
        if block["type"] == "tool_result"
    ]


async def test_a_form_is_answered_by_question_text(tmp_path: Path) -> None:
    """Given a form, the person sees its fields and no permission card; labels and free words go to the
    model under the text of their question."""
    ask = ScriptedAsk([FormAnswer((("Postgres",), ("Mon", "every other Sunday")))])
    agent = make_agent(tmp_path, FORM)
    events = await play(agent, "go", ask=ask)
    assert events[-1].reason == "done", events[-1]
    [question] = ask.questions
    assert isinstance(question, FormQuestion)
    assert question.fields[0] == FormField(
        "Which store?",
        "Store",
        (FormOption("SQLite", "one file", "create table"), FormOption("Postgres", "a server")),
    )
    assert question.fields[1].multiple
    assert only(events, PermissionRequested) == []
    [told] = results(agent, tmp_path)
    assert '"Which store?" = "Postgres"' in told
    assert '"Which days?" = "Mon, every other Sunday"' in told


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (FormAnswer(), "declined to answer"),
        (FormAnswer(message="neither, use DuckDB"), "said: neither, use DuckDB"),
        (FormAnswer(by="nobody"), "nobody who could answer"),
    ],
)
async def test_a_form_may_be_declined(tmp_path: Path, answer: FormAnswer, told: str) -> None:
    """Given a person who leaves the form, or none, the model is told so and the turn goes on."""
    agent = make_agent(tmp_path, FORM)
    events = await play(agent, "go", ask=ScriptedAsk([answer]))
    assert events[-1].reason == "done"
    assert told in results(agent, tmp_path)[0]


async def test_without_a_person_nothing_is_asked(tmp_path: Path) -> None:
    """Given a run without a person, or the mode dontAsk, forms are refused with a result that says
    what to do, and plan mode cannot be entered."""
    for mode, interactive in (("default", False), ("dontAsk", True)):
        folder = tmp_path / mode
        folder.mkdir()
        agent = make_agent(folder, FORM, flags=Flags(mode=mode))
        ask = ScriptedAsk()
        session = agent.open_session()
        run = agent.run(session, "go", ask=ask, interactive=interactive)
        assert [e async for e in run][-1].reason == "done"
        assert ask.questions == []
        assert "nobody who could answer" in results(agent, folder)[0]
    agent = make_agent(
        tmp_path, "- reply: [{tool_use: {name: EnterPlanMode, input: {}}}]\n- reply: [ok]"
    )
    run = agent.run(agent.open_session(), "go", ask=ScriptedAsk(), interactive=False)
    assert only([e async for e in run], ModeChanged) == []
    assert "not available here" in results(agent, tmp_path)[0]


async def test_rules_hold_for_forms_too(tmp_path: Path) -> None:
    """A deny takes the tool away; an ask rule puts a permission question before the form."""
    agent = make_agent(tmp_path, FORM, flags=Flags(disallowed_tools=("AskUserQuestion",)))
    assert "AskUserQuestion" not in agent.tool_names()
    settings = tmp_path / ".maia" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {"ask": ["AskUserQuestion"]}}))
    ask = ScriptedAsk([PermissionAnswer("once"), FormAnswer((("SQLite",), ("Mon",)))])
    events = await play(make_agent(tmp_path, FORM), "go", ask=ask)
    assert events[-1].reason == "done"
    assert [type(q).__name__ for q in ask.questions] == ["PermissionQuestion", "FormQuestion"]


@pytest.mark.parametrize(
    ("questions", "fault"),
    [
        ("[]", "at least 1"),
        ("[{question: 'A?', header: A, options: [{label: x}]}]", "at least 2"),
        ("[{question: 'A?', header: A, options: [{label: x}, {label: x}]}]", "labels that differ"),
        (
            "[{question: 'A?', header: A, options: [{label: x}, {label: y}]},"
            " {question: 'A?', header: B, options: [{label: x}, {label: y}]}]",
            "a text of its own",
        ),
    ],
)
async def test_a_form_that_nobody_could_answer_is_sent_back(
    tmp_path: Path, questions: str, fault: str
) -> None:
    """Given too few options, equal labels or equal questions, nobody is asked and the model is told."""
    call = f"{{tool_use: {{name: AskUserQuestion, input: {{questions: {questions}}}}}}}"
    agent = make_agent(tmp_path, f"- reply: [{call}]\n- reply: [ok]")
    ask = ScriptedAsk()
    await play(agent, "go", ask=ask)
    assert ask.questions == []
    assert fault in results(agent, tmp_path)[0]


class SlowPerson:
    """Answers after a minute."""

    def __init__(self, clock: FakeClock, answer: Answer) -> None:
        self.clock, self.answer = clock, answer

    async def __call__(self, question: Question) -> Answer:
        await self.clock.sleep(60)
        return self.answer


async def test_the_time_a_person_takes_is_not_the_tools(tmp_path: Path) -> None:
    """Given a minute of thinking, the call itself took no time."""
    clock = FakeClock()
    agent = make_agent(tmp_path, FORM, clock=clock)
    person = SlowPerson(clock, FormAnswer((("SQLite",), ("Tue",))))
    [finished] = only(await play(agent, "go", ask=person), ToolFinished)
    assert finished.seconds < 1


async def test_nobody_in_time_is_nobody(tmp_path: Path) -> None:
    """Given permissions.askTimeout, a form that is not answered in time is refused."""
    settings = Path.home() / ".maia" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"permissions": {"askTimeout": 0.05}}))
    agent = make_agent(tmp_path, FORM)
    events = await play(agent, "go", ask=WaitForever())
    assert events[-1].reason == "done"
    assert "nobody who could answer" in results(agent, tmp_path)[0]


async def test_a_plan_is_approved_as_edited(tmp_path: Path) -> None:
    """Given plan mode, a change is refused; the plan goes to the person, comes back as they edited it,
    and the mode is what it was: the change now asks."""
    edited = PlanAnswer("approve", "1. Write a.txt, politely")
    ask = ScriptedAsk([edited, PermissionAnswer("once")])
    agent = make_agent(tmp_path, PLAN)
    events = await play(agent, "go", ask=ask)
    assert events[-1].reason == "done", events[-1]
    assert isinstance(ask.questions[0], PlanQuestion)
    assert ask.questions[0].plan == "1. Write a.txt"
    assert [event.mode for event in only(events, ModeChanged)] == ["plan", "default"]
    told = results(agent, tmp_path)[2]
    assert "The user changed the plan" in told
    assert "1. Write a.txt, politely" in told
    assert len(ask.questions) == 2
    assert (tmp_path / "a.txt").read_text() == "now"
    assert agent.mode == "default"


async def test_a_plan_may_be_approved_with_edits(tmp_path: Path) -> None:
    """Approved with acceptEdits, edits in the working folder run without another question."""
    ask = ScriptedAsk([PlanAnswer("approve_edits", "1. Write a.txt")])
    agent = make_agent(tmp_path, PLAN)
    events = await play(agent, "go", ask=ask)
    assert [event.mode for event in only(events, ModeChanged)] == ["plan", "acceptEdits"]
    assert "changed the plan" not in results(agent, tmp_path)[2]
    assert len(ask.questions) == 1
    assert (tmp_path / "a.txt").read_text() == "now"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (PlanAnswer("reject", message="smaller"), "and said: smaller"),
        (PlanAnswer("reject"), "Ask what they want changed"),
        (PlanAnswer("reject", by="nobody"), "nobody who could approve"),
    ],
)
async def test_a_rejected_plan_keeps_plan_mode(
    tmp_path: Path, answer: PlanAnswer, told: str
) -> None:
    """Given a plan that is not approved, the model hears why and still may change nothing."""
    agent = make_agent(tmp_path, PLAN)
    events = await play(agent, "go", ask=ScriptedAsk([answer]))
    assert events[-1].reason == "done"
    assert told in results(agent, tmp_path)[2]
    assert not (tmp_path / "a.txt").exists()
    assert agent.mode == "plan"


async def test_a_plan_outside_plan_mode_is_not_shown(tmp_path: Path) -> None:
    """Given no plan mode, ExitPlanMode asks nobody; an empty plan neither."""
    script = """
        - reply: [{tool_use: {name: ExitPlanMode, input: {plan: "1. x"}}}]
        - expect: {tool_result: Plan mode is not on, is_error: true}
          reply: [{tool_use: {name: EnterPlanMode, input: {}}}]
        - reply: [{tool_use: {name: ExitPlanMode, input: {plan: " "}}}]
        - expect: {tool_result: the plan is empty, is_error: true}
          reply: [done]
        """
    ask = ScriptedAsk()
    events = await play(make_agent(tmp_path, script), "go", ask=ask)
    assert events[-1].reason == "done", events[-1]
    assert ask.questions == []


async def test_the_rules_of_plan_mode_are_told_with_every_prompt(tmp_path: Path) -> None:
    """In plan mode each prompt carries its rules; the first one after it says that it is over, once."""
    agent = make_agent(tmp_path, "{loop: true, entries: [{reply: [ok]}]}")
    session = agent.open_session()
    for mode in ("default", "plan", "plan", "default", "default"):
        agent.use_mode(mode)
        events = await play(agent, "hello", session=session)
        [started] = only(events, TurnStarted)
        assert started.mode == mode
    prompts = [str(message) for message in session.messages if message.role == "user"]
    assert ["Plan mode is on" in prompt for prompt in prompts] == [False, True, True, False, False]
    assert ["Plan mode is over" in prompt for prompt in prompts] == [
        False,
        False,
        False,
        True,
        False,
    ]


async def test_an_interrupted_prompt_leaves_the_mode_as_it_was(tmp_path: Path) -> None:
    """Given a model that went into plan mode, an interrupt takes that back with the rest."""
    agent = make_agent(tmp_path, PLAN)
    person = WaitForever()
    events: list[Event] = []

    async def turn() -> None:
        async for event in agent.run(agent.open_session(), "go", ask=person):
            events.append(event)

    task = asyncio.create_task(turn())
    await asyncio.wait_for(person.asked.wait(), 10)
    assert agent.mode == "plan"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events[-1].reason == "interrupted"
    assert agent.mode == "default"


def test_a_mode_for_one_prompt_ends_with_it() -> None:
    """The option of a cell is over with it; what the person approved, or a plan mode that goes on, is
    not, and goes back to the mode before the option."""
    state = ModeState("default")
    state.use("plan")
    state.dismiss("plan", "default")
    assert state == ModeState("default", "default")
    state.use("plan")
    state.leave_plan(accept_edits=True)
    state.dismiss("plan", "default")
    assert state.current == "acceptEdits"
    state = ModeState("default")
    state.use("acceptEdits")
    state.use("plan")
    state.dismiss("acceptEdits", "default")
    assert state == ModeState("plan", "default")
    state.leave_plan(accept_edits=False)
    assert state.current == "default"
