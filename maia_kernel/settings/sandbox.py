"""The key `sandbox` of `settings.json`: the public names, single values by rank, lists that add up."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from maia_kernel.paths import shown
from maia_kernel.sandbox.values import SandboxSettings
from maia_kernel.settings import kinds
from maia_kernel.settings.active import passes_json
from maia_kernel.settings.collect import Collected
from maia_kernel.settings.layers import Layer
from maia_kernel.settings.reading import warn_unknown
from maia_kernel.texts import text

_FLAGS = {
    "enabled": "enabled",
    "autoAllowBashIfSandboxed": "auto_allow",
    "autoAllow": "auto_allow",
    "allowUnsandboxedCommands": "allow_unsandboxed",
}
_FILESYSTEM = {
    "allowWrite": "allow_write",
    "denyWrite": "deny_write",
    "allowRead": "allow_read",
    "denyRead": "deny_read",
}
_NETWORK = {"allowedDomains": "allowed_domains", "deniedDomains": "denied_domains"}
_DOMAIN = re.compile(r"(?:\*\.)?[a-z0-9](?:[a-z0-9.\-]*[a-z0-9])?")
# Of other programs, known so not warned about; nothing of theirs would let more through here.
_ELSEWHERE = {
    "": {"excludedCommands", "filesystem", "network", "failIfUnavailable", "ignoreViolations"}
    | {"enableWeakerNestedSandbox", "enableWeakerNetworkIsolation"},
    "filesystem.": {"allowManagedReadPathsOnly"},
    "network.": {"allowUnixSockets", "allowAllUnixSockets", "allowLocalBinding", "httpProxyPort"}
    | {"socksProxyPort", "allowManagedDomainsOnly", "allowMachLookup"},
}


def read_sandbox(data: Any, layer: Layer, rank: int, into: Collected) -> None:
    """Take what one file says about the sandbox; what cannot be used is a warning."""
    whole = _table(data, "sandbox", layer, into)
    _unknown(whole, {*_FLAGS}, "", layer, into)
    found = {
        key: value
        for key, value in whole.items()
        if passes_json(into, layer, "sandbox", f"sandbox.{key}", value)
    }
    for key, name in _FLAGS.items():
        if found.get(key) is not None:
            into.check(
                f"sandbox.{name}",
                found[key],
                kinds.flag,
                rank=rank,
                origin=shown(layer.path),
                key=f"sandbox.{key}",
            )
    _add("excluded", found.get("excludedCommands"), "excludedCommands", kinds.texts, layer, into)
    files = _table(found.get("filesystem"), "sandbox.filesystem", layer, into)
    _unknown(files, {*_FILESYSTEM}, "filesystem.", layer, into)
    for key, name in _FILESYSTEM.items():
        _add(name, files.get(key), f"filesystem.{key}", _paths(layer, into), layer, into)
    network = _table(found.get("network"), "sandbox.network", layer, into)
    _unknown(network, {*_NETWORK}, "network.", layer, into)
    for key, name in _NETWORK.items():
        _add(name, network.get(key), f"network.{key}", _domains, layer, into)


def sandbox_settings(heap: Collected) -> SandboxSettings:
    """The values of every file together."""
    found: dict[str, Any] = {
        field.name: heap.value(f"sandbox.{field.name}")
        for field in fields(SandboxSettings)
        if heap.value(f"sandbox.{field.name}") is not None
    }
    found |= {name: tuple(dict.fromkeys(values)) for name, values in heap.sandbox.items()}
    return SandboxSettings(**found)


def _add(
    name: str,
    value: Any,
    key: str,
    kind: Callable[[Any], tuple[Any, ...]],
    layer: Layer,
    into: Collected,
) -> None:
    if value is None:
        return
    try:
        into.sandbox.setdefault(name, []).extend(kind(value))
    except (ValueError, RuntimeError) as error:  # the latter is pathlib's word for "~nobody"
        where = {"file": shown(layer.path), "setting": f"sandbox.{key}"}
        into.warn(text("settings.bad_value", expected=error, **where))


def _paths(layer: Layer, into: Collected) -> Callable[[Any], tuple[Path, ...]]:
    """`/` and `//` absolute, `~/` home, all else from the file's folder; no globs."""

    def check(value: Any) -> tuple[Path, ...]:
        return tuple(_path(written, layer, into) for written in kinds.texts(value))

    return check


def _path(written: str, layer: Layer, into: Collected) -> Path:
    whole = written.removesuffix("/**")
    if set(whole) & set("*?[") or "\x00" in whole:
        raise ValueError(text("settings.kind.plain_path"))
    if whole == "~" or whole.startswith("~/"):
        whole = f"{into.home}{whole[1:]}"
    base = into.cwd if layer.of_project else layer.folder
    return Path(
        os.path.normpath(base / f"/{whole.lstrip('/')}" if whole.startswith("/") else base / whole)
    )


def _domains(value: Any) -> tuple[str, ...]:
    names = tuple(name.strip().casefold() for name in kinds.texts(value))
    if not all(_DOMAIN.fullmatch(name) for name in names):
        raise ValueError(text("settings.kind.domains"))
    return names


def _table(value: Any, key: str, layer: Layer, into: Collected) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    expected = text("settings.kind.object")
    into.warn(text("settings.bad_value", file=shown(layer.path), setting=key, expected=expected))
    return {}


def _unknown(
    found: Mapping[str, Any], known: set[str], prefix: str, layer: Layer, into: Collected
) -> None:
    if not layer.foreign:
        names = frozenset(known | _ELSEWHERE[prefix])
        warn_unknown(dict(found), names, layer.path, into.warn, prefix=f"sandbox.{prefix}")
