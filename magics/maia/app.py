"""One App per shell: settings, engine, agent, session, and how a cell becomes a turn."""

import asyncio
import builtins
import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from IPython.core.interactiveshell import InteractiveShell

from maia import trust
from maia.cell import CellRequest
from maia.frontend import (
    READY_WITHIN,
    Client,
    FrontEnd,
    Handshakes,
    current_client,
    first_look,
    without_widgets,
)
from maia.functions import registered
from maia.outcomes import CellFailed
from maia.pump import Pump
from maia.shell import LiveKernel
from maia.warm_up import imported
from maia_kernel.engine import Engine
from maia_kernel.errors import MaiaError, UsageError
from maia_kernel.events import Event, Notice, TurnFinished
from maia_kernel.questions import ChoiceAnswer, ChoiceOption, ChoiceQuestion
from maia_kernel.settings import Settings
from maia_kernel.texts import language, text

if TYPE_CHECKING:
    from maia_kernel.agent import Agent
    from maia_kernel.sessions import Session
    from maia_widgets.panel import Panel
    from maia_widgets.turn import TurnView

T = TypeVar("T")

_CLOSE_WITHIN: Final = 3.0
"""Seconds for connections and child processes to end when the kernel does."""


@dataclass(slots=True)
class Cell:
    """The running cell: its pump, and what its front-end can do."""

    pump: Pump
    front: FrontEnd
    client: Client


class App:
    """What one shell has of MAIA. Methods without `async` belong to the main thread, the others to
    the engine's.
    """

    def __init__(self, shell: InteractiveShell, settings: Settings, engine: Engine) -> None:
        self.shell = shell
        self.settings = settings
        self.engine = engine
        self.handshakes = Handshakes()
        # Digests of project items: trusted for this session only, and not to be asked about again.
        self.trusted_here: frozenset[str] = frozenset()
        self.put_off: frozenset[str] = frozenset()
        self._live = LiveKernel(shell)
        self._agent: Agent | None = None
        self._session: Session | None = None

    @property
    def kernel(self) -> Any | None:
        """The ipykernel kernel; None in terminal IPython."""
        return getattr(self.shell, "kernel", None)

    @property
    def busy(self) -> bool:
        """True while a cell waits in `run`."""
        return self._live.pump is not None

    def run(self, work: Callable[[Cell], Coroutine[Any, Any, T]]) -> T:
        """Run `work` on the engine while this cell waits.

        Raises:
            CellFailed: a `MaiaError`, as one line.
            TurnInterrupted: the person stopped it.
        """
        language.set(self.settings.language)
        if self.busy:
            raise CellFailed(text("magics.turn.nested"))
        pump = Pump(self.engine, self.kernel, last=self._kill)
        front = first_look(
            self.kernel,
            namespace=self.shell.user_ns,
            ui=self.settings.ui,
            can_click=pump.can_click,
        )
        cell = Cell(pump, front, current_client(self.kernel))
        self._live.pump = pump
        try:
            return pump.run(lambda: work(cell))
        except MaiaError as error:
            raise CellFailed(str(error)) from None
        finally:
            self._live.pump = None

    def ask(self, request: CellRequest) -> None:
        """Play the prompt of a cell, and bind the answer if the cell says so."""
        if not request.prompt.strip():
            language.set(self.settings.language)
            raise CellFailed(text("magics.cell.empty"))
        answer = self.run(lambda cell: self._turn(cell, request))
        if request.out is not None:
            self.shell.user_ns[request.out] = answer

    def _kill(self) -> None:
        """KILL what the agent's commands started, from the main thread."""
        if self._agent is not None:
            self._agent.kill()

    def close(self) -> None:
        """End the agent's connections and child processes; the session is on disk already."""
        if self._agent is not None and self.engine.running:
            closing = self.engine.submit(self._agent.aclose())
            with contextlib.suppress(TimeoutError, MaiaError):
                closing.result(_CLOSE_WITHIN)

    # -- on the engine ------------------------------------------------------------------------------

    async def agent(self) -> "Agent":
        """The agent, built at its first use."""
        if self._agent is None:
            await imported("maia_kernel.agent")
        if self._agent is None:  # the warm-up may have built it meanwhile
            from maia_kernel.agent import Agent  # pydantic, tree-sitter: heavy

            self._agent = Agent(
                self.settings,
                kernel=self._live,
                environ=os.environ,
                functions=lambda: registered(self.shell),
            )
        return self._agent

    async def use_settings(self, settings: Settings) -> None:
        """Go on with settings that were read anew."""
        await (await self.agent()).use_settings(settings)
        self.settings = settings

    async def session(self) -> "Session":
        """The running conversation."""
        if self._session is None:
            self._session = (await self.agent()).open_session()
        return self._session

    @property
    def built_agent(self) -> "Agent | None":
        """The agent, if a cell needed it already."""
        return self._agent

    @property
    def current_session(self) -> "Session | None":
        """The running conversation, if there is one."""
        return self._session

    async def new_session(self, name: str | None = None) -> "Session":
        """Leave the conversation for a new one; raises `UsageError` for a bad name."""
        left, self._session = self._session, (await self.agent()).open_session(name)
        if left is not None:
            await left.aclose()
        return self._session

    async def open_view(self, cell: Cell, *, quiet: bool = False) -> "TurnView":
        """The view of this cell, opened; its `ask` is `ports.Ask`."""
        await imported("maia_widgets.turn")
        from maia_widgets.turn import TurnView  # ipywidgets: heavy

        panel = await self.open_panel(cell) if cell.front.asks == "panel" else None
        if cell.front.asks == "panel" and panel is None:
            cell.front = without_widgets(self.kernel, self.shell.user_ns)

        async def read(prompt: str) -> str:
            return await cell.pump.call_main(lambda: builtins.input(prompt))

        view = TurnView(
            style=cell.front.style,
            panel=panel,
            read=read if cell.front.asks == "input" else None,
            cwd=self.settings.cwd,
            quiet=quiet,
        )
        view.open()
        return view

    async def open_panel(self, cell: Cell) -> "Panel | None":
        """A live panel in this cell's front-end, or None where no front-end answers."""
        known = self.handshakes.known(cell.client)
        if known is False:
            return None
        await imported("maia_widgets.panel")
        from maia_widgets.panel import Panel  # anywidget: heavy

        panel: Panel = Panel(model_id=cell.pump.new_model_id())
        panel.bind(asyncio.get_running_loop(), on_stop=cell.pump.cancel)
        ready = False
        try:
            ready = known or await panel.wait_ready(READY_WITHIN)
            self.handshakes.remember(cell.client, widgets=ready)
        finally:
            if not ready:
                panel.close()
        return panel if ready else None

    async def pick_model(self, agent: "Agent", view: "TurnView") -> str | None:
        """Let the person choose among what the providers offer; None when they leave the picker.

        Raises:
            UsageError: there is nothing to choose from.
        """
        models, warnings = await agent.models()
        for warning in warnings:
            view.show(Notice("warning", warning))
        # What has to be downloaded first would be chosen and then fail.
        ready = [model for model in models if model.ready]
        if not ready:
            raise UsageError(text("magics.model.nothing"))
        options = tuple(
            ChoiceOption(
                model.spec, model.label or model.spec, model.detail, model.spec.partition(":")[0]
            )
            for model in ready
        )
        answer = await view.ask(ChoiceQuestion("model", text("magics.model.choose"), options))
        return answer.value if isinstance(answer, ChoiceAnswer) else None

    async def _turn(self, cell: Cell, request: CellRequest) -> str:
        """Play one prompt; returns the answer."""
        agent = await self.agent()
        if request.new or (request.session and self._name() != request.session):
            await self.new_session(request.session)
        session = await self.session()
        view = await self.open_view(cell, quiet=request.quiet)
        before = agent.model, agent.mode
        finished: TurnFinished | None = None
        try:
            await trust.ask_once(self, cell, view)
            before = agent.model, agent.mode
            await self._prepare(agent, request, cell, view)
            events = cast(
                "AsyncGenerator[Event, None]",
                agent.run(
                    session,
                    request.prompt,
                    ask=view.ask,
                    max_turns=request.max_turns,
                    interactive=cell.front.asks != "nobody",
                    **({} if request.context else {"context": False}),
                ),
            )
            async with aclosing(events):
                async for event in events:
                    view.show(event)
                    if isinstance(event, TurnFinished):
                        finished = event
        finally:
            view.close()
            # An option of a cell is for that cell.
            if request.model is not None:
                agent.model = before[0]
            if request.mode is not None:
                agent.dismiss_mode(request.mode, before[1])
        if finished is not None and finished.reason == "error":
            raise CellFailed(finished.error)
        return finished.text if finished is not None else ""

    async def _prepare(
        self, agent: "Agent", request: CellRequest, cell: Cell, view: "TurnView"
    ) -> None:
        """The model and mode that the cell asks for; a picker when no model was ever chosen."""
        if request.mode is not None:
            agent.use_mode(request.mode)
        if request.model is not None:
            await agent.use_model(request.model)
        elif agent.model is None and cell.front.asks != "nobody":
            chosen = await self.pick_model(agent, view)
            if chosen is not None:
                await agent.use_model(chosen)

    def _name(self) -> str | None:
        return self._session.name if self._session is not None else None
