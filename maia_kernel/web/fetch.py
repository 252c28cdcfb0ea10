"""One page from the web: what came, or where it has gone. Limits hold while it streams."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import cache

import httpcore2

from maia_kernel._version import __version__
from maia_kernel.web import urls
from maia_kernel.web.network import Network, RefusedAddress
from maia_kernel.web.unpack import ACCEPTED, BadEncoding, Truncated, unpacked
from maia_kernel.web.urls import Url

USER_AGENT = f"MAIA/{__version__} (a person asked for this page)"
_ACCEPT = (
    "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, "
    "text/plain;q=0.8, application/pdf;q=0.7, */*;q=0.5"
)
_MOVED = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for everything together, decoded bytes of a body, redirects on the same host."""

    seconds: float = 30.0
    size: int = 5_000_000
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Page:
    """An answer. `media_type` is in lower case; `charset` what its header says, or empty.

    `cut` says why `body` is not all of it, empty when it is.
    """

    url: Url
    status: int
    media_type: str
    charset: str
    body: bytes
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A redirect that was not followed: from `url` to `to`, on another host or without encryption."""

    url: Url
    status: int
    to: Url


class FetchFailed(Exception):
    """Nothing usable came; the message (English) says why and never holds the address's query."""


async def fetch(url: Url, network: Network, limits: Limits | None = None) -> Page | Elsewhere:
    """GET `url`, following redirects on its own host only. No cookie and no credential is ever sent.

    Proxies of the environment are not used: behind one, nobody here could check an address.

    Raises:
        FetchFailed: refused address, no connection, bad certificate, time over, a broken answer.
    """
    limits = limits or Limits()
    try:
        async with asyncio.timeout(limits.seconds):
            return await _followed(url, network, limits)
    except TimeoutError:
        raise FetchFailed(f"it took longer than {limits.seconds:g} seconds") from None
    except RefusedAddress as error:
        raise FetchFailed(
            f"{error}; such addresses are refused unless the user's web.allowPrivate lists the host"
        ) from None
    except BadEncoding as error:
        raise FetchFailed(str(error)) from None
    except httpcore2.ConnectError as error:
        raise FetchFailed(_no_connection(url, error)) from None
    except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
        raise FetchFailed(f"the connection to {url.host} broke ({_named(error)})") from None
    except httpcore2.ProtocolError:
        raise FetchFailed(f"what {url.host} answers is not HTTP") from None


async def _followed(url: Url, network: Network, limits: Limits) -> Page | Elsewhere:
    for _ in range(limits.redirects + 1):
        found = await _once(url, network, limits)
        if isinstance(found, Page):
            return found
        if found.to.host != url.host or (url.scheme, found.to.scheme) == ("https", "http"):
            return found
        url = found.to
    raise FetchFailed(f"it was redirected more than {limits.redirects} times")


async def _once(url: Url, network: Network, limits: Limits) -> Page | Elsewhere:
    async with _answer(url, network) as response:
        headers = _headers(response)
        if response.status in _MOVED and headers.get("location"):
            try:
                return Elsewhere(url, response.status, urls.joined(url, headers["location"]))
            except ValueError as error:
                raise FetchFailed(f"it redirects to an address that is refused: {error}") from None
        body, cut = await _body(response, headers, limits)
    kind, _, parameters = headers.get("content-type", "").partition(";")
    return Page(url, response.status, kind.strip().lower(), _charset(parameters), body, cut)


@asynccontextmanager
async def _answer(url: Url, network: Network) -> AsyncIterator[httpcore2.Response]:
    context = await asyncio.to_thread(_certificates) if url.scheme == "https" else None
    headers: dict[bytes | str, bytes | str] = {
        "Host": url.authority,
        "User-Agent": USER_AGENT,
        "Accept": _ACCEPT,
        "Accept-Encoding": ACCEPTED,
        "Connection": "close",
    }
    target = httpcore2.URL(
        scheme=url.scheme.encode(),
        host=url.host.encode(),
        port=url.port,
        target=url.target.encode(),
    )
    async with (
        httpcore2.AsyncConnectionPool(
            ssl_context=context, network_backend=network.backend()
        ) as pool,
        pool.stream("GET", target, headers=headers) as response,
    ):
        yield response


async def _body(
    response: httpcore2.Response, headers: Mapping[str, str], limits: Limits
) -> tuple[bytes, str]:
    """The decoded body up to the limit, and why it is cut."""
    body = bytearray()
    try:
        async with (
            aclosing(response.aiter_stream()) as raw,
            aclosing(unpacked(raw, headers.get("content-encoding", ""))) as pieces,
        ):
            async for piece in pieces:
                body += piece
                if len(body) > limits.size:
                    return bytes(
                        body[: limits.size]
                    ), f"only the first {limits.size:,} bytes were read"
    except (Truncated, httpcore2.RemoteProtocolError, httpcore2.ReadError):
        if not body:
            raise FetchFailed("the connection ended before the page came") from None
        return bytes(body), "the connection ended before all of the page had come"
    return bytes(body), ""


@cache
def _certificates() -> ssl.SSLContext:
    return httpcore2.default_ssl_context()


def _headers(response: httpcore2.Response) -> dict[str, str]:
    """Names in lower case; of a repeated one the first."""
    found: dict[str, str] = {}
    for name, value in response.headers:
        found.setdefault(name.decode("ascii", "replace").lower(), value.decode("utf-8", "replace"))
    return found


def _charset(parameters: str) -> str:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").lower()
    return ""


def _no_connection(url: Url, error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate of {url.host} cannot be trusted ({cause.verify_message})"
        if isinstance(cause, ssl.SSLError):
            return f"no encrypted connection to {url.host} can be made"
        if isinstance(cause, OSError) and cause.strerror:
            return f"no connection to {url.place} ({cause.strerror})"
        cause = cause.__cause__ or cause.__context__
    return f"no connection to {url.place} ({error})"


def _named(error: Exception) -> str:
    return "no answer in time" if isinstance(error, httpcore2.TimeoutException) else "dropped"
