"""The embedded local model: its server as a child process, spoken to as an OpenAI-compatible one."""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maia_kernel.errors import (
    LocalModelError,
    NetworkFault,
    PromptTooLong,
    StreamBroken,
    UsageError,
)
from maia_kernel.localmodel.launch import LocalServer, context_for, is_runnable, start_server
from maia_kernel.localmodel.store import Installed, Store, models_folder, size_text
from maia_kernel.paths import shown
from maia_kernel.providers.adapter import Adapter
from maia_kernel.providers.base import Capabilities, Chunk, ModelInfo, Provider, Request, Stopped
from maia_kernel.providers.openai import OpenAIProvider
from maia_kernel.providers.transport import Limits
from maia_kernel.texts import text

if TYPE_CHECKING:
    from maia_kernel.settings import Settings
    from maia_kernel.settings.keys import Keys

NAME = "local"

_RESTARTS = 1


@dataclass(slots=True)
class _Running:
    """A server with its client; `streams` counts the answers under way."""

    server: LocalServer
    client: OpenAIProvider
    streams: int = 0

    async def aclose(self) -> None:
        await self.client.aclose()
        await self.server.stop()


class LocalProvider:
    """`local:NAME`; `local:default` is the most capable model that is downloaded.

    The server starts with the first request and ends with `aclose` or with this process. One that
    dies is started again once; if that one dies too before it has answered, the turn fails.
    """

    def __init__(self, *, environ: Mapping[str, str], limits: Limits | None = None) -> None:
        self.name = NAME
        self._environ = environ
        limits = limits or Limits()
        # A model on the processor is silent while it reads a long prompt, and its process is watched.
        self._limits = replace(limits, silence=limits.total)
        self._store = Store(models_folder(environ))
        self._running: dict[str, _Running] = {}
        self._contexts: dict[str, int] = {}
        self._starting = asyncio.Lock()
        self._deaths = 0
        self._closed = False

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """See `base.Provider.stream`.

        Raises:
            LocalModelError: not installed, not downloaded, or its server died again.
        """
        return self._chunks(request)

    async def models(self) -> tuple[ModelInfo, ...]:
        """What is downloaded; if nothing is, what could be, with how to get it."""
        installed = await asyncio.to_thread(self._store.installed)
        if installed:
            return tuple(
                ModelInfo(f"{NAME}:{entry.model.name}", detail=entry.model.title)
                for entry in installed
            )
        return tuple(
            ModelInfo(
                f"{NAME}:{model.name}",
                detail=text(
                    "localmodel.not_downloaded_detail",
                    name=model.name,
                    size=size_text(model.size),
                ),
                ready=False,
            )
            for model in self._store.models
        )

    def capabilities(self, model: str) -> Capabilities:
        """See `base.Provider.capabilities`; the same for every local model but for its window."""
        try:
            entry = self._store.find(model)
        except (LocalModelError, UsageError):  # the first request will say so
            return _capabilities(model)
        what = _capabilities(entry.model.name)
        return replace(what, context_window=self._context(entry), max_output=entry.model.max_output)

    async def prepare(self, model: str) -> None:
        """See `base.Provider.prepare`."""

    def check(self, model: str) -> None:
        """See `base.Provider.check`; looks at the files."""
        self._store.find(model)
        if not is_runnable():
            raise LocalModelError(text("localmodel.extra"))

    async def aclose(self) -> None:
        """End every server."""
        self._closed = True
        async with self._starting:
            running, self._running = list(self._running.values()), {}
            for one in running:
                await one.aclose()

    async def _chunks(self, request: Request) -> AsyncGenerator[Chunk]:
        entry = self._store.find(request.model)
        request = replace(
            request,
            model=entry.model.name,
            tools=(),
            thinking=None,
            # Small models do not always find an end; a longer answer of theirs is seldom better.
            max_tokens=min(request.max_tokens or entry.model.max_output, entry.model.max_output),
            params={**entry.model.parameters, **request.params},
        )
        while True:
            running = await self._serving(entry)
            said = False
            running.streams += 1
            try:
                # The client's stream is a generator; closing it cancels the generation.
                async with aclosing(running.client.stream(request)) as chunks:  # type: ignore[type-var]
                    async for chunk in chunks:
                        said = True
                        if isinstance(chunk, Stopped):
                            self._deaths = 0
                        yield chunk
            except PromptTooLong as error:
                raise self._too_long(entry, error) from error
            except (NetworkFault, StreamBroken) as error:
                if self._closed or not await running.server.died():
                    raise
                await self._bury(entry.model.name, running)
                if said:  # the loop decides whether to ask again; the next request restarts it
                    how = running.server.how_it_ended()
                    line = text("localmodel.server.died", how=how)
                    raise StreamBroken(line, provider=NAME) from error
            else:
                return
            finally:
                running.streams -= 1

    async def _serving(self, entry: Installed) -> _Running:
        """The server of `entry`, started if need be; idle servers of other models end first."""
        name = entry.model.name
        async with self._starting:
            running = self._running.get(name)
            if running is not None and running.server.alive:
                return running
            if running is not None:
                await self._bury(name, running)
            for other, one in list(self._running.items()):
                if not one.streams:
                    del self._running[other]
                    await one.aclose()
            server = await start_server(
                entry, context=self._context(entry), log=self._store.log, environ=self._environ
            )
            client = OpenAIProvider(
                NAME,
                base_url=server.url,
                key=server.key,
                limits=self._limits,
                capabilities=self.capabilities,
            )
            self._running[name] = _Running(server, client)
            return self._running[name]

    async def _bury(self, name: str, running: _Running) -> None:
        """Count a death and forget the server.

        Raises:
            LocalModelError: it was restarted already. The count starts anew, so that a later prompt
                may try again.
        """
        if self._running.get(name) is not running:
            return  # another request saw it first
        del self._running[name]
        await running.aclose()
        self._deaths += 1
        if self._deaths > _RESTARTS:
            self._deaths = 0
            server = running.server
            raise LocalModelError(
                text(
                    "localmodel.server.died_again",
                    how=server.how_it_ended(),
                    log=shown(server.log),
                )
            )

    def _context(self, entry: Installed) -> int:
        """Decided once, before the server takes memory itself."""
        return self._contexts.setdefault(entry.model.name, context_for(entry))

    def _too_long(self, entry: Installed, error: PromptTooLong) -> PromptTooLong:
        # llama.cpp: "request (27031 tokens) exceeds the available context size (8192 tokens), ..."
        numbers = re.findall(r"\((\d+) tokens\)", str(error))
        key = "localmodel.too_long" if len(numbers) == 2 else "localmodel.too_long_unknown"
        tokens, limit = numbers if len(numbers) == 2 else ("?", self._context(entry))
        line = text(key, name=entry.model.name, tokens=tokens, limit=limit)
        return PromptTooLong(line, provider=NAME, status=error.status)


def _capabilities(name: str) -> Capabilities:
    return Capabilities(
        tools=False,
        prompt_profile="short",
        answer_note=text("localmodel.note", name=name),
        broken_retries=1,
    )


def _configured(settings: "Settings", keys: "Keys") -> tuple[str, ...]:
    return (NAME,) if Store(models_folder(os.environ)).installed() else ()


def _open(name: str, settings: "Settings", keys: "Keys", environ: Mapping[str, str]) -> Provider:
    return LocalProvider(environ=environ, limits=Limits.of(settings))


ADAPTER = Adapter(known=lambda settings: (NAME,), configured=_configured, open=_open)
