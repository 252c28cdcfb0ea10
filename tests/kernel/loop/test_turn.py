"""The loop, played by a scripted model: prompts in, whole lists of events and conversations out."""

import asyncio
import json
from pathlib import Path

import pytest

from maia_kernel.errors import NoModelChosen, ProviderError, UsageError
from maia_kernel.events import (
    Notice,
    PermissionRequested,
    PermissionResolved,
    Retrying,
    TextDelta,
    TodosChanged,
    ToolFinished,
    TurnFinished,
    UsageChanged,
)
from maia_kernel.messages import Text, ToolResult
from maia_kernel.questions import PermissionAnswer
from maia_kernel.settings import Flags
from tests.support.agents import FakeClock, ScriptedAsk, WaitForever, make_agent, only, play, types


def results_of(session) -> list[ToolResult]:
    return [b for m in session.messages for b in m.content if isinstance(b, ToolResult)]


async def test_an_answer_without_calls_is_one_pass(tmp_path: Path) -> None:
    """Given a model that only talks, a turn is one request and the conversation grows by two."""
    agent = make_agent(tmp_path, "- reply: [{text: Hello there, chunks: 2}]")
    session = agent.open_session()
    events = await play(agent, "hi", session=session)
    assert types(events) == ["turn_started", "request_started", "text_delta", "turn_finished"]
    assert "".join(e.text for e in only(events, TextDelta)) == "Hello there"
    finish = events[-1]
    assert isinstance(finish, TurnFinished)
    assert (finish.reason, finish.exit_code, finish.text) == ("done", 0, "Hello there")
    assert [(m.role, m.text) for m in session.messages] == [
        ("user", "hi"),
        ("assistant", "Hello there"),
    ]


async def test_results_go_back_in_the_order_of_the_calls(tmp_path: Path) -> None:
    """Given three calls in one reply, each gets one result, in order, whatever happened to it."""
    (tmp_path / "a.txt").write_text("alpha\n")
    agent = make_agent(
        tmp_path,
        """
        - reply:
            - tool_use: {name: Read, input: {file_path: a.txt}, id: one}
            - tool_use: {name: Nonsense, input: {}, id: two}
            - tool_use: {name: Read, input: {path: a.txt}, id: three}
            - tool_use: {name: Read, raw: '{"file_pa', id: four}
            - tool_use: {name: Read, input: {file_path: missing.txt}, id: five}
        - expect: {tool_result: [alpha, "no tool named", "file_path", "not a JSON object"]}
          reply: [done]
        """,
    )
    session = agent.open_session()
    events = await play(agent, "read", session=session)
    assert events[-1].reason == "done", events[-1]
    results = results_of(session)
    assert [r.tool_use_id for r in results] == ["one", "two", "three", "four", "five"]
    assert [r.is_error for r in results] == [False, True, True, True, True]


async def test_harmless_calls_start_while_the_model_still_streams(tmp_path: Path) -> None:
    """Given a read-only call early in a reply, it is finished before the reply is."""
    (tmp_path / "a.txt").write_text("alpha\n")
    agent = make_agent(
        tmp_path,
        """
        - reply:
            - tool_use: {name: Read, input: {file_path: a.txt}}
            - {text: "and now I go on talking", chunks: 10, seconds: 0.5}
        - reply: [done]
        """,
    )
    events = await play(agent, "read")
    kinds = [event.type for event in events]
    assert kinds.index("tool_finished") < len(kinds) - 1 - kinds[::-1].index("text_delta") - 1
    assert kinds.index("tool_finished") < kinds.index("text_delta") + 5


async def test_a_write_waits_for_the_whole_reply_and_what_follows_waits_for_it(
    tmp_path: Path,
) -> None:
    """Given Write before Read of the same file, Read runs after the write and sees its content."""
    agent = make_agent(
        tmp_path,
        """
        - reply:
            - tool_use: {name: Write, input: {file_path: new.txt, content: "fresh\\n"}}
            - tool_use: {name: Read, input: {file_path: new.txt}}
            - {text: talking, chunks: 5, seconds: 0.2}
        - expect: {tool_result: fresh, is_error: false}
          reply: [done]
        """,
    )
    events = await play(agent, "write", ask=ScriptedAsk([PermissionAnswer("once")]))
    assert events[-1].reason == "done", events[-1]
    kinds = [event.type for event in events]
    streamed = [n for n, e in enumerate(events) if e.type == "text_delta" and e.text != "done"]
    assert kinds.index("tool_started") > max(streamed)
    assert (tmp_path / "new.txt").read_text() == "fresh\n"


async def test_permission_is_asked_once_and_the_answer_travels_back(tmp_path: Path) -> None:
    """Given a command that asks, a denial with words reaches the model and nothing runs."""
    agent = make_agent(
        tmp_path,
        """
        - reply: [{tool_use: {name: Bash, input: {command: "touch made"}}}]
        - expect: {tool_result: "use another way", is_error: true}
          reply: [understood]
        """,
    )
    ask = ScriptedAsk([PermissionAnswer("deny", "use another way")])
    events = await play(agent, "go", ask=ask)
    assert events[-1].reason == "done", events[-1]
    assert len(ask.questions) == 1
    assert "touch made" in str(ask.questions[0])
    assert len(only(events, PermissionRequested)) == len(only(events, PermissionResolved)) == 1
    assert not (tmp_path / "made").exists()


async def test_a_session_answer_covers_the_next_call_too(tmp_path: Path) -> None:
    """Given "allow for this session", a second call that the rule covers is not asked."""
    agent = make_agent(
        tmp_path,
        """
        - reply:
            - tool_use: {name: Write, input: {file_path: a.txt, content: "1"}}
            - tool_use: {name: Write, input: {file_path: b.txt, content: "2"}}
        - expect: {is_error: false}
          reply: [done]
        """,
    )
    ask = ScriptedAsk([PermissionAnswer("session", rules=("Edit(*.txt)",))])
    events = await play(agent, "go", ask=ask)
    assert events[-1].reason == "done", events[-1]
    assert len(ask.questions) == 1
    assert (tmp_path / "b.txt").read_text() == "2"


async def test_always_writes_the_rule_and_it_holds_in_the_next_agent(tmp_path: Path) -> None:
    """Given "always allow", a new agent in the same folder does not ask again."""
    script = """
        loop: true
        entries:
        - reply: [{tool_use: {name: Write, input: {file_path: a.txt, content: "1"}}}]
        - reply: [done]
        """
    ask = ScriptedAsk([PermissionAnswer("always", rules=("Edit(a.txt)",))])
    events = await play(make_agent(tmp_path, script), "go", ask=ask)
    assert events[-1].reason == "done", events[-1]
    written = json.loads((tmp_path / ".maia/settings.local.json").read_text())
    assert written["permissions"]["allow"] == ["Edit(a.txt)"]
    (tmp_path / "a.txt").unlink()
    silent = ScriptedAsk()
    events = await play(make_agent(tmp_path, script), "again", ask=silent)
    assert silent.questions == []
    assert (tmp_path / "a.txt").exists()


async def test_headless_denial_names_the_rule_that_would_allow(tmp_path: Path) -> None:
    """Given nobody to ask, the notice and the result name the rule."""
    agent = make_agent(
        tmp_path,
        """
        - reply: [{tool_use: {name: Bash, input: {command: "npm test"}}}]
        - expect: {tool_result: "Bash(npm test", is_error: true}
          reply: [ok]
        """,
    )
    events = await play(agent, "go")
    assert events[-1].reason == "done", events[-1]
    assert any("Bash(npm test" in notice.text for notice in only(events, Notice))


async def test_the_todo_list_is_an_event(tmp_path: Path) -> None:
    """Given TodoWrite, the whole list comes as an event and no permission is asked."""
    agent = make_agent(
        tmp_path,
        """
        - reply:
            - tool_use:
                name: TodoWrite
                input:
                  todos:
                    - {content: look, status: completed, activeForm: looking}
                    - {content: fix, status: in_progress, activeForm: fixing}
        - reply: [done]
        """,
    )
    events = await play(agent, "go")
    (changed,) = only(events, TodosChanged)
    assert [(i.content, i.status) for i in changed.items] == [
        ("look", "completed"),
        ("fix", "in_progress"),
    ]


async def test_passing_faults_are_retried_with_growing_delays(tmp_path: Path) -> None:
    """Given 529, 429 with retry-after and a broken stream, the turn goes on and says so."""
    clock = FakeClock()
    agent = make_agent(
        tmp_path,
        """
        - reply: [{fault: {status: 529, message: busy}}]
        - reply: [{fault: {status: 429, message: slow, retry_after: 7}}]
        - reply: [half an ans, {fault: broken}]
        - reply: [the answer]
        """,
        clock=clock,
    )
    session = agent.open_session()
    events = await play(agent, "hi", session=session)
    assert events[-1].reason == "done", events[-1]
    assert len(only(events, Retrying)) == 3
    assert clock.slept[1] == 7
    assert session.messages[-1].text == "the answer"


async def test_a_fault_that_stays_ends_the_turn_and_leaves_the_conversation_as_it_was(
    tmp_path: Path,
) -> None:
    """Given a wrong key, the turn ends with one line and exit code 3, without a second try."""
    agent = make_agent(
        tmp_path, "- reply: [{fault: {status: 401, message: bad key}}]\n- reply: [never]"
    )
    session = agent.open_session()
    events = await play(agent, "hi", session=session)
    finish = events[-1]
    assert (finish.reason, finish.exit_code) == ("error", 3)
    assert "\n" not in finish.error
    assert "bad key" in finish.error
    assert only(events, Retrying) == []
    assert session.messages == ()


async def test_a_reply_that_has_to_be_redone_repeats_no_side_effect(tmp_path: Path) -> None:
    """Given a stream that breaks after a Write call, the write has not run."""
    agent = make_agent(
        tmp_path,
        """
        - reply:
            - tool_use: {name: Write, input: {file_path: a.txt, content: "1"}}
            - fault: broken
        - reply: [changed my mind]
        """,
        clock=FakeClock(),
    )
    ask = ScriptedAsk([PermissionAnswer("once")])
    events = await play(agent, "hi", ask=ask)
    assert events[-1].reason == "done", events[-1]
    assert ask.questions == []
    assert not (tmp_path / "a.txt").exists()


async def test_a_cut_answer_is_continued_at_most_three_times(tmp_path: Path) -> None:
    """Given a model that always hits its output limit, the turn ends by name after three nudges."""
    agent = make_agent(
        tmp_path,
        """
        loop: true
        capabilities: {max_output: 100}
        entries:
        - {reply: [more and], stop: max_tokens}
        """,
    )
    session = agent.open_session()
    events = await play(agent, "hi", session=session)
    assert events[-1].reason == "output_limit"
    assert events[-1].exit_code == 4
    assert sum(message.role == "assistant" for message in session.messages) == 4


async def test_a_call_that_was_cut_never_runs(tmp_path: Path) -> None:
    """Given the output limit in the middle of a call, the call is dropped."""
    agent = make_agent(
        tmp_path,
        """
        - reply:
            - I will write it.
            - tool_use: {name: Write, input: {file_path: a.txt, content: "1"}}
          stop: max_tokens
        - expect: {contains: Continue exactly}
          reply: [never mind]
        """,
    )
    ask = ScriptedAsk([PermissionAnswer("once")])
    events = await play(agent, "hi", ask=ask)
    assert events[-1].reason == "done", events[-1]
    assert ask.questions == []


@pytest.mark.parametrize(
    ("stop", "reason", "code"),
    [("refusal", "refusal", 1), ("context_window_exceeded", "context_window_exceeded", 4)],
)
async def test_ends_are_reported_by_name(tmp_path: Path, stop: str, reason: str, code: int) -> None:
    """Given a stop reason of the model, the turn ends with it and a line that says what to do."""
    agent = make_agent(tmp_path, f"- {{reply: [so], stop: {stop}}}")
    finish = (await play(agent, "hi"))[-1]
    assert (finish.reason, finish.exit_code) == (reason, code)
    assert finish.error


async def test_a_paused_reply_is_sent_back_as_it_is(tmp_path: Path) -> None:
    """Given pause_turn, the next request ends with the assistant's message."""
    agent = make_agent(
        tmp_path,
        "- {reply: [part one], stop: pause_turn}\n- {expect: {messages: 2}, reply: [part two]}",
    )
    events = await play(agent, "hi")
    assert events[-1].reason == "done", events[-1]


async def test_the_number_of_requests_is_limited(tmp_path: Path) -> None:
    """Given a model that calls for ever, max turns ends the turn with exit code 4."""
    agent = make_agent(
        tmp_path,
        """
        loop: true
        entries:
        - reply: [{tool_use: {name: Glob, input: {pattern: "*.txt"}}}]
        """,
        flags=Flags(max_turns=3),
    )
    events = await play(agent, "hi")
    assert (events[-1].reason, events[-1].exit_code) == ("max_turns", 4)
    assert len([e for e in events if e.type == "request_started"]) == 3


async def test_the_token_budget_is_kept(tmp_path: Path) -> None:
    """Given a budget, the turn ends once it is used up."""
    agent = make_agent(
        tmp_path,
        """
        loop: true
        entries:
        - reply: [{tool_use: {name: Glob, input: {pattern: "*.txt"}}}]
          usage: {input_tokens: 600, output_tokens: 10}
        """,
        flags=Flags(budget_tokens=1000),
    )
    events = await play(agent, "hi")
    assert events[-1].reason == "budget"
    assert only(events, UsageChanged)[-1].usage.input_tokens == 1200


async def interrupt(agent, session, prompt: str, when, ask=None) -> list:
    """Play `prompt` and cancel its task when `when(event)` is true; returns all events."""
    seen: list = []

    async def consume() -> None:
        async for event in agent.run(session, prompt, ask=ask or ScriptedAsk()):
            seen.append(event)
            if when(event):
                asyncio.get_running_loop().call_later(0.05, task.cancel)

    task = asyncio.create_task(consume())
    with pytest.raises(asyncio.CancelledError):
        await task
    return seen


@pytest.mark.parametrize("moment", ["streaming", "asking", "running"])
async def test_an_interrupt_leaves_the_conversation_as_before_the_prompt(
    tmp_path: Path, moment: str
) -> None:
    """Given an interrupt at any moment, the end is reported and the next prompt works."""
    command = "touch started; sleep 60" if moment == "running" else "touch x"
    slow = "{text: slowly, chunks: 6, seconds: 30}" if moment == "streaming" else "quick"
    agent = make_agent(
        tmp_path,
        f"""
        - reply: [first answer]
        - reply: [{slow}, {{tool_use: {{name: Bash, input: {{command: '{command}'}}}}}}]
        - expect: {{messages: 3, contains: next}}
          reply: [second answer]
        """,
    )
    session = agent.open_session()
    await play(agent, "hi", session=session)
    before = session.messages
    ask = {"asking": WaitForever(), "running": ScriptedAsk([PermissionAnswer("once")])}.get(moment)
    kind = {
        "streaming": "text_delta",
        "asking": "permission_requested",
        "running": "permission_resolved",
    }[moment]
    seen = await interrupt(agent, session, "go", lambda event: event.type == kind, ask)
    assert seen[-1].reason == "interrupted"
    assert seen[-1].exit_code == 130
    assert session.messages == before
    if moment == "asking":
        assert only(seen, PermissionResolved)[-1].answer.by == "interrupt"
    events = await play(agent, "next", session=session)
    assert events[-1].reason == "done", events[-1]
    lines = [json.loads(line) for line in session.path.read_text().splitlines()]
    assert [x["reason"] for x in lines if x["type"] == "turn_finished"] == [
        "done",
        "interrupted",
        "done",
    ]


async def test_the_next_prompt_says_what_an_interrupted_turn_had_changed(tmp_path: Path) -> None:
    """Given an interrupt after a write, the next prompt carries a reminder of it, once."""
    agent = make_agent(
        tmp_path,
        """
        - reply: [{tool_use: {name: Write, input: {file_path: a.txt, content: "1"}}}]
        - reply: [{text: slowly, chunks: 6, seconds: 30}]
        - expect: {contains: [a.txt, interrupted, next]}
          reply: [ok]
        - expect: {contains: last, not_contains: interrupted}
          reply: [ok]
        """,
    )
    session = agent.open_session()
    ask = ScriptedAsk([PermissionAnswer("once")])
    await interrupt(agent, session, "go", lambda event: event.type == "text_delta", ask)
    assert (tmp_path / "a.txt").exists()
    assert (await play(agent, "next", session=session))[-1].reason == "done"
    assert (await play(agent, "last", session=session))[-1].reason == "done"


async def test_a_note_of_the_model_ends_every_answer_and_stays_out_of_the_conversation(
    tmp_path: Path,
) -> None:
    """Given a model with an answer note and no tools, the note is shown and not sent back."""
    agent = make_agent(
        tmp_path,
        """
        capabilities: {answer_note: "*a small model wrote this*", prompt_profile: short, tools: false}
        entries:
        - {expect: {not_tools: [Read]}, reply: [answer]}
        """,
    )
    session = agent.open_session()
    events = await play(agent, "hi", session=session)
    assert (
        "".join(e.text for e in only(events, TextDelta)) == "answer\n\n*a small model wrote this*"
    )
    assert session.messages[-1].content == (Text("answer"),)


async def test_without_a_model_nothing_is_sent_and_the_line_says_what_to_do(tmp_path: Path) -> None:
    """Given no model, the prompt is refused with what is ready and how to choose."""
    agent = make_agent(tmp_path, "- reply: [x]")
    agent.model = None
    with pytest.raises(NoModelChosen, match="maia_model"):
        await play(agent, "hi")
    assert not (tmp_path / ".maia").exists()


async def test_an_empty_prompt_is_a_usage_error(tmp_path: Path) -> None:
    """Given nothing to do, nothing is sent."""
    with pytest.raises(UsageError):
        await play(make_agent(tmp_path, "- reply: [x]"), "  \n")


async def test_attached_files_travel_with_the_prompt(tmp_path: Path) -> None:
    """Given `@a.py`, the file's content is in the request."""
    (tmp_path / "a.py").write_text("ANSWER = 42\n")
    agent = make_agent(tmp_path, "- {expect: {contains: ['ANSWER = 42', explain]}, reply: [ok]}")
    assert (await play(agent, "explain @a.py"))[-1].reason == "done"


async def test_a_tool_that_breaks_is_a_result(tmp_path: Path) -> None:
    """Given a path that cannot be read, the turn goes on with an error result."""
    (tmp_path / "dir").mkdir()
    agent = make_agent(
        tmp_path,
        """
        - reply: [{tool_use: {name: Read, input: {file_path: dir}}}]
        - {expect: {is_error: true}, reply: [ok]}
        """,
    )
    events = await play(agent, "go")
    assert events[-1].reason == "done"
    assert only(events, ToolFinished)[0].is_error


async def test_usage_and_cost_count_every_request(tmp_path: Path) -> None:
    """Given two requests of a model without a price, tokens add up and the cost is unknown."""
    (tmp_path / "a.txt").write_text("x")
    agent = make_agent(
        tmp_path,
        """
        - reply: [{tool_use: {name: Read, input: {file_path: a.txt}}}]
          usage: {input_tokens: 10, output_tokens: 1}
        - reply: [done]
          usage: {input_tokens: 20, output_tokens: 2}
        """,
    )
    finish = (await play(agent, "go"))[-1]
    assert (finish.usage.input_tokens, finish.usage.output_tokens) == (30, 3)
    assert finish.cost_usd is None


async def test_an_answer_cut_at_the_limit_still_says_who_wrote_it(tmp_path: Path) -> None:
    """Given a small model that runs into its limit, its note comes all the same."""
    agent = make_agent(
        tmp_path,
        """
        capabilities: {answer_note: "*small*", prompt_profile: short, tools: false, max_output: 9}
        entries:
        - {reply: [half an ans], stop: max_tokens}
        """,
    )
    events = await play(agent, "hi")
    assert events[-1].reason == "output_limit"
    assert "".join(e.text for e in only(events, TextDelta)).endswith("*small*")


async def test_without_context_nothing_is_added_to_the_prompt(tmp_path: Path) -> None:
    """Given context=False, the environment section is left out of the system prompt."""
    agent = make_agent(
        tmp_path,
        """
        - {expect: {system: "Working folder:"}, reply: [one]}
        - {expect: {system: "Working folder:"}, reply: [two]}
        """,
    )
    session = agent.open_session()
    assert (await play(agent, "hi", session=session))[-1].reason == "done"
    events = [e async for e in agent.run(session, "hi", ask=ScriptedAsk(), context=False)]
    assert events[-1].reason == "error"
    assert "Working folder" in events[-1].error


async def test_a_model_that_cannot_be_used_is_not_chosen(tmp_path: Path) -> None:
    """Given a model that is not there, choosing it fails and the one before stays."""
    agent = make_agent(tmp_path, "- reply: [x]")
    before = agent.model
    with pytest.raises(ProviderError):
        await agent.use_model("scripted:missing.yaml")
    assert agent.model == before


@pytest.mark.parametrize("path", ["~nosuch/x", "a\x00b"])
async def test_a_path_that_cannot_be_one_is_a_result(tmp_path: Path, path: str) -> None:
    """Given a path no file can have, the call fails and the turn goes on."""
    call = json.dumps({"name": "Read", "input": {"file_path": path}})
    script = f"- reply: [{{tool_use: {call}}}]\n- {{expect: {{is_error: true}}, reply: [ok]}}"
    events = await play(make_agent(tmp_path, script), "go")
    assert events[-1].reason == "done", events[-1]


async def test_what_a_provider_has_to_say_beside_the_answer(tmp_path: Path) -> None:
    """Given a provider that tells how it got the answer, the person sees the line and the conversation
    does not hold it."""
    agent = make_agent(tmp_path, "- reply: [{notice: left out x}, {text: Hello.}]")
    session = agent.open_session()
    events = await play(agent, "go", session=session)
    assert [e.text for e in only(events, Notice)] == ["left out x"]
    assert session.messages[-1].text == "Hello."
