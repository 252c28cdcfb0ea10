"""`~/.maia/servers.json`: servers that speak a known protocol, by the name the person gives them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maia_kernel.paths import shown
from maia_kernel.settings import kinds
from maia_kernel.settings.reading import Warn, read_object, warn_unknown
from maia_kernel.settings.values import Secret, ServerSettings
from maia_kernel.texts import text

_NAME = re.compile(r"[A-Za-z0-9][\w.\-]*")
_RESERVED = ("anthropic", "openai", "local", "scripted")
_KEYS = frozenset({"family", "url", "key", "params"})
_OWN_FIELDS = ("model", "messages", "stream", "tools")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")


def read_servers(home: Path, environ: Mapping[str, str], warn: Warn) -> dict[str, ServerSettings]:
    """The person's servers; a `key` of the form `${NAME}` is taken from the environment."""
    path = home / ".maia" / "servers.json"
    servers: dict[str, ServerSettings] = {}
    for name, entry in (read_object(path, warn) or {}).items():
        if name.startswith("$"):
            continue
        try:
            servers[name] = _server(name, entry, environ, path, warn)
        except ValueError as error:
            warn(text("settings.bad_server", file=shown(path), name=name, cause=error))
    return servers


def named_variables(home: Path) -> frozenset[str]:
    """The variables from which the person's servers take their keys."""
    entries = (read_object(home / ".maia" / "servers.json", lambda _: None) or {}).values()
    keys = (entry.get("key") for entry in entries if isinstance(entry, dict))
    found = (_VARIABLE.fullmatch(key.strip()) for key in keys if isinstance(key, str))
    return frozenset(match[1] for match in found if match is not None)


def _server(
    name: str, entry: Any, environ: Mapping[str, str], path: Path, warn: Warn
) -> ServerSettings:
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise ValueError(text("settings.server.name"))
    table = kinds.table(entry)
    warn_unknown(table, _KEYS, path, warn, prefix=f"{name}.")
    params = dict(kinds.table(table.get("params", {})))
    for field in _OWN_FIELDS:
        if params.pop(field, None) is not None:
            warn(text("settings.server.param", file=shown(path), name=name, setting=field))
    if "url" not in table:
        raise ValueError(text("settings.server.url"))
    family = kinds.word(table.get("family", "openai"))
    return ServerSettings(family, kinds.url(table["url"]), _key(table.get("key"), environ), params)


def _key(value: Any, environ: Mapping[str, str]) -> Secret | None:
    if value in (None, ""):
        return None
    if not isinstance(value, str):
        # The value itself must not show up in a warning.
        raise ValueError(text("settings.server.key"))
    variable = _VARIABLE.fullmatch(value.strip())
    if variable is None:
        return Secret(value.strip())
    if not environ.get(variable[1]):
        raise ValueError(text("settings.server.no_variable", variable=variable[1]))
    return Secret(environ[variable[1]])
