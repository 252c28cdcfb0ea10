"""Addresses of pages, read once and strictly: what is asked about is what is fetched."""

import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from maia_kernel import hosts

_PORTS = {"http": 80, "https": 443}
_LONGEST = 8_000
# Parsers differ over these: some drop them, some end the host at them.
_UNCLEAR = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
_SAFE = "/%:@!$&'()*+,;=~-._?"


@dataclass(frozen=True, slots=True)
class Url:
    """An http(s) address without user, password and fragment. `host` is in normal form.

    `target` is path and query, percent-encoded.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def place(self) -> str:
        """`host:port`."""
        return hosts.place(self.host, self.port)

    @property
    def authority(self) -> str:
        """The host as the `Host` header says it: the port where it is not the scheme's own."""
        if self.port == _PORTS[self.scheme]:
            return f"[{self.host}]" if ":" in self.host else self.host
        return self.place

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse(written: str) -> Url:
    """The address that `written` is.

    Raises:
        ValueError: it is none that may be fetched; the message says why, without what was written.
    """
    stripped = written.strip()
    if len(stripped) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST:,} characters")
    if _UNCLEAR.search(stripped):
        raise ValueError("it holds spaces, control characters or backslashes; percent-encode them")
    try:
        parts = urlsplit(stripped)
        port = parts.port
    except ValueError:
        raise ValueError("it is not a well-formed address") from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise ValueError("only http:// and https:// addresses can be fetched")
    if "@" in parts.netloc:
        raise ValueError("it holds a user name or password, which are never sent")
    if port == 0:
        raise ValueError("its port is not between 1 and 65535")
    name = re.sub(r":\d*$", "", parts.netloc)
    if not name:
        raise ValueError("it names no host")
    path = quote(parts.path or "/", safe=_SAFE)
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    return Url(scheme, hosts.normal_host(name), port or _PORTS[scheme], path + query)


def joined(base: Url, location: str) -> Url:
    """Where a `Location` header leads from `base`; raises as `parse`."""
    if _UNCLEAR.search(location.strip()):
        # Servers do send spaces and raw UTF-8 here; in a path they mean only themselves.
        location = quote(location.strip(), safe=f"{_SAFE}#[]")
    try:
        return parse(urljoin(str(base), location.strip()))
    except ValueError as error:
        raise ValueError(str(error)) from None
