"""Which network addresses a page may come from."""

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from maia_kernel.hosts import IPAddress

_GLOBAL = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
# The last four bytes are an IPv4 address: compatible, mapped, translated (RFC 4291, RFC 2765), NAT64.
_IPV4_AT_THE_END = (
    IPv6Network("::/96"),
    IPv6Network("::ffff:0:0/96"),
    IPv6Network("::ffff:0:0:0/96"),
    _NAT64,
)
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # the third quarter of an address, RFC 5214


def why_refused(address: IPAddress) -> str | None:
    """What `address` is (English, to be put after "is"), where no page may come from; else None.

    An IPv6 address that leads to an IPv4 one (mapped, 6to4, NAT64, ISATAP) is refused for
    either.
    """
    for network, why in _ranges():
        if address in network:
            return why
    if isinstance(address, IPv4Address):
        return None
    for inner in _embedded(address):
        why_inner = why_refused(inner)
        if why_inner is not None:
            return f"{why_inner} ({inner} inside it)"
    return None if address in _GLOBAL or address in _NAT64 else "a reserved address"


def _embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    if any(address in network for network in _IPV4_AT_THE_END):
        yield IPv4Address(int(address) & 0xFFFF_FFFF)
    if address.sixtofour is not None:
        yield address.sixtofour
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        yield IPv4Address(int(address) & 0xFFFF_FFFF)


@cache
def _ranges() -> tuple[tuple[IPv4Network | IPv6Network, str], ...]:
    data = tomllib.loads((files("maia_kernel.web") / "ranges.toml").read_text(encoding="utf-8"))
    return tuple(
        (ip_network(network), row["why"]) for row in data["range"] for network in row["networks"]
    )
