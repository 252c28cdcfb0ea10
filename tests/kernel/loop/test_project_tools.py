"""A project's tools in a turn: who is asked, what is offered, what is loaded."""

from pathlib import Path

import pytest

from maia_kernel.events import Notice, PermissionRequested, ToolFinished
from maia_kernel.questions import PermissionAnswer
from maia_kernel.settings import Flags
from tests.support.agents import ScriptedAsk, make_agent, only, play
from tests.support.custom_tools import write_tool

CALL = """
- expect: {tools: [lint]}
  reply: [{tool_use: {name: lint, input: {path: "a b.py"}}}]
- reply: [done]
"""


@pytest.mark.parametrize("read_only", [True, False])
async def test_a_tool_asks_whatever_it_says_of_itself(tmp_path: Path, read_only: bool) -> None:
    """Given a trusted tool that says that it only reads, then it asks all the same, and the card offers
    a rule of its name, after which it runs unasked."""
    write_tool(
        tmp_path,
        "lint",
        command=["echo", "checked", "{path}"],
        read_only=read_only,
        input_schema={"properties": {"path": {"type": "string"}}},
    )
    agent = make_agent(tmp_path, CALL + CALL, flags=Flags(trust=True))
    session = agent.open_session()
    ask = ScriptedAsk([PermissionAnswer("session")])
    events = await play(agent, "go", ask=ask, session=session)
    (requested,) = only(events, PermissionRequested)
    assert requested.question.offer.rules == ("lint",)
    assert "echo checked 'a b.py'" in str(requested.question.displays)
    assert [event.is_error for event in only(events, ToolFinished)] == [False]
    events = await play(agent, "again", ask=ScriptedAsk(), session=session)
    assert [event.is_error for event in only(events, ToolFinished)] == [False]


async def test_rules_of_its_name(tmp_path: Path) -> None:
    """An allow rule lets it run, a deny rule takes it out of the list, plan mode refuses it, and nothing
    of it is there without trust or in bare mode."""
    write_tool(tmp_path, "lint", read_only=True)
    allowed = make_agent(tmp_path, CALL, flags=Flags(trust=True, allowed_tools=("lint",)))
    events = await play(allowed, "go")
    assert [event.is_error for event in only(events, ToolFinished)] == [False]
    plan = Flags(trust=True, allowed_tools=("lint",), mode="plan")
    events = await play(make_agent(tmp_path, CALL, flags=plan), "go")
    assert [event.is_error for event in only(events, ToolFinished)] == [True]
    for flags in (
        Flags(trust=True, disallowed_tools=("lint",)),
        Flags(),
        Flags(trust=True, bare=True),
    ):
        assert "lint" not in make_agent(tmp_path, CALL, flags=flags).tool_names()


async def test_a_rule_about_a_field(tmp_path: Path) -> None:
    """A deny rule may speak of a field of its input."""
    write_tool(tmp_path, "lint")
    flags = Flags(trust=True, allowed_tools=("lint",), disallowed_tools=("lint(path:a *)",))
    events = await play(make_agent(tmp_path, CALL, flags=flags), "go")
    assert [event.is_error for event in only(events, ToolFinished)] == [True]


async def test_a_broken_one_is_said_once(tmp_path: Path) -> None:
    """Given a TOOL.json with a fault, then the first turn says so, the second does not."""
    write_tool(tmp_path, "lint", timeout=-1)
    agent = make_agent(tmp_path, "- reply: [a]\n- reply: [b]", flags=Flags(trust=True))
    session = agent.open_session()
    said = [notice.text for notice in only(await play(agent, "go", session=session), Notice)]
    assert len([line for line in said if "TOOL.json" in line]) == 1
    again = only(await play(agent, "again", session=session), Notice)
    assert not [notice for notice in again if "TOOL.json" in notice.text]


async def test_many_tools_are_found_before_they_are_called(tmp_path: Path) -> None:
    """Given more tools than are sent whole, then a call of one is told to load it, ToolSearch loads it
    for the rest of the session, and clearing the conversation forgets that."""
    for number in range(25):
        write_tool(tmp_path, f"tool_{number:02}")
    agent = make_agent(
        tmp_path,
        """
        - expect: {tools: [ToolSearch, Read], not_tools: [tool_07]}
          reply: [{tool_use: {name: tool_07, input: {}}}]
        - expect: {tool_result: "select:tool_07", is_error: true}
          reply: [{tool_use: {name: ToolSearch, input: {query: "select:tool_07"}}}]
        - expect: {tool_result: "tool_07 is loaded", is_error: false, tools: [tool_07], not_tools: [tool_08]}
          reply: [{tool_use: {name: tool_07, input: {a: 1}}}]
        - expect: {tool_result: '{"a": 1}', is_error: false}
          reply: [done]
        - expect: {tools: [tool_07]}
          reply: [done]
        - expect: {not_tools: [tool_07]}
          reply: [done]
        """,
        flags=Flags(trust=True, allowed_tools=("tool_07",)),
    )
    session = agent.open_session()
    for prompt in ("go", "next", "cleared"):
        if prompt == "cleared":
            session.clear()
        events = await play(agent, prompt, session=session)
        assert events[-1].reason == "done", events[-1]
