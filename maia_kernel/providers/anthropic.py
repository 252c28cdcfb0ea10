"""The Messages API: api.anthropic.com and every endpoint that speaks it.

The official SDK signs and sends; the answer's events are read here, because the SDK passes over events
without a name and takes a stream that was cut for a whole one.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

from maia_kernel.providers import catalog, faults, sdk, transport
from maia_kernel.providers.adapter import Adapter
from maia_kernel.providers.anthropic_reply import MessagesReply, whole_message
from maia_kernel.providers.anthropic_request import body_of
from maia_kernel.providers.base import Capabilities, Chunk, ModelInfo, Provider, Request
from maia_kernel.providers.complete import complete
from maia_kernel.providers.sdk import Connection
from maia_kernel.providers.transport import Deadline, Limits
from maia_kernel.texts import text

if TYPE_CHECKING:
    import anthropic
    import httpx2

    from maia_kernel.settings import Settings
    from maia_kernel.settings.keys import Keys

AuthStyle = Literal["bearer", "x-api-key"]

NAME = "anthropic"
_OWN_URL = "https://api.anthropic.com"
_OWN_HOSTS = ("api.anthropic.com",)
_DUMMY_KEY = "not-needed"
_EXPECTED = "Anthropic Messages API"
_OUTPUT_TOKENS = 32_000  # unless the request or the model says less
_PAGE = 1000  # the API's largest
_OLD_VERSION = "2023-06-01"  # what endpoints of other makers are written against


class AnthropicProvider:
    """One endpoint; `key` and `token` None is for servers without one.

    `auth_style` says in which header a key goes, `api_version` what `anthropic-version` is; None of
    either is what the host is known to want. `headers` go to this endpoint and nowhere else.
    """

    def __init__(
        self,
        name: str = NAME,
        *,
        base_url: str = _OWN_URL,
        key: str | None = None,
        token: str | None = None,
        auth_style: AuthStyle | None = None,
        api_version: str | None = None,
        params: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        max_output: int | None = None,
        key_hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        secrets = tuple(secret for secret in (key, token) if secret)
        hint = key_hint or (text("providers.hint.anthropic") if name == NAME else "")
        self._endpoint = faults.Endpoint(name, base_url, secrets, hint)
        self._key, self._token = key, token
        self._auth_style, self._api_version = auth_style, api_version
        self._params = dict(params or {})
        self._limits = limits or Limits()
        self._max_output = max_output
        self._headers = dict(headers or {})
        self._own = self._endpoint.is_at(*_OWN_HOSTS)
        self._live: dict[str, Capabilities] = {}  # what the server itself said of its models
        missing = self._own and not self._key and not self._token
        self._connection = Connection(
            self._endpoint, self._limits, self._connect, key_missing=missing
        )

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """See `base.Provider.stream`."""
        return complete(self._chunks(request), provider=self.name)

    async def models(self) -> tuple[ModelInfo, ...]:
        """Every page of `GET /v1/models`; remembers the windows it says."""
        found: list[ModelInfo] = []
        after: str | None = None
        while True:
            page = await self._page(after)
            rows = [
                row for row in page.get("data") or () if isinstance(row, dict) and row.get("id")
            ]
            found += [self._listed(row) for row in rows]
            after = str(page.get("last_id") or "")
            if not page.get("has_more") or not after or not rows:
                return tuple(found)

    def capabilities(self, model: str) -> Capabilities:
        """See `base.Provider.capabilities`; what `models` heard counts more than the catalogue."""
        return self._live.get(model) or catalog.capabilities(NAME, model)

    async def prepare(self, model: str) -> None:
        """See `base.Provider.prepare`."""

    def check(self, model: str) -> None:
        """See `base.Provider.check`."""
        self._connection.check()

    async def aclose(self) -> None:
        """End the connections."""
        await self._connection.aclose()

    def auth_headers(self) -> dict[str, str]:
        """The headers that name the caller and the version of the API."""
        version = self._api_version or (None if self._own else _OLD_VERSION)
        headers = {"anthropic-version": version} if version else {}
        if self._token and not self._key:
            return {**headers, "Authorization": f"Bearer {self._token}"}
        key = self._key or _DUMMY_KEY
        if self._auth_style != "x-api-key":
            headers["Authorization"] = f"Bearer {key}"
        if self._auth_style == "x-api-key" or (self._auth_style is None and not self._own):
            headers["X-Api-Key"] = key
        return headers

    async def _chunks(self, request: Request) -> AsyncGenerator[Chunk]:
        deadline = Deadline(self._limits)
        response = await self._answer(request, deadline)
        reply = MessagesReply()
        async with aclosing(self._data(response, deadline, request.model, reply)) as events:
            async for data in events:
                for chunk in reply.feed(data):
                    yield chunk
                if reply.ended:
                    return

    async def _answer(self, request: Request, deadline: Deadline) -> "httpx2.Response":
        client = await self._connection.client()
        import anthropic  # heavy SDK

        capabilities = self.capabilities(request.model)
        family = catalog.family(request.model)
        asked = request.max_tokens or self._max_output or _OUTPUT_TOKENS
        limit = capabilities.max_output or asked
        style = family.thinking if family is not None else "none"
        body = {
            **body_of(request, capabilities, style, min(asked, limit)),
            **self._params,
            **request.params,
            "stream": True,
        }
        # Not `messages.create`: it warns of old models through `warnings`, into a person's cell.
        sending = client.post(
            "/v1/messages",
            body=body,
            cast_to=anthropic.types.Message,
            stream=True,
            stream_cls=anthropic.AsyncStream[anthropic.types.RawMessageStreamEvent],
        )
        stream = await self._connection.sent(
            sending, anthropic, model=request.model, deadline=deadline
        )
        response: httpx2.Response = stream.response
        return response

    async def _data(
        self, response: "httpx2.Response", deadline: Deadline, model: str, reply: MessagesReply
    ) -> AsyncGenerator[dict[str, Any]]:
        """The JSON objects of the answer's events.

        Raises:
            StreamBroken: they end before `message_stop`.
            ProviderError: an error event, or something that is not this API.
        """
        said: str | None = None
        if not transport.is_event_stream(response):
            said = await transport.body(response, self._endpoint, self._limits)
            if not sdk.is_stream(said):
                for data in whole_message(self._whole(said, model)):
                    yield data
                return
        source = transport.events(response, self._endpoint, self._limits, deadline)
        async with aclosing(source) as events:
            async for event in events:
                data = sdk.parsed(event.data, self._endpoint)
                data.setdefault("type", event.event)
                self._raise_error(data, model)
                yield data
        if not reply.started:
            raise faults.not_the_protocol(
                self._endpoint,
                body=said or "",
                expected=_EXPECTED,
                what=text("providers.body_no_events"),
            )
        raise faults.broken(self._endpoint)

    def _whole(self, said: str, model: str) -> dict[str, Any]:
        data = sdk.whole(said)
        if isinstance(data, dict):
            self._raise_error(data, model)
            if isinstance(data.get("content"), list):
                return data
        raise faults.not_the_protocol(self._endpoint, body=said, expected=_EXPECTED)

    def _raise_error(self, data: Mapping[str, Any], model: str) -> None:
        if data.get("type") == "error" or data.get("error"):
            raise sdk.error_inside(data, self._endpoint, model=model)

    async def _page(self, after: str | None) -> dict[str, Any]:
        client = await self._connection.client()
        import anthropic  # heavy SDK
        import httpx2  # heavy SDK

        query = urlencode({"limit": _PAGE, **({"after_id": after} if after else {})})
        sending = client.get(f"/v1/models?{query}", cast_to=httpx2.Response)
        response = await self._connection.sent(sending, anthropic)
        said = await transport.body(response, self._endpoint, self._limits)
        page = sdk.whole(said)
        if not isinstance(page, dict):
            raise faults.not_the_protocol(self._endpoint, body=said, expected=_EXPECTED)
        return page

    def _listed(self, row: Mapping[str, Any]) -> ModelInfo:
        id = str(row["id"])
        known = catalog.capabilities(NAME, id)
        window, output = row.get("max_input_tokens"), row.get("max_tokens")
        self._live[id] = replace(
            known,
            context_window=window if isinstance(window, int) else known.context_window,
            max_output=output if isinstance(output, int) else known.max_output,
        )
        family = catalog.family(id)
        tokens = window or (family.context_window if family is not None else None)
        detail = text("providers.detail.window", tokens=f"{tokens:,}") if tokens else ""
        return ModelInfo(f"{self.name}:{id}", str(row.get("display_name") or ""), detail)

    def _connect(self) -> "anthropic.AsyncAnthropic":
        import anthropic  # heavy SDK

        # A credential is always given, so that the SDK looks for none in the environment or in a
        # profile; headers of the environment, which it sends to any host, are left out by name.
        ambient = transport.foreign_headers(os.environ, "ANTHROPIC_CUSTOM_HEADERS")
        ours = {**self._headers, **self.auth_headers()}
        taken = {name.lower() for name in ours}
        left_out = ("X-Api-Key", "Authorization", *ambient)
        headers: Any = {
            **{name: anthropic.omit for name in left_out if name.lower() not in taken},
            **ours,
        }
        return anthropic.AsyncAnthropic(
            api_key=self._key or self._token or _DUMMY_KEY,
            base_url=self._endpoint.url,
            max_retries=0,
            default_headers=headers,
            timeout=transport.timeout(self._limits),
            http_client=transport.http_client(self._endpoint, self._limits),
        )


def _servers(settings: "Settings") -> tuple[str, ...]:
    return tuple(name for name, server in settings.servers.items() if server.family == "anthropic")


def _configured(settings: "Settings", keys: "Keys") -> tuple[str, ...]:
    has_key = keys.anthropic_api_key is not None or keys.anthropic_auth_token is not None
    return (*((NAME,) if has_key else ()), *_servers(settings))


def _open(name: str, settings: "Settings", keys: "Keys", environ: Mapping[str, str]) -> Provider:
    limits = Limits.of(settings)
    if name in settings.servers:
        server = settings.servers[name]
        return AnthropicProvider(
            name,
            base_url=server.url,
            key=server.key.reveal() if server.key is not None else None,
            params=server.params,
            limits=limits,
            max_output=settings.max_output_tokens,
        )
    key, token = keys.anthropic_api_key, keys.anthropic_auth_token
    return AnthropicProvider(
        name,
        base_url=settings.anthropic.base_url or _OWN_URL,
        key=key.reveal() if key is not None else None,
        token=token.reveal() if token is not None else None,
        auth_style=settings.anthropic.auth_style,
        api_version=settings.anthropic.api_version,
        limits=limits,
        max_output=settings.max_output_tokens,
        headers=transport.foreign_headers(settings.ambient(environ), "ANTHROPIC_CUSTOM_HEADERS"),
    )


ADAPTER = Adapter(
    known=lambda settings: (NAME, *_servers(settings)),
    configured=_configured,
    open=_open,
)
