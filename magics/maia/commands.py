"""The `%maia_*` line magics: one function each, given the app and the line after the magic's name."""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from maia import doctor, status, trust
from maia.app import App, Cell
from maia.cell import mode_named, parse
from maia.logo import LOGO
from maia_kernel import __version__
from maia_kernel.errors import UsageError
from maia_kernel.paths import shown
from maia_kernel.texts import text

Command = Callable[[App, str], None]


def prompt(app: App, line: str, cell: str | None) -> None:
    """`%%maia` and `%maia`: play a prompt."""
    request = parse(line, cell)
    if request.help:
        say([text("magics.help.maia")])
    else:
        app.ask(request)


def model(app: App, line: str) -> None:
    """Show a picker of models, or use the one named; `--save` makes it the default."""
    words = line.split()
    save = "--save" in words
    named = [word for word in words if word != "--save"]
    if len(named) > 1 or any(word.startswith("--") for word in named):
        raise _usage("model")
    say(app.run(lambda cell: _model(app, cell, named[0] if named else None, save)))


async def _model(app: App, cell: Cell, spec: str | None, save: bool) -> list[str]:
    agent = await app.agent()
    if spec is None and cell.front.asks == "nobody":
        return await _models_list(app)
    if spec is None:
        view = await app.open_view(cell)
        try:
            spec = await app.pick_model(agent, view)
        finally:
            view.close()
    if spec is None:
        return [text("magics.model.unchanged", model=agent.model or "-")]
    capabilities = await agent.use_model(spec)
    window = capabilities.context_window
    chosen = str(agent.model)
    lines = [
        text("magics.model.used", model=chosen)
        if window is None
        else text("magics.model.used_window", model=chosen, window=f"{window:,}")
    ]
    if save or app.settings.model is None:
        from maia_kernel.settings.writer import save_model  # filelock

        file = save_model(app.settings, chosen)
        lines.append(text("magics.model.saved", file=shown(file, app.settings.cwd)))
    return lines


async def _models_list(app: App) -> list[str]:
    models, warnings = await (await app.agent()).models()
    ready = [f"  {info.spec}  {info.detail}".rstrip() for info in models if info.ready]
    others = [f"  {info.spec}  {info.detail}".rstrip() for info in models if not info.ready]
    return [
        text("magics.model.available") if ready else text("magics.model.nothing"),
        *ready,
        *((text("magics.model.to_get"), *others) if others else ()),
        *(text("magics.load.warning", warning=warning) for warning in warnings),
    ]


def mode(app: App, line: str) -> None:
    """Show the permission mode, or change it."""
    wanted = mode_named(line) if line else None

    async def work(cell: Cell) -> str:
        agent = await app.agent()
        if wanted is not None:
            agent.use_mode(wanted)
        return text("magics.status.mode", mode=agent.mode)

    say([app.run(work)])


def show_trust(app: App, line: str) -> None:
    """Show what the project may do, trust it, or take the trust back."""
    if line not in ("", "grant", "revoke"):
        raise _usage("trust")
    say(app.run(lambda cell: trust.command(app, cell, line)))


def show_status(app: App, line: str) -> None:
    """Say what is in force."""
    _no_arguments("status", line)
    say(status.report(app))


def new(app: App, line: str) -> None:
    """Begin a new conversation, under a name if one is given."""

    async def work(cell: Cell) -> str:
        session = await app.new_session(line or None)
        return text("magics.session.new", name=session.name)

    say([app.run(work)])


def clear(app: App, line: str) -> None:
    """Empty the context; the session's file goes on."""
    _no_arguments("clear", line)

    async def work(cell: Cell) -> str:
        session = await app.session()
        session.clear()
        return text("magics.session.cleared", name=session.name)

    say([app.run(work)])


def show_help(app: App, line: str) -> None:
    """The magics, one line each, or one of them in full."""
    name = line.lstrip("%").removeprefix("maia_")
    if name in COMMANDS or name == "maia":
        say([text(f"magics.help.{name}")])
        return
    if name:
        raise _usage("help")
    say([*LOGO, f"MAIA {__version__}", "", text("magics.help.overview")])


def examine(app: App, line: str) -> None:
    """Check what MAIA needs, each line ok or problem and fix."""
    _no_arguments("doctor", line)
    say(app.run(lambda cell: doctor.examine(app, cell)))


COMMANDS: Final[Mapping[str, Command]] = {
    "model": model,
    "mode": mode,
    "status": show_status,
    "new": new,
    "clear": clear,
    "help": show_help,
    "doctor": examine,
    "trust": show_trust,
}


def say(lines: Iterable[str]) -> None:
    """Write lines into the cell."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _no_arguments(name: str, line: str) -> None:
    if line:
        raise _usage(name)


def _usage(name: str) -> UsageError:
    return UsageError(text("magics.wrong_arguments", usage=text(f"magics.usage.{name}")))
