"""Chat completions: api.openai.com and every server that speaks its dialect.

The official SDK signs and sends; the answer's events are read and assembled here, because the SDK's
own reading drops errors, web pages and cut streams of other servers without a word.
"""

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from maia_kernel.errors import ProviderError, StreamBroken
from maia_kernel.providers import catalog, faults, sdk, transport
from maia_kernel.providers.adapter import Adapter
from maia_kernel.providers.base import (
    Capabilities,
    Chunk,
    ModelInfo,
    Provider,
    Request,
    Stopped,
    UsageReported,
)
from maia_kernel.providers.complete import complete
from maia_kernel.providers.estimate import request_tokens, text_tokens
from maia_kernel.providers.openai_reply import ChatReply
from maia_kernel.providers.openai_request import chat_body
from maia_kernel.providers.openai_servers import server_url
from maia_kernel.providers.sdk import Connection
from maia_kernel.providers.transport import Deadline, Limits
from maia_kernel.texts import text
from maia_kernel.usage import Usage

if TYPE_CHECKING:
    import httpx2
    import openai

    from maia_kernel.settings import Settings
    from maia_kernel.settings.keys import Keys

NAME = "openai"
_OWN_URL = "https://api.openai.com/v1"
_OWN_HOST = "api.openai.com"
_DUMMY_KEY = "not-needed"  # the SDK insists on one; keyless servers ignore it
_EXPECTED = "OpenAI chat completions API"

# Fields that a server may refuse by name; the request is then sent without them. They change how an
# answer is told, never what was asked.
_OPTIONAL = ("stream_options", "reasoning_effort")
# Models that api.openai.com lists and that do not chat.
_NO_CHAT = (
    "embedding",
    "tts",
    "whisper",
    "dall-e",
    "moderation",
    "transcribe",
    "realtime",
    "image",
)


class OpenAIProvider:
    """One server; `key` None is for servers without one.

    `capabilities` says what a model can do (the catalogue by default); `params` are extra fields of
    every request; `headers` go with every request to this server and nowhere else.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        key: str | None = None,
        params: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        capabilities: Callable[[str], Capabilities] | None = None,
        key_hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        secrets = (key,) if key else ()
        hint = key_hint or (text("providers.hint.openai") if name == NAME else "")
        self._endpoint = faults.Endpoint(name, base_url, secrets, hint)
        self._key = key
        self._params = dict(params or {})
        self._limits = limits or Limits()
        self._capabilities = capabilities or (lambda model: catalog.capabilities(name, model))
        self._headers = dict(headers or {})
        self._own = self._endpoint.is_at(_OWN_HOST)
        self._refused: set[str] = set()  # fields this server does not take
        self._opened: set[str] = set()  # models whose answers begin inside a `<think>` block
        missing = self._own and not self._key
        self._connection = Connection(
            self._endpoint, self._limits, self._connect, key_missing=missing
        )

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """See `base.Provider.stream`."""
        return complete(self._chunks(request), provider=self.name)

    async def models(self) -> tuple[ModelInfo, ...]:
        """What `GET models` lists, in any of the shapes that servers use."""
        client = await self._connection.client()
        import httpx2  # heavy SDK
        import openai  # heavy SDK

        sending = client.get("/models", cast_to=httpx2.Response)
        response = await self._connection.sent(sending, openai)
        said = await transport.body(response, self._endpoint, self._limits)
        try:
            data = json.loads(said)
        except ValueError as error:
            raise faults.not_the_protocol(self._endpoint, body=said, expected=_EXPECTED) from error
        return tuple(ModelInfo(f"{self.name}:{id}") for id in self._listed(data))

    def capabilities(self, model: str) -> Capabilities:
        """See `base.Provider.capabilities`."""
        return self._capabilities(model)

    async def prepare(self, model: str) -> None:
        """See `base.Provider.prepare`."""

    def check(self, model: str) -> None:
        """See `base.Provider.check`."""
        self._connection.check()

    async def aclose(self) -> None:
        """End the connections."""
        await self._connection.aclose()

    async def _chunks(self, request: Request) -> AsyncGenerator[Chunk]:
        deadline = Deadline(self._limits)
        response = await self._answer(request, deadline)
        reply = ChatReply(thinking_opened=request.model in self._opened)
        async with aclosing(self._data(response, deadline, request.model, reply)) as chunks:
            async for data in chunks:
                for chunk in reply.feed(data):
                    yield chunk
        for chunk in reply.finish():
            yield chunk
        if reply.opened_in_prompt:
            self._opened.add(request.model)
        yield UsageReported(reply.usage or _estimate(request, reply))
        yield Stopped(reply.stop, reply.finish_reason or "")

    async def _answer(self, request: Request, deadline: Deadline) -> "httpx2.Response":
        """The response with its body still to come; fields the server refuses are left out."""
        client = await self._connection.client()
        import openai  # heavy SDK

        while True:
            body = self._body(request)
            model = body.pop("model")
            messages = body.pop("messages")
            sending = client.chat.completions.create(
                model=model, messages=messages, stream=True, extra_body=body
            )
            try:
                stream = await self._connection.sent(
                    sending, openai, model=request.model, deadline=deadline
                )
            except ProviderError as error:
                if not self._adapted(error, body):
                    raise
            else:
                response: httpx2.Response = stream.response
                return response

    async def _data(
        self, response: "httpx2.Response", deadline: Deadline, model: str, reply: ChatReply
    ) -> AsyncGenerator[dict[str, Any]]:
        """The JSON objects of the answer, one whole completion or many chunks.

        Raises:
            StreamBroken: neither a finish reason nor `[DONE]` came.
            ProviderError: an error object, or something that is not this API.
        """
        said: str | None = None
        if not transport.is_event_stream(response):
            said = await transport.body(response, self._endpoint, self._limits)
            if not sdk.is_stream(said):
                yield self._whole(said, model)
                return
        anything = False
        source = transport.events(response, self._endpoint, self._limits, deadline)
        async with aclosing(source) as events:
            try:
                async for event in events:
                    if event.data.startswith("[DONE]"):
                        return
                    anything = True
                    data = sdk.parsed(event.data, self._endpoint)
                    self._raise_error(data, model)
                    yield data
            except StreamBroken:
                if reply.finish_reason is None:
                    raise
                return  # all was said; only the goodbye is missing
        if not anything:
            what = text("providers.body_no_events") if said is None else None
            raise faults.not_the_protocol(
                self._endpoint, body=said or "", expected=_EXPECTED, what=what
            )
        if reply.finish_reason is None:
            raise faults.broken(self._endpoint)

    def _whole(self, said: str, model: str) -> dict[str, Any]:
        data = sdk.whole(said)
        if isinstance(data, dict):
            self._raise_error(data, model)
            if data.get("choices"):
                return data
        raise faults.not_the_protocol(self._endpoint, body=said, expected=_EXPECTED)

    def _raise_error(self, data: Mapping[str, Any], model: str) -> None:
        """Raise the error that an answer with status 200 holds."""
        error = data.get("error")
        if data.get("object") == "error":
            error = data
        if error:
            raise sdk.error_inside(error, self._endpoint, model=model)

    def _body(self, request: Request) -> dict[str, Any]:
        body = chat_body(
            request,
            self.capabilities(request.model),
            params=self._params,
            max_tokens_field=self._max_tokens_field,
        )
        return {name: value for name, value in body.items() if name not in self._refused}

    @property
    def _max_tokens_field(self) -> str:
        # Other servers ignore the new name, and would then write as much as they like.
        new = self._own != ("max_tokens_swapped" in self._refused)
        return "max_completion_tokens" if new else "max_tokens"

    def _adapted(self, error: ProviderError, body: Mapping[str, Any]) -> bool:
        """Whether `error` refuses an optional field by name; it is then left out from now on."""
        if error.status not in (400, 422):
            return False
        # The line for the person may have cut the name off; the SDK's error has the whole body.
        response = getattr(error.__cause__, "response", None)
        said = response.text if response is not None else str(error)
        named = [name for name in _OPTIONAL if name in body and name in said]
        swap = "max_tokens" in said and "max_completion_tokens" in said
        if swap and "max_tokens_swapped" not in self._refused:
            named.append("max_tokens_swapped")
        self._refused.update(named)
        return bool(named)

    def _connect(self) -> "openai.AsyncOpenAI":
        import openai  # heavy SDK

        key = self._key or _DUMMY_KEY
        # What the SDK would take from the environment and send to any host is left out by name.
        ambient = transport.foreign_headers(os.environ, "OPENAI_CUSTOM_HEADERS")
        left_out = ("OpenAI-Organization", "OpenAI-Project", *ambient)
        headers: Any = {
            **{name: openai.omit for name in left_out if name.lower() != "authorization"},
            **{name: f"Bearer {key}" for name in ambient if name.lower() == "authorization"},
            **self._headers,
        }
        return openai.AsyncOpenAI(
            api_key=key,
            admin_api_key="",
            base_url=self._endpoint.url,
            max_retries=0,
            default_headers=headers,
            timeout=transport.timeout(self._limits),
            http_client=transport.http_client(self._endpoint, self._limits),
        )

    def _listed(self, data: Any) -> Iterator[str]:
        rows = data if isinstance(data, list) else data.get("data") or data.get("models") or []
        for row in rows:
            id = row if isinstance(row, str) else row.get("id") or row.get("name")
            if id and not (self._own and any(word in id for word in _NO_CHAT)):
                yield str(id)


def _estimate(request: Request, reply: ChatReply) -> Usage:
    return Usage(request_tokens(request), text_tokens("".join(reply.said)), estimated=True)


def _servers(settings: "Settings") -> tuple[str, ...]:
    return tuple(name for name, server in settings.servers.items() if server.family != "anthropic")


def _configured(settings: "Settings", keys: "Keys") -> tuple[str, ...]:
    own = (NAME,) if keys.openai_api_key is not None else ()
    return (*own, *_servers(settings))


def _open(name: str, settings: "Settings", keys: "Keys", environ: Mapping[str, str]) -> Provider:
    limits = Limits.of(settings)
    if name in settings.servers:
        server = settings.servers[name]
        return OpenAIProvider(
            name,
            base_url=server_url(server.family, server.url),
            key=server.key.reveal() if server.key is not None else None,
            params=server.params,
            limits=limits,
        )
    environ = settings.ambient(environ)
    headers = transport.foreign_headers(environ, "OPENAI_CUSTOM_HEADERS")
    for variable, header in (
        ("OPENAI_ORG_ID", "OpenAI-Organization"),
        ("OPENAI_PROJECT_ID", "OpenAI-Project"),
    ):
        if environ.get(variable):
            headers[header] = environ[variable]
    key = keys.openai_api_key
    return OpenAIProvider(
        name,
        base_url=environ.get("OPENAI_BASE_URL") or _OWN_URL,
        key=key.reveal() if key is not None else None,
        limits=limits,
        headers=headers,
    )


ADAPTER = Adapter(
    known=lambda settings: (NAME, *_servers(settings)),
    configured=_configured,
    open=_open,
)
