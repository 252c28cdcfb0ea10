"""What the project may do: asked about at the first prompt where somebody can answer, and `%maia_trust`."""

import asyncio
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from maia_kernel import settings as settings_room
from maia_kernel.neutral import line as neutral
from maia_kernel.paths import shown
from maia_kernel.questions import TrustAnswer, TrustQuestion, TrustRow
from maia_kernel.settings import Settings
from maia_kernel.settings.granting import decide, revoke
from maia_kernel.settings.items import ProjectItem, State
from maia_kernel.settings.trust import Verdict
from maia_kernel.texts import text

if TYPE_CHECKING:
    from maia.app import App, Cell
    from maia_widgets.turn import TurnView

_STATES: tuple[State, ...] = ("trusted", "waiting", "refused")


async def ask_once(app: "App", cell: "Cell", view: "TurnView") -> None:
    """Ask about what waits and was not put off in this session; nothing where nobody can answer.

    Raises:
        SettingsError: the person's word cannot be written.
    """
    waiting = [item for item in app.settings.waiting if item.digest not in app.put_off]
    if waiting and cell.front.asks != "nobody":
        await _ask(app, view, waiting)


async def command(app: "App", cell: "Cell", word: str) -> list[str]:
    """The lines of `%maia_trust`, `word` being empty, "grant" or "revoke".

    Raises:
        SettingsError: the person's word cannot be written.
    """
    if word == "revoke":
        folders = revoke(app.settings)
        app.trusted_here = frozenset()
        await _reload(app)
        return [text("trust.state.revoked", folders=", ".join(map(shown, folders)))]
    if word == "grant":
        # What the person was last told of: what has changed since waits.
        return [*await _grant(app), *_state(app.settings, ("waiting",))]
    await _reload(app)
    waiting = app.settings.waiting
    if waiting and cell.front.asks != "nobody":
        view = await app.open_view(cell)
        try:
            await _ask(app, view, waiting)
        finally:
            view.close()
    return list(report(app.settings))


def report(settings: Settings) -> Iterator[str]:
    """What the project brings along, and the person's word on it."""
    if settings.trusted:
        yield text("trust.state.all")
    if not settings.project:
        yield text("trust.state.none")
        return
    yield from _state(settings, _STATES)
    yield text("trust.state.how")


def _state(settings: Settings, states: Iterable[State]) -> Iterator[str]:
    for state in states:
        items = [item for item in settings.project if item.state == state]
        if items:
            yield text(f"trust.state.{state}")
        for item in items:
            kind, file = text(f"trust.kind.{item.kind}"), shown(item.file, settings.cwd)
            name = neutral(item.name)
            yield text("trust.state.row", kind=kind, name=name, file=neutral(file))
            if item.detail and item.detail != item.name:
                yield text("trust.state.detail", detail=neutral(item.detail))


async def _ask(app: "App", view: "TurnView", items: Iterable[ProjectItem]) -> None:
    answer = await view.ask(_question(app.settings, items))
    assert isinstance(answer, TrustAnswer)
    if answer.choice == "later":
        if answer.by == "person":
            app.put_off |= {item.digest for item in items}
        return
    verdict: Verdict = "trusted" if answer.choice == "trust" else "refused"
    app.trusted_here |= decide(app.settings, items, verdict)
    if verdict == "refused":
        # Where a refusal is not kept, it holds for the session.
        app.put_off |= {item.digest for item in items}
    await _reload(app)


async def _grant(app: "App") -> list[str]:
    items = [item for item in app.settings.project if item.state != "trusted"]
    if not items:
        return [text("trust.state.nothing")]
    here = decide(app.settings, items, "trusted")
    app.trusted_here |= here
    await _reload(app)
    kept = len(items) - len(here)
    lines = [text("trust.state.granted", count=kept)] if kept else []
    return [*lines, text("trust.state.session", count=len(here))] if here else lines


def _question(settings: Settings, items: Iterable[ProjectItem]) -> TrustQuestion:
    rows = tuple(
        TrustRow(
            text(f"trust.kind.{item.kind}"), item.name, item.detail, shown(item.file, settings.cwd)
        )
        for item in items
    )
    known = any(item.state == "trusted" for item in settings.project)
    return TrustQuestion("trust", shown(settings.cwd), rows, known)


async def _reload(app: "App") -> None:
    """Go on with the settings as they are now."""
    before = app.settings
    settings = await asyncio.to_thread(
        settings_room.load,
        before.cwd,
        environ=os.environ,
        home=before.home,
        session=app.trusted_here,
    )
    await app.use_settings(settings)
