"""The live panel of a turn: one anywidget. Imported only where one is shown: ipywidgets is heavy.

Everything shown is in traits, so that a reloaded page shows it again and stays usable. The page says
`ready` when it has the model, `stop` when the person wants the turn stopped, and `answer`.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, overload

import anywidget
import traitlets

from maia_kernel.display import TodoItem
from maia_kernel.questions import (
    Answer,
    ChoiceAnswer,
    ChoiceQuestion,
    PermissionAnswer,
    PermissionQuestion,
    Question,
)
from maia_kernel.texts import catalogue, language, text
from maia_widgets.outputs import Bundle
from maia_widgets.permission import permission_answer, permission_view
from maia_widgets.picker import choice_answer, choice_view
from maia_widgets.todos import todos_view

_STATIC = Path(__file__).parent / "static"
_WIDGET = "application/vnd.jupyter.widget-view+json"


class Panel(anywidget.AnyWidget):
    """Made with the `model_id` that the pump owns; `bind` it to the engine's loop, then display it.

    Its methods belong to that loop; messages of the page may arrive in any thread.
    """

    _esm = _STATIC / "panel.js"
    _css = _STATIC / "panel.css"

    status = traitlets.Dict().tag(sync=True)
    todos: traitlets.List[Any] = traitlets.List().tag(sync=True)
    question = traitlets.Dict().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(words=_words(), **traits)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_stop: Callable[[], None] | None = None
        self._ready = asyncio.Event()
        self._ready_early = False
        self._asked: tuple[Question, asyncio.Future[Answer]] | None = None
        self._turns = asyncio.Lock()
        self._began: float | None = None
        self._open = True
        self.on_msg(self._on_message)

    @property
    def bundle(self) -> Bundle:
        """The mimebundle that displays the panel."""
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        return {_WIDGET: view, "text/plain": text("views.panel.label")}

    def bind(
        self, loop: asyncio.AbstractEventLoop, on_stop: Callable[[], None] | None = None
    ) -> None:
        """Deliver messages to `loop`; `on_stop` is called there when the person stops the turn."""
        self._loop, self._on_stop = loop, on_stop
        if self._ready_early:
            loop.call_soon_threadsafe(self._ready.set)

    async def wait_ready(self, seconds: float) -> bool:
        """True once a front-end has the panel's model; False if none says so within `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._ready.wait()
        except TimeoutError:
            return False
        return True

    def show_status(self, view: Mapping[str, Any], *, seconds: float) -> None:
        """Show the status line; the page counts on from `seconds` by itself."""
        self._began = time.monotonic() - seconds
        shown = {key: value for key, value in self.status.items() if key != "elapsed"}
        if self._open and shown != {**view, "stop": self._on_stop is not None}:
            self._send_status(view)

    def show_todos(self, items: tuple[TodoItem, ...]) -> None:
        """Show the todo list."""
        if self._open:
            self.todos = todos_view(items)

    @overload
    async def ask(self, question: PermissionQuestion, cwd: Path) -> PermissionAnswer: ...
    @overload
    async def ask(self, question: ChoiceQuestion, cwd: Path) -> ChoiceAnswer: ...
    async def ask(self, question: Question, cwd: Path) -> Answer:
        """Show the question and wait for the answer, one question at a time.

        Cancelling takes the question away.
        """
        async with self._turns:
            answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._asked = (question, answer)
            if isinstance(question, PermissionQuestion):
                self.question = permission_view(question, cwd)
            else:
                self.question = choice_view(question)
            try:
                return await answer
            finally:
                self._asked = None
                if self._open:
                    self.question = {}

    def close(self) -> None:
        """Take the widget out of the page and forget it; safe to call again."""
        self._open = False
        if self.layout is not None:
            self.layout.close()
        super().close()

    def _send_status(self, view: Mapping[str, Any]) -> None:
        elapsed = 0.0 if self._began is None else time.monotonic() - self._began
        stop = self._on_stop is not None
        self.status = {**view, "stop": stop, "elapsed": round(elapsed, 1)}

    def _on_message(self, _: object, content: Mapping[str, Any], __: object) -> None:
        """A message of the page, in whatever thread took it from the wire."""
        if self._loop is None:
            self._ready_early = self._ready_early or content.get("kind") == "ready"
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, content)

    def _take(self, content: Mapping[str, Any]) -> None:
        match content.get("kind"):
            case "ready":
                self._ready.set()
                if self.status and self._open:
                    # A reloaded page: tell it anew how long the turn has been going.
                    self._send_status({k: v for k, v in self.status.items() if k != "elapsed"})
            case "stop" if self._on_stop is not None:
                self.status = {**self.status, "label": text("views.state.stopping")}
                self._on_stop()
            case "answer":
                self._answer(content)

    def _answer(self, content: Mapping[str, Any]) -> None:
        if self._asked is None:
            return
        question, waiting = self._asked
        answer: Answer | None
        if isinstance(question, PermissionQuestion):
            answer = permission_answer(content, question)
        else:
            answer = choice_answer(content, question)
        if answer is not None and not waiting.done():
            waiting.set_result(answer)


def _words() -> dict[str, str]:
    """The panel's own words in the person's language; the page fills their placeholders."""
    room = "views.panel."
    both = {**catalogue("en"), **catalogue(language.get())}
    return {key.removeprefix(room): word for key, word in both.items() if key.startswith(room)}
