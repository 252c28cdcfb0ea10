"""Settings files into the heap: `config.json` and `settings.json`, own and foreign."""

from pathlib import Path
from typing import Any

from maia_kernel.paths import expand, shown
from maia_kernel.settings import kinds, schema
from maia_kernel.settings.collect import FILES, MANAGED, Collected
from maia_kernel.settings.layers import Layer
from maia_kernel.settings.reading import read_object, warn_unknown
from maia_kernel.settings.rule_lists import read_rule_lists
from maia_kernel.settings.trust import granted_rules
from maia_kernel.settings.values import LoadedFile
from maia_kernel.texts import text


def read_layers(found: tuple[Layer, ...], into: Collected) -> None:
    """Read every file of `found`; what cannot be used becomes a warning."""
    for place, layer in enumerate(found):
        data = read_object(layer.path, into.warn)
        if data is None:
            continue
        rank = MANAGED if layer.kind == "managed" else FILES + place
        if layer.form == "config":
            _read_config(data, layer, rank, into)
        else:
            _read_settings(data, layer, rank, into)


def _read_config(data: dict[str, Any], layer: Layer, rank: int, into: Collected) -> None:
    if into.bare and layer.of_project:
        return
    into.files.append(LoadedFile(layer.path))
    file = shown(layer.path)
    known = frozenset(key.partition(".")[0] for key in schema.CONFIG)
    warn_unknown(data, known, layer.path, into.warn)
    held = schema.CONFIG_TRUSTED & data.keys() if _is_held(layer, into) else frozenset()
    if held:
        _warn_held(layer, len(held), held, into)
    data = {key: value for key, value in data.items() if key not in held}
    for group in schema.CONFIG_GROUPS & data.keys():
        _check_group(group, data, layer, into)
    for key, (name, kind) in schema.CONFIG.items():
        value = _nested(data, key)
        if value is not None and name:
            into.check(name, value, kind, rank=rank, origin=file, key=key)


def _check_group(group: str, data: dict[str, Any], layer: Layer, into: Collected) -> None:
    if isinstance(data[group], dict):
        names = (key.partition(".")[2] for key in schema.CONFIG if key.startswith(f"{group}."))
        warn_unknown(data[group], frozenset(names), layer.path, into.warn, prefix=f"{group}.")
    else:
        expected = text("settings.kind.object")
        file = shown(layer.path)
        into.warn(text("settings.bad_value", file=file, setting=group, expected=expected))


def _read_settings(data: dict[str, Any], layer: Layer, rank: int, into: Collected) -> None:
    permissions = _permissions(data, layer, into)
    held = _read_rules(permissions, layer, into)
    if permissions.get("disableBypassPermissionsMode") == "disable":
        into.no_bypass = True
    if "disable" in (permissions.get("disableAutoMode"), data.get("disableAutoMode")):
        into.no_auto = True
    if layer.kind == "managed":
        into.managed_rules_only = data.get("allowManagedPermissionRulesOnly") is True
    if into.bare and layer.of_project:
        return
    file = shown(layer.path)
    for key, (name, kind) in schema.SETTINGS.items():
        if data.get(key) is not None:
            into.check(name, data[key], kind, rank=rank, origin=file, key=key)
    _read_asking(permissions, layer, rank, into)
    widening = _read_widening(data, permissions, layer, rank, into)
    if held or widening:
        names = ({"permissions.allow"} if held else set()) | set(widening)
        _warn_held(layer, held + len(widening), names, into)


def _permissions(data: dict[str, Any], layer: Layer, into: Collected) -> dict[str, Any]:
    if not layer.foreign:
        known = schema.SETTINGS_ELSEWHERE | schema.SETTINGS.keys()
        warn_unknown(data, known, layer.path, into.warn)
    permissions = data.get("permissions", {})
    if not isinstance(permissions, dict):
        expected = text("settings.kind.object")
        file = shown(layer.path)
        into.warn(text("settings.bad_value", file=file, setting="permissions", expected=expected))
        return {}
    if not layer.foreign:
        known = schema.PERMISSIONS
        warn_unknown(permissions, known, layer.path, into.warn, prefix="permissions.")
    return permissions


def _read_rules(permissions: dict[str, Any], layer: Layer, into: Collected) -> int:
    """Take the rules that count; gives how many allow rules wait for trust."""
    granted = None
    if _is_held(layer, into):
        granted = granted_rules(layer.folder, into.home, into.warn)
    found = read_rule_lists(permissions, layer, granted=granted, warn=into.warn)
    rules, held = found.rules, found.held
    if into.bare and layer.of_project:
        # Bare mode takes nothing from a project that would let more run; its no still counts.
        rules, held = tuple(rule for rule in rules if rule.behavior != "allow"), 0
    into.rules += rules
    counts = {name: sum(r.behavior == name for r in rules) for name in ("allow", "ask", "deny")}
    into.files.append(LoadedFile(layer.path, **counts))
    return held


def _read_asking(permissions: dict[str, Any], layer: Layer, rank: int, into: Collected) -> None:
    file = shown(layer.path)
    asks = permissions.get("askReads")
    # A project may make reading ask; it may not lift the person's own word.
    if asks is not None and not (_is_held(layer, into) and asks is not True):
        key = "permissions.askReads"
        into.check("ask_reads", asks, kinds.flag, rank=rank, origin=file, key=key)
    if permissions.get("askTimeout") is not None:
        value, key = permissions["askTimeout"], "permissions.askTimeout"
        into.check("ask_timeout", value, kinds.seconds, rank=rank, origin=file, key=key)


def _read_widening(
    data: dict[str, Any], permissions: dict[str, Any], layer: Layer, rank: int, into: Collected
) -> tuple[str, ...]:
    """What widens rights or changes children's environment; gives the keys that wait for trust."""
    present = {
        "permissions.defaultMode": permissions.get("defaultMode"),
        "permissions.additionalDirectories": permissions.get("additionalDirectories"),
        "env": data.get("env"),
    }
    keys = tuple(key for key, value in present.items() if value not in (None, [], {}))
    if _is_held(layer, into):
        return keys
    for key in keys:
        match key:
            case "permissions.defaultMode":
                _read_mode(present[key], layer, rank, into)
            case "env":
                into.check(
                    f"env:{rank}",
                    present[key],
                    _variables,
                    rank=rank,
                    origin=shown(layer.path),
                    key=key,
                )
                # Files come highest first, so what is there already stays.
                into.env = {**into.value(f"env:{rank}", {}), **into.env}
            case _:
                _read_folders(present[key], layer, into)
    return ()


def _read_mode(value: Any, layer: Layer, rank: int, into: Collected) -> None:
    file = shown(layer.path)
    if value == "bypassPermissions":
        into.warn(text("settings.bypass_flag", source=file))
        return
    if value == "auto" and layer.of_project:
        into.warn(text("settings.auto_project", source=file))
        return
    key = "permissions.defaultMode"
    into.check("mode", value, kinds.mode, rank=rank, origin=file, key=key)


def _read_folders(value: Any, layer: Layer, into: Collected) -> None:
    """Relative folders count from the folder of a project's file, else from the working folder."""
    file, key = shown(layer.path), "permissions.additionalDirectories"
    try:
        written = kinds.texts(value)
    except ValueError as error:
        into.warn(text("settings.bad_value", file=file, setting=key, expected=error))
        return
    base = layer.folder if layer.of_project else into.cwd
    for entry in written:
        try:
            folder = expand(_at_home(entry, into), base)
            there = folder.is_dir()
        except (ValueError, RuntimeError):  # a NUL; the latter is pathlib's word for "~nobody"
            folder, there = Path(entry), False
        if there:
            into.additional.append(folder)
        else:
            into.warn(text("settings.no_additional", file=file, setting=key, folder=entry))


def _at_home(written: str, into: Collected) -> str:
    return f"{into.home}{written[1:]}" if written == "~" or written.startswith("~/") else written


def _variables(value: Any) -> dict[str, str]:
    """Environment variables: texts; numbers and booleans as people write them in JSON."""
    if not isinstance(value, dict):
        raise ValueError(text("settings.kind.mapping"))
    plain: dict[str, str] = {}
    for name, entry in value.items():
        if isinstance(entry, bool):
            entry = str(entry).lower()
        if not isinstance(entry, str | int | float) or "=" in name or "\x00" in f"{name}{entry}":
            raise ValueError(text("settings.kind.mapping"))
        plain[name] = str(entry)
    return plain


def _is_held(layer: Layer, into: Collected) -> bool:
    return layer.of_project and not into.trusted


def _warn_held(
    layer: Layer, number: int, names: set[str] | frozenset[str], into: Collected
) -> None:
    keys = ", ".join(sorted(names))
    into.warn(text("settings.untrusted", file=shown(layer.path), count=number, keys=keys))


def _nested(data: dict[str, Any], key: str) -> Any:
    value: Any = data
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
