"""HTTP for the adapters: one client, time limits, and a body's events with MAIA's errors."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from maia_kernel.errors import ProtocolFault, ProviderError, UsageError
from maia_kernel.providers import faults
from maia_kernel.providers.faults import Endpoint
from maia_kernel.providers.wire.sse import SseEvent, SseParser
from maia_kernel.texts import text

if TYPE_CHECKING:
    import httpx2

    from maia_kernel.settings import Settings

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: to connect, between two pieces of an answer, and for a whole request."""

    connect: float = 10.0
    silence: float = 300.0
    total: float = 600.0

    @classmethod
    def of(cls, settings: "Settings") -> "Limits":
        """The limits a person set."""
        return cls(settings.connect_timeout, settings.silence_timeout, settings.api_timeout)


class Deadline:
    """The end of one request's total time, on the running loop's clock."""

    def __init__(self, limits: Limits) -> None:
        self._at = asyncio.get_running_loop().time() + limits.total

    def timeout(self) -> asyncio.Timeout:
        """A context that raises `TimeoutError` when the time is over."""
        return asyncio.timeout_at(self._at)


def check_address(endpoint: Endpoint) -> None:
    """Refuse what is no http address, before an SDK fails on it with a traceback.

    Raises:
        UsageError: naming the address.
    """
    try:
        parts = urlsplit(endpoint.url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine:
        shown = endpoint.clean(endpoint.url.rpartition("@")[2])
        raise UsageError(text("providers.bad_address", provider=endpoint.provider, address=shown))


def timeout(limits: Limits) -> "httpx2.Timeout":
    """The limits in the HTTP library's terms; the total is ours to hold."""
    import httpx2  # heavy SDK

    return httpx2.Timeout(
        connect=limits.connect, read=limits.silence, write=limits.silence, pool=limits.connect
    )


def http_client(endpoint: Endpoint, limits: Limits) -> "httpx2.AsyncClient":
    """A client for one endpoint.

    Proxies and certificates come from the environment, except for this machine's own servers. A
    redirect is never followed: it could carry a key to another host.
    """
    import httpx2  # heavy SDK

    loopback = endpoint.is_at(*_LOOPBACK)
    return httpx2.AsyncClient(
        timeout=timeout(limits),
        trust_env=not loopback,
        # Certificates take a tenth of a second to load; plain http on this machine meets none.
        verify=not (loopback and endpoint.url.startswith("http://")),
        follow_redirects=False,
    )


def status_error(
    endpoint: Endpoint,
    response: "httpx2.Response",
    said: str,
    *,
    kind: str = "",
    model: str = "",
) -> ProviderError:
    """The error for an answer that is no 2xx; `said` and `kind` are taken from its body."""
    if response.is_redirect:
        said = text("providers.redirect", to=response.headers.get("location", "?"))
    return faults.from_status(
        endpoint,
        response.status_code,
        said,
        kind=kind,
        model=model,
        retry_after=faults.retry_after(response.headers, now=time.time()),
    )


def connection_error(endpoint: Endpoint, error: BaseException, limits: Limits) -> ProviderError:
    """The error for a request that got no answer; `error` may be an SDK's, its causes count."""
    import httpx2  # heavy SDK

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, httpx2.TransportError | OSError):
        cause = cause.__cause__ or cause.__context__
    match cause:
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return faults.timed_out(endpoint, seconds=limits.connect)
        case httpx2.TimeoutException():
            return faults.timed_out(endpoint, seconds=limits.silence)
        case httpx2.RemoteProtocolError() | httpx2.ReadError():
            return faults.broken(endpoint, text("providers.dropped"))
        case _:
            return faults.unreachable(endpoint, cause or error)


async def events(
    response: "httpx2.Response", endpoint: Endpoint, limits: Limits, deadline: Deadline
) -> AsyncGenerator[SseEvent]:
    """The server-sent events of `response`, which is closed at the end, however that comes.

    Raises:
        StreamBroken: the connection dropped, was silent too long, or the total time is over.
    """
    parser = SseParser()
    async with aclosing(pieces(response, endpoint, limits, deadline)) as source:
        async for piece in source:
            for event in parser.feed(piece):
                yield event
    for event in parser.finish():
        yield event


async def lines(
    response: "httpx2.Response", endpoint: Endpoint, limits: Limits, deadline: Deadline
) -> AsyncGenerator[str]:
    """The lines of `response` that are not blank; it is closed at the end. Raises as `events` does."""
    rest = b""
    async with aclosing(pieces(response, endpoint, limits, deadline)) as source:
        async for piece in source:
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                if line.strip():
                    yield line.decode("utf-8", "replace")
    if rest.strip():
        yield rest.decode("utf-8", "replace")


async def pieces(
    response: "httpx2.Response", endpoint: Endpoint, limits: Limits, deadline: Deadline
) -> AsyncGenerator[bytes]:
    """The bytes of `response` as they come, which is closed at the end. Raises as `events` does."""
    import httpx2  # heavy SDK

    try:
        async with aclosing(response.aiter_bytes()) as source:
            while True:
                async with deadline.timeout():
                    piece = await anext(source, None)
                if piece is None:
                    return
                yield piece
    except TimeoutError as error:
        cause = text("providers.total_time", seconds=f"{limits.total:g}")
        raise faults.broken(endpoint, cause) from error
    except httpx2.TimeoutException as error:
        raise faults.silent(endpoint, limits.silence) from error
    except (httpx2.TransportError, httpx2.StreamError) as error:
        raise faults.broken(endpoint, text("providers.dropped")) from error
    except httpx2.DecodingError as error:
        raise bad_data(endpoint, str(error)) from error
    finally:
        await response.aclose()


async def body(response: "httpx2.Response", endpoint: Endpoint, limits: Limits) -> str:
    """The whole body as text; raises as `events` does."""
    import httpx2  # heavy SDK

    try:
        async with asyncio.timeout(limits.total):
            await response.aread()
    except (TimeoutError, httpx2.TimeoutException) as error:
        raise faults.silent(endpoint, limits.silence) from error
    except httpx2.TransportError as error:
        raise faults.broken(endpoint, text("providers.dropped")) from error
    finally:
        await response.aclose()
    return response.text


def bad_data(endpoint: Endpoint, cause: str) -> ProtocolFault:
    """A piece of the answer that is not what the format says."""
    line = text(
        "providers.bad_data",
        provider=endpoint.provider,
        host=endpoint.host,
        cause=endpoint.clean(cause),
    )
    return ProtocolFault(line, provider=endpoint.provider)


def is_event_stream(response: "httpx2.Response") -> bool:
    """Whether the body may be read as events; web pages and JSON documents are not."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind not in ("text/html", "application/xhtml+xml", "application/json")


def foreign_headers(environ: Mapping[str, str], variable: str) -> dict[str, str]:
    """The headers that `variable` (lines of `Name: value`) sets, which an SDK would send anywhere."""
    rows = (line.partition(":") for line in environ.get(variable, "").split("\n"))
    return {name.strip(): value.strip() for name, colon, value in rows if colon}
