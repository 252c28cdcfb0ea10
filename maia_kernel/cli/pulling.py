"""`maia model get ollama:NAME`: a server of the person's own downloads, and its progress is shown."""

import asyncio
import os
import sys

from maia_kernel.cli.stopping import Stop
from maia_kernel.cli.streams import Streams
from maia_kernel.localmodel.commands import ProgressLine
from maia_kernel.providers.ollama import NAME, OllamaProvider
from maia_kernel.providers.registry import open_provider
from maia_kernel.settings import Settings
from maia_kernel.settings.keys import Keys
from maia_kernel.texts import text

PREFIX = f"{NAME}:"


def pull(spec: str, settings: Settings, streams: Streams, stop: Stop) -> int:
    """Download the model that `spec`, `ollama:NAME`, means; returns the exit code.

    Raises:
        ProviderError: the server cannot be asked, or knows no such model.
    """
    line = ProgressLine(streams.say, sys.stderr.write if sys.stderr.isatty() else None)
    model = spec.removeprefix(PREFIX)

    async def run() -> None:
        keys = Keys.from_environ(settings.ambient(os.environ), settings)
        provider = open_provider(NAME, settings, keys, os.environ)
        assert isinstance(provider, OllamaProvider)
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        cancel = task.cancel

        def interrupt() -> None:
            loop.call_soon_threadsafe(cancel)

        with stop.acting(first=interrupt, again=lambda: None):
            line.say(text("providers.ollama.pulling", model=model, host=provider.host))
            try:
                async for step in provider.pull(model):
                    if step.total:
                        line.show(step.completed, step.total)
            finally:
                line.close()
                await provider.aclose()
        streams.line(text("providers.ollama.pulled", spec=spec))

    try:
        asyncio.run(run())
    except asyncio.CancelledError:
        streams.say(text("localmodel.stopped"))
        return stop.code or 130
    return 0
