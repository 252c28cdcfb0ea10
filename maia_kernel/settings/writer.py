"""Writing on the person's word: a rule that always allows, the model that was chosen."""

import json
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from maia_kernel.errors import SettingsError
from maia_kernel.paths import resolve, shown
from maia_kernel.permissions import RuleError, RuleSource, parse_rule
from maia_kernel.questions import RulePlace
from maia_kernel.settings.items import rule_item
from maia_kernel.settings.layers import leads_out, project_folders
from maia_kernel.settings.reading import read_object
from maia_kernel.settings.trust import trust_file, with_verdict
from maia_kernel.settings.values import Settings
from maia_kernel.texts import text

Change = Callable[[dict[str, Any]], dict[str, Any]]
_LOCK_SECONDS = 10.0


def rule_file(settings: Settings, place: RulePlace) -> Path:
    """The settings file of `place`: the working folder's local or shared one, or the user's."""
    if place == "user":
        return settings.home / ".maia" / "settings.json"
    name = "settings.local.json" if place == "local" else "settings.json"
    return settings.cwd / ".maia" / name


def allow_always(settings: Settings, *rules: str, place: RulePlace = "local") -> Path:
    """Write allow rules into a settings file, granted by the person.

    They count from the next start on; the grant of the working folder's files stands in
    `~/.maia/trust.json`.

    Raises:
        SettingsError: a file is broken, leads out of the project, or cannot be written. Nothing was
            changed then.
    """
    path = rule_file(settings, place)
    if place == "user":
        change_object(path, lambda data: _with_rules(data, rules, path))
        return path
    grants = trust_file(settings.home)
    # Through a link the rule could land in the person's own settings and count everywhere.
    if leads_out(path, (*project_folders(settings.cwd, settings.home), settings.cwd)):
        raise SettingsError(text("settings.leads_out", file=shown(path)))
    _readable(grants)
    change_object(path, lambda data: _with_rules(data, rules, path))
    items = [rule_item(_as_read(rule), file=path, folder=settings.cwd) for rule in rules]
    change_object(grants, lambda data: with_verdict(data, items, "trusted"), private=True)
    return path


def _as_read(rule: str) -> str:
    """`rule` as it will be named when it is read again: `Task(x)` is `Agent(x)`."""
    try:
        return parse_rule(rule, "allow", RuleSource("local", None, Path())).text
    except RuleError:
        return rule


def save_model(settings: Settings, spec: str) -> Path:
    """Write the model into `~/.maia/config.json` as the person's default.

    Raises:
        SettingsError: the file is broken or cannot be written.
    """
    path = settings.home / ".maia" / "config.json"
    change_object(path, lambda data: {**data, "model": spec})
    return path


def _with_rules(data: dict[str, Any], added: Sequence[str], path: Path) -> dict[str, Any]:
    permissions = data.get("permissions", {})
    allow = permissions.get("allow", []) if isinstance(permissions, dict) else None
    if not isinstance(allow, list):
        raise SettingsError(text("settings.write_shape", file=shown(path)))
    rules = [*allow, *(rule for rule in dict.fromkeys(added) if rule not in allow)]
    return {**data, "permissions": {**permissions, "allow": rules}}


def change_object(path: Path, change: Change, *, private: bool = False) -> None:
    """Read, change and replace a JSON file while no other process does; `private`: mode 0600.

    Raises:
        SettingsError: the file is broken or cannot be written. Nothing was changed then.
    """
    target = resolve(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock", timeout=_LOCK_SECONDS):
            data = change(_readable(target))
            written = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
            _replace(target, written.encode(), private=private)
    except Timeout as error:
        raise SettingsError(text("settings.write_locked", file=shown(path))) from error
    except OSError as error:
        cause = error.strerror or "OSError"
        raise SettingsError(text("settings.write_failed", file=shown(path), cause=cause)) from error


def _readable(path: Path) -> dict[str, Any]:
    faults: list[str] = []
    data = read_object(path, faults.append)
    if faults:
        # Writing over a file that cannot be read would lose what the person has in it.
        raise SettingsError(faults[0])
    return data or {}


def _replace(path: Path, content: bytes, *, private: bool) -> None:
    mode = 0o600 if private else _mode(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777 if path.exists() else 0o644
