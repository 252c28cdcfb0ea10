"""Connections that lead only where they may: the address is checked that is then connected to.

A check of the name before a fetch proves nothing: the name may resolve anew to another address. Here
the name is resolved once, at every connection; every address it has must be fit, and the connection
goes to one of these addresses, while TLS and the `Host` header keep the name.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpcore2

from maia_kernel.hosts import IPAddress, address_of, place
from maia_kernel.web.addresses import why_refused

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

Resolve = Callable[[str, int], Awaitable[tuple[IPAddress, ...]]]


class RefusedAddress(Exception):
    """The host is, or resolves to, an address where no page may come from."""


async def resolve(host: str, port: int) -> tuple[IPAddress, ...]:
    """Every address of `host`, in the system's order of preference; raises `OSError` for none."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = (address_of(str(entry[4][0])) for entry in found)
    return tuple(dict.fromkeys(address for address in addresses if address is not None))


@dataclass(frozen=True, slots=True)
class Network:
    """The way out. `allowed` are hosts (`host` or `host:port`, normal form) fit whatever they resolve to.

    `dial` opens the connection to an address that was checked.
    """

    allowed: frozenset[str] = frozenset()
    resolve: Resolve = resolve
    dial: "AsyncNetworkBackend" = field(default_factory=httpcore2.AnyIOBackend)

    def check(self, host: str, port: int, addresses: Iterable[IPAddress]) -> None:
        """Return when `host` may be connected to at each of `addresses`.

        Raises:
            RefusedAddress: one of them is none where a page may come from.
        """
        if host in self.allowed or place(host, port) in self.allowed:
            return
        for address in addresses:
            why = why_refused(address)
            if why is not None:
                named = host if str(address) == host else f"{host} has the address {address}, which"
                raise RefusedAddress(f"{named} is {why}")

    def backend(self) -> "AsyncNetworkBackend":
        """For a connection pool: every connection of it goes through the check."""
        return _CheckedBackend(self)


class _CheckedBackend(httpcore2.AsyncNetworkBackend):
    def __init__(self, network: Network) -> None:
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> "AsyncNetworkStream":
        addresses = await self._addresses(host, port)
        self._network.check(host, port, addresses)
        fault: httpcore2.NetworkError | httpcore2.TimeoutException | None = None
        for address in addresses:
            try:
                return await self._network.dial.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
                fault = fault or error
        raise fault or httpcore2.ConnectError(f"{host} has no address")

    async def sleep(self, seconds: float) -> None:
        await self._network.dial.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> tuple[IPAddress, ...]:
        literal = address_of(host)
        if literal is not None:
            return (literal,)
        try:
            return await self._network.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(f"{host} cannot be resolved") from error
