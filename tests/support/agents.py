"""An agent on a scripted model in a temporary folder, and the doubles of its ports."""

import asyncio
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from maia_kernel.agent import Agent
from maia_kernel.events import Event
from maia_kernel.ports import KernelPort
from maia_kernel.questions import Answer, Question, unanswered
from maia_kernel.sessions import Session
from maia_kernel.settings import Flags, load


@dataclass
class ScriptedAsk:
    """Answers questions from a list, and keeps them; without answers left it denies."""

    answers: list[Answer] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    async def __call__(self, question: Question) -> Answer:
        self.questions.append(question)
        if self.answers:
            return self.answers.pop(0)
        return unanswered(question)


class WaitForever:
    """A person who never answers; `asked` is set when a question has come."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def __call__(self, question: Question) -> Answer:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


class FakeClock:
    """Time that only passes when somebody sleeps; `slept` lists the delays."""

    def __init__(self) -> None:
        self.time = 1_000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def make_agent(
    folder: Path,
    script: str,
    *,
    flags: Flags | None = None,
    kernel: KernelPort | None = None,
    clock: FakeClock | None = None,
    environ: dict[str, str] | None = None,
) -> Agent:
    """An agent in `folder` whose model plays `script` (YAML)."""
    file = Path.home() / "script.yaml"
    file.write_text(textwrap.dedent(script), encoding="utf-8")
    environment = {"MAIA_MODEL": f"scripted:{file}", "PATH": "/usr/bin:/bin", **(environ or {})}
    settings = load(folder, environ=environment, home=Path.home(), flags=flags or Flags())
    return Agent(settings, kernel=kernel, environ=environment, clock=clock)


async def play(
    agent: Agent, prompt: str, *, ask: object | None = None, session: Session | None = None
) -> list[Event]:
    """Every event of one turn."""
    session = session or agent.open_session()
    return [event async for event in agent.run(session, prompt, ask=ask or ScriptedAsk())]  # type: ignore[arg-type]


def types(events: Sequence[Event]) -> list[str]:
    """The events' types, runs of the same one folded, usage left out."""
    folded: list[str] = []
    for event in events:
        if event.type != "usage" and folded[-1:] != [event.type]:
            folded.append(event.type)
    return folded


def only(events: Sequence[Event], kind: type) -> list:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]
