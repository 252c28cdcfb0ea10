"""What the adapters built on a vendor's SDK share: its client, its errors, and JSON that is none."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

from maia_kernel.errors import AuthenticationFailed, ProviderError
from maia_kernel.providers import faults, transport
from maia_kernel.providers.faults import Endpoint
from maia_kernel.providers.transport import Deadline, Limits
from maia_kernel.texts import text


class _Closable(Protocol):
    async def close(self) -> None: ...


Client = TypeVar("Client", bound=_Closable)


class Connection(Generic[Client]):
    """One SDK's client for one endpoint, made by `connect` at the first request.

    `key_missing` says that the endpoint wants a key and has none.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        limits: Limits,
        connect: Callable[[], Client],
        *,
        key_missing: bool,
    ) -> None:
        self._endpoint, self._limits = endpoint, limits
        self._connect = connect
        self._key_missing = key_missing
        self._client: Client | None = None
        self._connecting = asyncio.Lock()

    def check(self) -> None:
        """Return when there may be a client.

        Raises:
            UsageError: the address is none.
            AuthenticationFailed: a key is missing.
        """
        endpoint = self._endpoint
        transport.check_address(endpoint)
        if self._key_missing:
            line = text("providers.no_key", provider=endpoint.provider, where=endpoint.where_key)
            raise AuthenticationFailed(line, provider=endpoint.provider)

    async def client(self) -> Client:
        """The client; raises as `check` does."""
        self.check()
        async with self._connecting:
            if self._client is None:
                # The first import takes a second; the loop stays free for an interrupt.
                self._client = await asyncio.to_thread(self._connect)
            return self._client

    async def aclose(self) -> None:
        """End the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def sent(
        self,
        sending: Awaitable[Any],
        sdk: Any,
        *,
        model: str = "",
        deadline: Deadline | None = None,
    ) -> Any:
        """What `sending` gives; `sdk` is the module whose errors become ours.

        Raises:
            ProviderError: no answer, none before `deadline`, or one that is no 2xx.
        """
        try:
            if deadline is None:
                return await sending
            async with deadline.timeout():
                return await sending
        except sdk.APIStatusError as error:
            said, kind = faults.said(error.body or error.response.text)
            raise transport.status_error(
                self._endpoint, error.response, said, kind=kind, model=model
            ) from error
        except sdk.APIConnectionError as error:
            raise transport.connection_error(self._endpoint, error, self._limits) from error
        except TimeoutError as error:
            raise faults.timed_out(self._endpoint, seconds=self._limits.total) from error


def parsed(line: str, endpoint: Endpoint) -> dict[str, Any]:
    """The JSON object of one event.

    Raises:
        ProtocolFault: it is none.
    """
    try:
        data = json.loads(line)
    except ValueError as error:
        raise transport.bad_data(endpoint, str(error)) from error
    if not isinstance(data, dict):
        raise transport.bad_data(endpoint, line[:60])
    return data


def whole(said: str) -> Any:
    """The JSON value of a whole body; None where there is none."""
    try:
        return json.loads(said)
    except ValueError:
        return None


def is_stream(said: str) -> bool:
    """Whether a body that was not declared as events is one all the same."""
    return said.lstrip().startswith(("data:", "event:", ":"))


def error_inside(error: Any, endpoint: Endpoint, *, model: str) -> ProviderError:
    """What an error object inside an answer with status 200 stands for."""
    said, kind = faults.said(error)
    return faults.from_status(endpoint, faults.status_of(kind), said, kind=kind, model=model)
