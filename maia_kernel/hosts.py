"""Host names in one normal form, for the rule that allows one and for the connection to it.

What two programs read differently is how a rule for one host comes to let another through. So there
is one reading: the host parser of the WHATWG URL standard (https://url.spec.whatwg.org/#host-parsing),
which is what browsers do.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import unquote

IPAddress = IPv4Address | IPv6Address

_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_LAST_IS_NUMBER = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)")
_LONGEST = 253


def normal_host(written: str) -> str:
    """`written` as everything here compares and connects to it.

    Lower case, IDNA in its ASCII form (full-width digits and dots are plain ones), no trailing dot;
    an IPv4 address in any of its spellings (`2130706433`, `0177.1`, `0x7f.1`) as four decimal numbers;
    an IPv6 address compressed and without brackets.

    Raises:
        ValueError: it is no host; the message says why.
    """
    if written.startswith("["):
        return str(_ipv6(written.removeprefix("[").removesuffix("]")))
    if ":" in written:
        return str(_ipv6(written))
    name = _ascii(unquote(written)).lower().removesuffix(".")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise ValueError("it is not a host name")
    return str(_ipv4(name)) if _LAST_IS_NUMBER.fullmatch(name) else name


def address_of(host: str) -> IPAddress | None:
    """The address that a host in normal form is; None for a name."""
    try:
        return IPv6Address(host) if ":" in host else IPv4Address(host)
    except AddressValueError:
        return None


def normal_place(written: str) -> str:
    """`host` or `host:port` in normal form; IPv6 in brackets where a port follows.

    Raises:
        ValueError: it is neither.
    """
    match = re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]+)(?::(\d{1,5}))?", written.strip())
    if match is None:
        return normal_host(written.strip())
    host = normal_host(match[1])
    if match[2] is None:
        return host
    port = int(match[2])
    if not 0 < port < 65_536:
        raise ValueError("its port is not between 1 and 65535")
    return place(host, port)


def place(host: str, port: int) -> str:
    """A host in normal form with its port: `example.com:80`, `[::1]:80`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _ascii(name: str) -> str:
    if name.isascii():
        return name
    import idna  # a large table, for the few hosts that need it

    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise ValueError("it is not an international host name") from error


def _ipv6(written: str) -> IPv6Address:
    if "%" in written:
        raise ValueError("an address with a zone belongs to this machine's own network")
    try:
        return IPv6Address(written)
    except AddressValueError as error:
        raise ValueError("it is not an IPv6 address") from error


def _ipv4(name: str) -> IPv4Address:
    """https://url.spec.whatwg.org/#concept-ipv4-parser, which is C's `inet_aton`."""
    numbers = [_number(part) for part in name.split(".")]
    *first, last = numbers
    if (
        len(numbers) > 4
        or any(number > 255 for number in first)
        or last >= 256 ** (5 - len(numbers))
    ):
        raise ValueError("it ends in a number but is not an IPv4 address")
    return IPv4Address(last + sum(n * 256 ** (3 - place) for place, n in enumerate(first)))


def _number(part: str) -> int:
    try:
        if part.startswith("0x"):
            return int(part[2:] or "0", 16)
        return int(part, 8) if len(part) > 1 and part.startswith("0") else int(part)
    except ValueError as error:
        raise ValueError("it ends in a number but is not an IPv4 address") from error
