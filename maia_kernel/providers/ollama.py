"""Ollama's own API: what `/v1` cannot say, above all how long the context is.

A server that is not told cuts a long prompt without a word, at 4,096 tokens on most machines; so every
request says the length, always the same.
"""

import json
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from maia_kernel.errors import ModelNotFound, ProviderError
from maia_kernel.providers import catalog, faults, sdk, transport
from maia_kernel.providers.adapter import Adapter
from maia_kernel.providers.base import (
    Capabilities,
    Chunk,
    ModelInfo,
    Noticed,
    Provider,
    Request,
    Stopped,
    UsageReported,
)
from maia_kernel.providers.complete import complete
from maia_kernel.providers.estimate import request_tokens, text_tokens
from maia_kernel.providers.ollama_reply import OllamaReply
from maia_kernel.providers.ollama_request import Facts, chat_body
from maia_kernel.providers.transport import Deadline, Limits
from maia_kernel.texts import text
from maia_kernel.usage import Usage

if TYPE_CHECKING:
    import httpx2

    from maia_kernel.settings import Settings
    from maia_kernel.settings.keys import Keys

NAME = "ollama"
CONTEXT_LENGTH: Final = 32_768
"""Tokens, where nobody set another number: room for an agent, and memory on most machines."""
_OWN_URL = "http://127.0.0.1:11434"
_EXPECTED = "Ollama API"
_ASKING = 5.0  # seconds for what the server says of a model
# What a model may refuse by name; the request is then sent without it, and from then on.
_REFUSALS = {"tools": "does not support tools", "think": "does not support thinking"}


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a download is: the server's word for the step, bytes done and in all (0: not known)."""

    status: str
    completed: int = 0
    total: int = 0


class OllamaProvider:
    """One server. `context_length` is in tokens, None for `CONTEXT_LENGTH`; a model's own limit counts.

    `keep_alive` says how long the server keeps a model loaded; `params` are extra options.
    """

    def __init__(
        self,
        name: str = NAME,
        *,
        base_url: str = _OWN_URL,
        key: str | None = None,
        context_length: int | None = None,
        keep_alive: str | None = None,
        params: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.name = name
        self._endpoint = faults.Endpoint(
            name, base_url, (key,) if key else (), text("providers.hint.ollama")
        )
        self._key = key
        self._length = context_length
        self._params = {**(params or {}), **({"keep_alive": keep_alive} if keep_alive else {})}
        self._limits = limits or Limits()
        self._facts: dict[str, Facts] = {}
        self._refused: dict[str, set[str]] = {}
        self._measured: set[str] = set()
        self._client: httpx2.AsyncClient | None = None

    @property
    def host(self) -> str:
        """The server's host, with its port."""
        return self._endpoint.host

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """See `base.Provider.stream`."""
        return complete(self._chunks(request), provider=self.name)

    async def models(self) -> tuple[ModelInfo, ...]:
        """What is on the server's disk, the newest first; models that only embed are left out."""
        data = await self._asked("GET", "/api/tags")
        rows = [row for row in data.get("models") or () if isinstance(row, dict)]
        found: list[ModelInfo] = []
        for row in rows:
            id = str(row.get("model") or row.get("name") or "")
            able = row.get("capabilities")
            if id and not (isinstance(able, list) and "completion" not in able):
                found.append(ModelInfo(f"{self.name}:{id}", detail=_detail(row)))
        return tuple(found)

    def capabilities(self, model: str) -> Capabilities:
        """See `base.Provider.capabilities`; from what the server said, once `prepare` has asked it."""
        known = catalog.capabilities(self.name, model)
        facts = self._facts.get(model)
        if facts is None:
            return replace(known, context_window=self._length or CONTEXT_LENGTH)
        return replace(
            known,
            tools=facts.tools,
            images=facts.images,
            pdf=False,
            thinking=facts.thinking,
            context_window=self._num_ctx(facts),
        )

    async def prepare(self, model: str) -> None:
        """See `base.Provider.prepare`."""
        if model in self._facts:
            return
        try:
            limits = replace(self._limits, silence=_ASKING, total=_ASKING)
            data = await self._asked("POST", "/api/show", {"model": model}, limits=limits)
        except ProviderError:
            return  # the request itself will say it, and better
        self._facts[model] = _facts(data)

    def check(self, model: str) -> None:
        """See `base.Provider.check`."""
        transport.check_address(self._endpoint)

    async def aclose(self) -> None:
        """End the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def pull(self, model: str) -> AsyncGenerator[PullProgress]:
        """Download `model` to the server; what it says of it as it comes.

        Raises:
            ProviderError: the server cannot be asked, knows no such model, or broke off.
        """
        limits = replace(self._limits, total=float("inf"))
        deadline = Deadline(limits)
        response = await self._sent("POST", "/api/pull", {"model": model}, limits, deadline)
        last = ""
        async with aclosing(self._lines(response, model, deadline)) as lines:
            async for data in lines:
                last = str(data.get("status") or "")
                yield PullProgress(last, _count(data, "completed"), _count(data, "total"))
        if last != "success":
            raise faults.broken(self._endpoint)
        self._facts.pop(model, None)

    # -- an answer ---------------------------------------------------------------------------------

    async def _chunks(self, request: Request) -> AsyncGenerator[Chunk]:
        await self.prepare(request.model)
        deadline = Deadline(self._limits)
        facts = self._facts.get(request.model, Facts(images=True))
        response, notices = await self._answer(request, facts, deadline)
        for line in notices:
            yield Noticed(line)
        reply = OllamaReply()
        async with aclosing(self._lines(response, request.model, deadline)) as lines:
            async for data in lines:
                for chunk in reply.feed(data):
                    yield chunk
                if reply.done_reason is not None:
                    break
        if reply.done_reason is None:
            raise faults.broken(self._endpoint)
        for chunk in reply.finish():
            yield chunk
        if warning := await self._cut_short(request.model, self._num_ctx(facts)):
            yield Noticed(warning)
        yield UsageReported(reply.usage or _estimate(request, reply))
        yield Stopped(reply.stop, reply.done_reason)

    async def _answer(
        self, request: Request, facts: Facts, deadline: Deadline
    ) -> "tuple[httpx2.Response, list[str]]":
        """The response with its body still to come, and what had to be left out for it."""
        notices: list[str] = []
        refused = self._refused.setdefault(request.model, set())
        while True:
            body = chat_body(request, facts, num_ctx=self._num_ctx(facts), params=self._params)
            body = {name: value for name, value in body.items() if name not in refused}
            try:
                response = await self._sent(
                    "POST", "/api/chat", body, self._limits, deadline, model=request.model
                )
            except ModelNotFound as error:
                raise ModelNotFound(
                    text(
                        "providers.ollama.not_pulled", model=request.model, host=self._endpoint.host
                    ),
                    provider=self.name,
                    status=error.status,
                    retry_after=error.retry_after,
                ) from error
            except ProviderError as error:
                named = [
                    field
                    for field, words in _REFUSALS.items()
                    if field in body and words in str(error)
                ]
                if error.status != 400 or not named:
                    raise
                refused.update(named)
                notices += [
                    text(f"providers.ollama.no_{field}", model=request.model) for field in named
                ]
            else:
                return response, notices

    async def _lines(
        self, response: "httpx2.Response", model: str, deadline: Deadline
    ) -> AsyncGenerator[dict[str, Any]]:
        """The objects of the answer.

        Raises:
            ProviderError: an error object, nothing at all, or something that is not this API.
        """
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in ("text/html", "application/xhtml+xml"):
            said = await transport.body(response, self._endpoint, self._limits)
            raise faults.not_the_protocol(self._endpoint, body=said, expected=_EXPECTED)
        anything = False
        source = transport.lines(response, self._endpoint, self._limits, deadline)
        async with aclosing(source) as lines:
            async for line in lines:
                if not anything and not line.lstrip().startswith("{"):
                    raise faults.not_the_protocol(self._endpoint, body=line, expected=_EXPECTED)
                data = sdk.parsed(line, self._endpoint)
                if data.get("error"):
                    raise sdk.error_inside(data, self._endpoint, model=model)
                if not anything and not data.keys() & {"message", "done", "status"}:
                    raise faults.not_the_protocol(self._endpoint, body=line, expected=_EXPECTED)
                anything = True
                yield data
        if not anything:
            raise faults.not_the_protocol(self._endpoint, body="", expected=_EXPECTED)

    async def _cut_short(self, model: str, wanted: int) -> str:
        """A line when the server gave less context than it was asked for; looked at once a model."""
        if model in self._measured:
            return ""
        self._measured.add(model)
        try:
            limits = replace(self._limits, silence=_ASKING, total=_ASKING)
            data = await self._asked("GET", "/api/ps", limits=limits)
        except ProviderError:
            return ""
        for row in data.get("models") or ():
            given = _count(row, "context_length") if isinstance(row, dict) else 0
            if given and model in (row.get("model"), row.get("name")) and given < wanted:
                return text(
                    "providers.ollama.short_context", model=model, given=given, wanted=wanted
                )
        return ""

    def _num_ctx(self, facts: Facts) -> int:
        wanted = self._length or CONTEXT_LENGTH
        return min(wanted, facts.context_window) if facts.context_window else wanted

    # -- HTTP --------------------------------------------------------------------------------------

    async def _asked(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        limits: Limits | None = None,
    ) -> dict[str, Any]:
        limits = limits or self._limits
        response = await self._sent(method, path, body, limits, Deadline(limits))
        said = await transport.body(response, self._endpoint, limits)
        data = sdk.whole(said)
        if not isinstance(data, dict):
            raise faults.not_the_protocol(self._endpoint, body=said, expected=_EXPECTED)
        return data

    async def _sent(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        limits: Limits,
        deadline: Deadline,
        *,
        model: str = "",
    ) -> "httpx2.Response":
        """The response of a request with status 200, its body still to come."""
        import httpx2  # heavy SDK

        transport.check_address(self._endpoint)
        if self._client is None:
            self._client = transport.http_client(self._endpoint, self._limits)
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        request = self._client.build_request(
            method,
            f"{self._endpoint.url.rstrip('/')}{path}",
            content=None if body is None else json.dumps(body, ensure_ascii=False).encode(),
            headers={**headers, "content-type": "application/json"},
            timeout=transport.timeout(limits),
        )
        try:
            async with deadline.timeout():
                response = await self._client.send(request, stream=True)
        except TimeoutError as error:
            raise faults.timed_out(self._endpoint, seconds=limits.total) from error
        except httpx2.TransportError as error:
            raise transport.connection_error(self._endpoint, error, limits) from error
        if response.status_code == 200:
            return response
        whole = await transport.body(response, self._endpoint, limits)
        said, kind = faults.said(sdk.whole(whole) or whole)
        raise transport.status_error(self._endpoint, response, said, kind=kind, model=model)


def _facts(data: Mapping[str, Any]) -> Facts:
    """What `POST /api/show` says."""
    able = data.get("capabilities")
    able = able if isinstance(able, list) else ["completion", "tools", "vision"]
    info = data.get("model_info")
    info = info if isinstance(info, Mapping) else {}
    architecture = str(info.get("general.architecture") or "")
    own = _count(info, f"{architecture}.context_length") or None
    return Facts(
        tools="tools" in able,
        images="vision" in able or "image" in able,
        thinking="thinking" in able,
        levels=architecture.startswith("gptoss"),
        context_window=own,
    )


def _detail(row: Mapping[str, Any]) -> str:
    details = row.get("details")
    details = details if isinstance(details, Mapping) else {}
    parts = [str(details.get(name) or "") for name in ("parameter_size", "quantization_level")]
    return " ".join(part for part in parts if part)


def _count(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _estimate(request: Request, reply: OllamaReply) -> Usage:
    return Usage(request_tokens(request), text_tokens("".join(reply.said)), estimated=True)


def _configured(settings: "Settings", keys: "Keys") -> tuple[str, ...]:
    return (NAME,) if settings.ollama.url or shutil.which("ollama") else ()


def _open(name: str, settings: "Settings", keys: "Keys", environ: Mapping[str, str]) -> Provider:
    environ = settings.ambient(environ)
    return OllamaProvider(
        name,
        base_url=settings.ollama.url or _OWN_URL,
        key=environ.get("OLLAMA_API_KEY") or None,
        context_length=settings.ollama.context_length,
        keep_alive=settings.ollama.keep_alive,
        limits=Limits.of(settings),
    )


ADAPTER = Adapter(known=lambda settings: (NAME,), configured=_configured, open=_open)
