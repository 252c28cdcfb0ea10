"""Sites on this machine, and an internet that leads to them: real sockets, injected names."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from types import TracebackType
from typing import Any

import httpcore2

from maia_kernel.hosts import IPAddress
from maia_kernel.web.network import Network

PUBLIC = "93.184.215.14"

Respond = Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(
    body: bytes | str = b"",
    kind: str = "text/html; charset=utf-8",
    *,
    status: str = "200 OK",
    **headers: str,
) -> bytes:
    """A whole HTTP answer; underscores in names of headers are dashes."""
    data = body.encode() if isinstance(body, str) else body
    fields = {"Content-Type": kind, "Content-Length": str(len(data))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in fields.items() if value)]
    return "\r\n".join([*lines, "", ""]).encode() + data


def redirect(to: str, status: str = "302 Found") -> bytes:
    return answer(b"moved", status=status, Location=to)


@dataclass
class Site:
    """A server on 127.0.0.1: `pages` by target, other targets get "hello"; `requests` are what came."""

    pages: dict[str, bytes | Respond] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    requests: list[str] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> "Site":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the next round

    @property
    def targets(self) -> list[str]:
        return [request.split(" ")[1] for request in self.requests]

    def header(self, name: str, request: int = -1) -> str | None:
        for line in self.requests[request].split("\r\n")[1:]:
            field_name, _, value = line.partition(":")
            if field_name.lower() == name.lower():
                return value.strip()
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._answer(reader, writer)
            writer.close()
            await writer.wait_closed()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            writer.transport.abort()
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        finally:
            self._tasks.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.requests.append(head)
        page = self.pages.get(head.split(" ")[1], answer("<p>hello</p>"))
        if isinstance(page, bytes):
            writer.write(page)
            await writer.drain()
        else:
            await page(writer)


class Internet(httpcore2.AsyncNetworkBackend):
    """Every address leads to `site`; `dialled` are the addresses that were connected to."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._real = httpcore2.AnyIOBackend()
        self.dialled: list[str] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        ip_address(host)  # a name here would be resolved a second time
        self.dialled.append(host)
        return await self._real.connect_tcp("127.0.0.1", self._site.port, timeout)

    async def sleep(self, seconds: float) -> None:
        await self._real.sleep(seconds)


class Names:
    """A resolver: each name's answers in turn, the last one for ever. `asked` is what was looked up."""

    def __init__(self, names: Mapping[str, list[Any]]) -> None:
        self._names = {
            name: [*(known if isinstance(known[0], list) else [known])]
            for name, known in names.items()
        }
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> tuple[IPAddress, ...]:
        self.asked.append(host)
        if host not in self._names:
            raise OSError(f"{host} is unknown")
        answers = self._names[host]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return tuple(ip_address(address) for address in found)


def internet(
    site: Site, names: Mapping[str, list[Any]] | None = None, allow: Iterable[str] = ()
) -> tuple[Network, Internet]:
    """A network on which `example.com` and `names` exist, all served by `site`."""
    dial = Internet(site)
    known = {"example.com": [PUBLIC], **(names or {})}
    return Network(frozenset(allow), Names(known), dial), dial
