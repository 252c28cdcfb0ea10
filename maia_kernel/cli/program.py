"""What `maia` does once its signals are caught."""

import asyncio
import contextlib
import logging
import os
import traceback
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from maia_kernel.arguments import Told
from maia_kernel.cli.asking import Terminal
from maia_kernel.cli.options import flags, read_options, utf8
from maia_kernel.cli.stopping import Stop
from maia_kernel.cli.streams import Streams, piped
from maia_kernel.cli.writer import Writer
from maia_kernel.errors import MaiaError, UsageError
from maia_kernel.events import TurnFinished
from maia_kernel.settings import Settings, load
from maia_kernel.settings.environment import spoken
from maia_kernel.settings.folder import working_folder
from maia_kernel.texts import language, text


def run(argv: Sequence[str], stop: Stop) -> int:
    """Run the program with `argv`; returns the exit code."""
    # Libraries' logs are for who asks for them: without this the worst of them go to stderr.
    logging.getLogger().addHandler(logging.NullHandler())
    streams = Streams()
    code: int
    try:
        code = _command(argv, streams, stop)
    except Told as answer:
        streams.line(str(answer))
        code = 0
    except MaiaError as error:
        streams.say(str(error))
        code = error.exit_code
    except Exception as error:  # noqa: BLE001 - the program's edge: a person gets a line, no traceback
        streams.say(_unexpected(error))
        code = 1
    return code or streams.failure or 0


def _command(argv: Sequence[str], streams: Streams, stop: Stop) -> int:
    language.set(_language())
    if argv[:1] == ["model"]:
        return _model(argv[1:], streams, stop)
    options = read_options(argv)
    cwd = working_folder(os.environ)
    settings = load(cwd, environ=os.environ, home=_home(), flags=flags(options, cwd))
    language.set(settings.language)
    streams.require_output()
    prompt = _prompt(utf8(options.prompt or ""))
    for warning in settings.warnings:
        streams.say(warning)
    return asyncio.run(_play(settings, prompt, options.output_format, streams, stop))


def _language() -> str:
    """The language to speak before the command line is read: the one that the settings say."""
    try:
        cwd = working_folder(os.environ)
    except UsageError:
        # What is wrong is said later, and not by every command.
        found = spoken(os.environ)
        return found[0] if found else language.get()
    return load(cwd, environ=os.environ, home=_home()).language


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise UsageError(text("cli.no_home")) from None


def _unexpected(error: Exception) -> str:
    """A line without the error's own words, which may hold a key."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return text("cli.unexpected", kind=type(error).__name__, place=place)


def _model(argv: Sequence[str], streams: Streams, stop: Stop) -> int:
    # Late: the model store needs httpx2, which a prompt to a remote model does not.
    from maia_kernel.cli.pulling import PREFIX, pull
    from maia_kernel.localmodel import commands

    if len(argv) == 2 and argv[0] == "get" and argv[1].startswith(PREFIX):
        settings = load(working_folder(os.environ), environ=os.environ, home=_home())
        return pull(argv[1], settings, streams, stop)

    def interrupt() -> None:
        raise KeyboardInterrupt  # `commands` tidies up

    with stop.acting(first=interrupt, again=lambda: None):
        code = commands.main(argv, write=streams.line, err=streams.say, environ=os.environ)
    return code if stop.code is None else stop.code


def _prompt(given: str) -> str:
    """The prompt and, below it, what is piped into stdin."""
    prompt = "\n\n".join(part for part in (given, piped()) if part.strip())
    if not prompt:
        raise UsageError(text("cli.no_prompt"))
    return prompt


async def _play(
    settings: Settings, prompt: str, output_format: str, streams: Streams, stop: Stop
) -> int:
    # Late: pydantic and tree-sitter, which `maia --help` does not need.
    from maia_kernel.agent import Agent

    agent = Agent(settings)
    writer = Writer(settings.cwd, output_format, streams)
    terminal = Terminal(streams, settings.cwd)
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    cancel = task.cancel

    def interrupt() -> None:
        loop.call_soon_threadsafe(cancel)

    streams.on_failure = stop.now
    with stop.acting(first=interrupt, again=agent.kill):
        try:
            async for event in agent.run(
                agent.open_session(), prompt, ask=terminal, interactive=terminal.present
            ):
                if isinstance(event, TurnFinished):
                    if event.reason == "interrupted" and stop.code is not None:
                        event = replace(event, exit_code=stop.code)
                    stop.settle(event.exit_code)
                writer.show(event)
        except asyncio.CancelledError:
            pass  # the one that `stop` asked for
        finally:
            await _whole(agent.aclose())
    return 1 if stop.code is None else stop.code


async def _whole(closing: Coroutine[Any, Any, None]) -> None:
    """Wait for `closing`, through a cancellation that comes late."""
    task = asyncio.ensure_future(closing)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    task.result()
