"""The live panel of a turn: one anywidget. Imported only where one is shown: ipywidgets is heavy.

Everything shown is in traits, so that a reloaded page shows it again and stays usable. The page says
`ready` when it has the model, `stop` when the person wants the turn stopped, `answer`, and asks for
more `rows` of a long text; what else it says is for `pages`.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from maia_kernel.display import TodoItem
from maia_kernel.questions import Answer, Question
from maia_kernel.texts import catalogue, language, text
from maia_widgets.cards import card_answer, card_rows, card_view
from maia_widgets.outputs import Bundle
from maia_widgets.pages import Copy, Pages, Place, running_place
from maia_widgets.permission import Rows, piece
from maia_widgets.todos import todos_view

_STATIC = Path(__file__).parent / "static"
_SCRIPT = ("base.js", "notebook.js", "picker.js", "cards.js", "panel.js")
_WIDGET = "application/vnd.jupyter.widget-view+json"
_KEPT = 24 * 3600.0
"""Seconds that the end of a turn is kept for a page that has not saved it."""
_BLIND_PACE = 1.0
"""Seconds between two texts for a page that cannot write its notebook; each text is whole."""


class Panel(anywidget.AnyWidget):
    """Made with the `model_id` that the pump owns; `bind` it to the engine's loop, then display it.

    Its methods belong to that loop; messages of the page may arrive in any thread.
    """

    # One module: the parts import nothing, and the last one exports.
    _esm = "\n".join((_STATIC / part).read_text(encoding="utf-8") for part in _SCRIPT)
    _css = _STATIC / "panel.css"

    status = traitlets.Dict().tag(sync=True)
    todos: traitlets.List[Any] = traitlets.List().tag(sync=True)
    question = traitlets.Dict().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)
    answer = traitlets.Unicode().tag(sync=True)
    own_id = traitlets.Unicode().tag(sync=True)
    gone = traitlets.Bool(False).tag(sync=True)  # set by the page, when there is no kernel any more

    def __init__(self, *, place: Place | None = None, **traits: Any) -> None:
        super().__init__(words=_words(), own_id=str(traits.get("model_id", "")), **traits)
        self._place = running_place() if place is None else place
        self._pages: Pages | None = None
        self._copy: Copy | None = None
        self._answered = float("-inf")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_stop: Callable[[], None] | None = None
        self._ready = asyncio.Event()
        self._early: list[Mapping[str, Any]] = []
        self._asked: tuple[Question, asyncio.Future[Answer]] | None = None
        self._rows: list[Rows] = []
        self._round = 0
        self._turns = asyncio.Lock()
        self._began: float | None = None
        self._open = True
        self.on_msg(self._on_message)

    @property
    def bundle(self) -> Bundle:
        """The mimebundle that displays the panel."""
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        return {_WIDGET: view, "text/plain": text("views.panel.fallback")}

    def bind(
        self, loop: asyncio.AbstractEventLoop, on_stop: Callable[[], None] | None = None
    ) -> None:
        """Deliver messages to `loop`; `on_stop` is called there when the person stops the turn."""
        self._loop, self._on_stop = loop, on_stop
        self._pages = Pages(self.send, self._place, loop)
        for content in self._early:
            self._pages.take(content)
        if self._early:
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

    async def ask(self, question: Question, cwd: Path) -> Answer:
        """Show the question and wait for the answer, one question at a time.

        Cancelling takes the question away.
        """
        async with self._turns:
            answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._asked, self._rows = (question, answer), card_rows(question)
            # The same question may be put again, in another form.
            self._round += 1
            self.question = {**card_view(question, cwd), "round": self._round}
            try:
                return await answer
            finally:
                self._asked, self._rows = None, []
                if self._open:
                    self.question = {}

    def keep(self, copy: Copy) -> None:
        """`copy` gives what the cell shows, for a page that is loaded while the turn goes on."""
        self._copy = copy
        if self._pages is not None:
            self._pages.follow(copy)

    def put(self, display_id: str, bundle: Bundle) -> None:
        """An output of the cell is new or has changed."""
        if self._pages is not None and self._open:
            self._pages.put(display_id, bundle)
            if self._pages.blind and time.monotonic() - self._answered > _BLIND_PACE:
                self._show_answer()

    def finish(self) -> None:
        """The turn is over: close, or wait for the page to say that it has saved what the cell shows."""
        pages = self._pages
        if pages is None or self._loop is None or not pages.kept:
            self.close()
            return
        if pages.blind:
            self._show_answer()
        self.status, self.todos, self.question = {}, [], {}
        pages.end()
        self._on_stop = None
        self._loop.call_later(_KEPT, self.close)

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

    def _show_answer(self) -> None:
        """The cell's outputs as text in the panel itself."""
        shown = self._copy() if self._copy is not None else {}
        parts = [str(b["text/plain"]) for b in shown.values() if _WIDGET not in b]
        self.answer, self._answered = "\n\n".join(filter(None, parts)), time.monotonic()

    def _on_message(self, _: object, content: Mapping[str, Any], __: object) -> None:
        """A message of the page, in whatever thread took it from the wire."""
        if self._loop is None:
            if content.get("kind") == "ready":
                self._early.append(content)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, content)

    def _take(self, content: Mapping[str, Any]) -> None:
        if self._pages is not None and self._pages.take(content):
            self.close()
            return
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
            case "restored" if self._pages is not None and self._pages.blind:
                self._show_answer()
            case "rows":
                self._more_rows(content)

    def _more_rows(self, content: Mapping[str, Any]) -> None:
        """Send the next rows of a text that is on the card."""
        number, start = content.get("display"), content.get("from")
        if self._asked is None or content.get("id") != self._asked[0].id:
            return
        if not isinstance(number, int) or not isinstance(start, int):
            return
        if 0 <= number < len(self._rows) and start > 0:
            rows = piece(self._rows[number], start)
            asked = {key: content[key] for key in ("id", "display", "from")}
            self.send({"kind": "rows", **asked, "rows": rows})

    def _answer(self, content: Mapping[str, Any]) -> None:
        if self._asked is None:
            return
        question, waiting = self._asked
        answer = card_answer(content, question)
        if answer is not None and not waiting.done():
            waiting.set_result(answer)


def _words() -> dict[str, str]:
    """The panel's own words in the person's language; the page fills their placeholders."""
    room = "views.panel."
    both = {**catalogue("en"), **catalogue(language.get())}
    return {key.removeprefix(room): word for key, word in both.items() if key.startswith(room)}
