"""What `%load_ext maia` and `%maia_status` say."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from maia_kernel import __version__
from maia_kernel.paths import shown
from maia_kernel.settings import Settings
from maia_kernel.texts import text

if TYPE_CHECKING:
    from maia.app import App


def at_load(settings: Settings) -> tuple[str, ...]:
    """At most three lines: version and model, working folder, permission files and warnings."""
    return (
        text("magics.load.version", version=__version__, model=_model(settings, settings.model)),
        text("magics.load.folder", folder=shown(settings.cwd)),
        " · ".join((_rules(settings), *_warnings(settings))),
    )


def report(app: "App") -> Iterator[str]:
    """The lines of `%maia_status`."""
    settings, agent = app.settings, app.built_agent
    model = agent.model if agent is not None else settings.model
    mode = agent.mode if agent is not None else settings.mode
    yield text("magics.load.version", version=__version__, model=_model(settings, model))
    yield text("magics.load.folder", folder=shown(settings.cwd))
    yield text("magics.status.mode", mode=mode)
    session = app.current_session
    if session is None:
        yield text("magics.status.no_session")
    else:
        yield text(
            "magics.status.session",
            name=session.name,
            messages=len(session.messages),
            tokens=session.spent.context_tokens + session.spent.output_tokens,
        )
    if agent is not None:
        yield text("magics.status.tools", tools=", ".join(agent.tool_names()))
    yield _rules(settings)
    for warning in settings.warnings:
        yield text("magics.load.warning", warning=warning)


def _model(settings: Settings, model: str | None) -> str:
    if model is None:
        return text("magics.load.no_model")
    origin = settings.origins.get("model") if model == settings.model else None
    return f"{model} ({origin})" if origin else model


def _rules(settings: Settings) -> str:
    with_rules = [file for file in settings.files if file.allow or file.ask or file.deny]
    if not with_rules:
        return text("magics.load.no_rules")
    files = (
        text(
            "magics.load.rules_of",
            file=shown(file.path, settings.cwd),
            allow=file.allow,
            ask=file.ask,
            deny=file.deny,
        )
        for file in with_rules
    )
    return text("magics.load.rules", files=", ".join(files))


def _warnings(settings: Settings) -> Iterator[str]:
    """The first warning; the others only by their number."""
    if settings.warnings:
        yield text("magics.load.warning", warning=settings.warnings[0])
    if len(settings.warnings) > 1:
        yield text("magics.load.more_warnings", count=len(settings.warnings) - 1)
