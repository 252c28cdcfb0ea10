"""Settings files into the heap: `config.json` and `settings.json`, own and foreign."""

from pathlib import Path
from typing import Any

from maia_kernel.paths import expand, resolve, shown
from maia_kernel.permissions import Rule
from maia_kernel.settings import kinds, schema
from maia_kernel.settings.active import bring_to_gate, passes_json, plays_a_file
from maia_kernel.settings.collect import FILES, MANAGED, Collected
from maia_kernel.settings.dotenv import shown_value
from maia_kernel.settings.layers import Layer
from maia_kernel.settings.reading import read_object, warn_unknown
from maia_kernel.settings.rule_lists import read_rule_lists
from maia_kernel.settings.sandbox import read_sandbox
from maia_kernel.settings.values import LoadedFile
from maia_kernel.texts import text


def read_layers(found: tuple[Layer, ...], sound: frozenset[Path], into: Collected) -> None:
    """Read every file of `found`; what cannot be used becomes a warning.

    `sound` are the folders of project files that belong to the project.
    """
    for place, layer in enumerate(found):
        if layer.of_project and not _is_own(layer, sound, into):
            continue
        data = read_object(layer.path, into.warn)
        if data is None:
            continue
        rank = MANAGED if layer.kind == "managed" else FILES + place
        if layer.form == "config":
            _read_config(data, layer, rank, into)
        else:
            _read_settings(data, layer, rank, into)


def _is_own(layer: Layer, sound: frozenset[Path], into: Collected) -> bool:
    base = layer.path.parent
    if base not in sound:
        return False
    if resolve(layer.path).is_relative_to(resolve(base)):
        return True
    into.warn(text("settings.leads_out", file=shown(layer.path)))
    return False


def _read_config(data: dict[str, Any], layer: Layer, rank: int, into: Collected) -> None:
    if into.bare and layer.of_project:
        return
    into.files.append(LoadedFile(layer.path))
    file = shown(layer.path)
    known = frozenset(key.partition(".")[0] for key in schema.CONFIG)
    warn_unknown(data, known, layer.path, into.warn)
    data = {key: value for key, value in data.items() if _config_counts(key, value, layer, into)}
    for group in schema.CONFIG_GROUPS & data.keys():
        _check_group(group, data, layer, into)
    for key, (name, kind) in schema.CONFIG.items():
        value = _nested(data, key)
        if value is not None and name:
            into.check(name, value, kind, rank=rank, origin=file, key=key)


def _config_counts(key: str, value: Any, layer: Layer, into: Collected) -> bool:
    if key in schema.CONFIG_TRUSTED:
        return passes_json(into, layer, "config", key, value)
    return not plays_a_file(key, value) or passes_json(into, layer, "model", key, value)


def _check_group(group: str, data: dict[str, Any], layer: Layer, into: Collected) -> None:
    """Warn of what nothing reads below `group`, a key with dots, and below the groups in it."""
    value = _nested(data, group)
    if isinstance(value, dict):
        inner = [
            key.removeprefix(f"{group}.") for key in schema.CONFIG if key.startswith(f"{group}.")
        ]
        names = frozenset(key.partition(".")[0] for key in inner)
        warn_unknown(value, names, layer.path, into.warn, prefix=f"{group}.")
        for name in {key.partition(".")[0] for key in inner if "." in key} & value.keys():
            _check_group(f"{group}.{name}", data, layer, into)
    else:
        expected = text("settings.kind.object")
        file = shown(layer.path)
        into.warn(text("settings.bad_value", file=file, setting=group, expected=expected))


def _read_settings(data: dict[str, Any], layer: Layer, rank: int, into: Collected) -> None:
    permissions = _permissions(data, layer, into)
    _read_rules(permissions, layer, into)
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
        value = data.get(key)
        if value is None or (
            plays_a_file(key, value) and not passes_json(into, layer, "model", key, value)
        ):
            continue
        into.check(name, value, kind, rank=rank, origin=file, key=key)
    _read_asking(permissions, layer, rank, into)
    _read_mode(permissions.get("defaultMode"), layer, rank, into)
    _read_folders(permissions.get("additionalDirectories"), layer, into)
    _read_env(data.get("env"), layer, rank, into)
    read_sandbox(data.get("sandbox"), layer, rank, into)
    bring_to_gate(data, layer, into)


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


def _read_rules(permissions: dict[str, Any], layer: Layer, into: Collected) -> None:
    """Take the rules that count."""

    def counts(rule: Rule) -> bool:
        # Bare mode takes nothing from a project that would let more run; its no still counts.
        if into.bare and layer.of_project:
            return False
        return into.passes(layer, "allow", rule.text, None)

    rules = read_rule_lists(permissions, layer, counts=counts, warn=into.warn)
    into.rules += rules
    counted = {name: sum(r.behavior == name for r in rules) for name in ("allow", "ask", "deny")}
    into.files.append(LoadedFile(layer.path, **counted))


def _read_asking(permissions: dict[str, Any], layer: Layer, rank: int, into: Collected) -> None:
    file = shown(layer.path)
    asks = permissions.get("askReads")
    key = "permissions.askReads"
    # A project may make reading ask; it may not lift the person's own word.
    if asks is True or (asks is not None and passes_json(into, layer, "setting", key, asks)):
        into.check("ask_reads", asks, kinds.flag, rank=rank, origin=file, key=key)
    if permissions.get("askTimeout") is not None:
        value, key = permissions["askTimeout"], "permissions.askTimeout"
        into.check("ask_timeout", value, kinds.seconds, rank=rank, origin=file, key=key)


def _read_mode(value: Any, layer: Layer, rank: int, into: Collected) -> None:
    if value is None:
        return
    file = shown(layer.path)
    if value == "bypassPermissions":
        into.warn(text("settings.bypass_flag", source=file))
        return
    if value == "auto" and layer.of_project:
        into.warn(text("settings.auto_project", source=file))
        return
    key = "permissions.defaultMode"
    # No mode is stricter than plan; any other may be wider than the person's own.
    if value == "plan" or passes_json(into, layer, "mode", key, value):
        into.check("mode", value, kinds.mode, rank=rank, origin=file, key=key)


def _read_env(value: Any, layer: Layer, rank: int, into: Collected) -> None:
    if value is None:
        return
    name = f"env:{rank}"
    into.check(name, value, _variables, rank=rank, origin=shown(layer.path), key="env")
    for variable, written in into.value(name, {}).items():
        detail = f"{variable}={shown_value(variable, written)}"
        # Files come highest first, so what is there already stays.
        if into.passes(layer, "env", variable, written, detail):
            into.env.setdefault(variable, written)


def _read_folders(value: Any, layer: Layer, into: Collected) -> None:
    """Relative folders count from the folder of a project's file, else from the working folder."""
    if value is None:
        return
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
        if not there:
            into.warn(text("settings.no_additional", file=file, setting=key, folder=entry))
        elif into.passes(layer, "folders", entry, str(resolve(folder)), shown(resolve(folder))):
            into.additional.append(folder)


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


def _nested(data: dict[str, Any], key: str) -> Any:
    value: Any = data
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
