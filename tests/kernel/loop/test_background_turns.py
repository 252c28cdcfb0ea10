"""Background commands across turns: what the model is told, and what an interrupt leaves."""

import asyncio
from pathlib import Path

import psutil
import pytest

from maia_kernel.agent import Agent
from maia_kernel.events import ToolFinished
from maia_kernel.sessions import Session
from maia_kernel.settings import Flags
from tests.support.agents import ScriptedAsk, make_agent, only, play

ALLOWED = Flags(allowed_tools=("Bash",))


async def ended(session: Session, number: str = "bash_1") -> None:
    task = session.tools.background.find(number)
    assert task is not None
    await task.wait(10)
    assert not task.running


async def interrupted(agent: Agent, session: Session, prompt: str, moment: str) -> None:
    async def consume() -> None:
        async for event in agent.run(session, prompt, ask=ScriptedAsk()):
            if event.type == moment:
                asyncio.get_running_loop().call_later(0.05, playing.cancel)

    playing = asyncio.create_task(consume())
    with pytest.raises(asyncio.CancelledError):
        await playing


async def test_the_next_prompt_says_that_a_task_ended(tmp_path: Path) -> None:
    """Given a command in the background that ends between two prompts, then the next prompt tells its
    exit code, the one after it does not; the old names of the tools work."""
    agent = make_agent(
        tmp_path,
        """
        - reply: [{tool_use: {name: Bash, input: {command: "echo hi; exit 4", run_in_background: true}}}]
        - reply: [started]
        - expect: {contains: ["bash_1 (echo hi; exit 4): ended with exit code 4", next]}
          reply: [{tool_use: {name: BashOutput, input: {bash_id: bash_1}}}]
        - expect: {tool_result: "hi", is_error: false}
          reply: [{tool_use: {name: KillShell, input: {shell_id: bash_1}}}]
        - expect: {tool_result: "ended with exit code 4", is_error: false}
          reply: [ok]
        - expect: {contains: last, not_contains: bash_1}
          reply: [ok]
        """,
        flags=ALLOWED,
    )
    session = agent.open_session()
    await play(agent, "go", session=session)
    await ended(session)
    for prompt in ("next", "last"):
        events = await play(agent, prompt, session=session)
        assert events[-1].reason == "done", events[-1]


async def test_an_interrupt_leaves_what_runs_in_the_background(tmp_path: Path) -> None:
    """Given a running background command, when a later turn that waits for it is interrupted, then it
    goes on, the next prompt says that it runs, and the end of the agent ends it."""
    agent = make_agent(
        tmp_path,
        """
        - reply: [{tool_use: {name: Bash, input: {command: "sleep 60", run_in_background: true}}}]
        - reply: [started]
        - reply: [{tool_use: {name: TaskOutput, input: {task_id: bash_1, timeout: 60000}}}]
        - expect: {contains: ["bash_1 (sleep 60): running", next]}
          reply: [ok]
        """,
        flags=ALLOWED,
    )
    session = agent.open_session()
    await play(agent, "go", session=session)
    await interrupted(agent, session, "wait for it", "tool_started")
    sleeping = [p for p in psutil.Process().children() if "sleep 60" in " ".join(p.cmdline())]
    assert len(sleeping) == 1
    assert (await play(agent, "next", session=session))[-1].reason == "done"
    await agent.aclose()
    assert not sleeping[0].is_running()


async def test_rules_know_the_old_names(tmp_path: Path) -> None:
    """Given a deny rule with an old name, then the tool is not offered."""
    agent = make_agent(
        tmp_path, "- reply: [ok]", flags=Flags(disallowed_tools=("KillBash", "BashOutput"))
    )
    assert not {"TaskStop", "TaskOutput"} & set(agent.tool_names())


async def test_reading_and_stopping_ask_nobody(tmp_path: Path) -> None:
    """Given no rules, then starting is asked, reading and stopping are not; a session that is left ends
    its tasks."""
    agent = make_agent(
        tmp_path,
        """
        - reply: [{tool_use: {name: Bash, input: {command: "sleep 60 | cat", run_in_background: true}}}]
        - reply: [{tool_use: {name: TaskOutput, input: {task_id: bash_1, block: false}}}]
        - expect: {tool_result: "is running"}
          reply: [{tool_use: {name: TaskStop, input: {task_id: bash_1}}}]
        - expect: {tool_result: "bash_1 stopped"}
          reply: [{tool_use: {name: Bash, input: {command: "sleep 60 ", run_in_background: true}}}]
        - reply: [ok]
        """,
        flags=Flags(allowed_tools=("Bash(sleep:*)", "Bash(cat)")),
    )
    session = agent.open_session()
    events = await play(agent, "go", session=session)
    assert events[-1].reason == "done", events[-1]
    assert [event.is_error for event in only(events, ToolFinished)] == [False] * 4
    await session.aclose()
    await ended(session, "bash_2")
