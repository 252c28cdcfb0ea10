"""Families of OpenAI-compatible servers: the address each listens on."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit


@cache
def server_families() -> Mapping[str, str]:
    """Family -> default address of its API."""
    source = files("maia_kernel.providers") / "servers.toml"
    table: dict[str, dict[str, str]] = tomllib.loads(source.read_text(encoding="utf-8"))
    return {family: row["url"] for family, row in table.items()}


def server_url(family: str, written: str) -> str:
    """The address to use: the family's own if none is written, its path if only a host is."""
    default = server_families().get(family, server_families()["llamacpp"])
    if not written:
        return default
    path = urlsplit(written).path.strip("/")
    return written.rstrip("/") if path else written.rstrip("/") + urlsplit(default).path
