"""What a person granted to a project: `~/.maia/trust.json`, by resolved folder."""

from pathlib import Path
from typing import Any

from maia_kernel.paths import resolve
from maia_kernel.settings.reading import Warn, read_object


def trust_file(home: Path) -> Path:
    """Where grants are kept."""
    return home / ".maia" / "trust.json"


def granted_rules(folder: Path, home: Path, warn: Warn) -> frozenset[str]:
    """The allow rules of project files in `folder` that the person granted."""
    data = read_object(trust_file(home), warn) or {}
    return frozenset(_rules(data, folder))


def with_grant(data: dict[str, Any], folder: Path, rule: str) -> dict[str, Any]:
    """`data` of a trust file with one more rule granted to `folder`."""
    folders = data.get("folders")
    folders = dict(folders) if isinstance(folders, dict) else {}
    key = str(resolve(folder))
    entry = folders.get(key)
    entry = dict(entry) if isinstance(entry, dict) else {}
    rules = [*_rules(data, folder)]
    entry["allow"] = rules if rule in rules else [*rules, rule]
    return {**data, "folders": {**folders, key: entry}}


def _rules(data: dict[str, Any], folder: Path) -> list[str]:
    folders = data.get("folders")
    entry = folders.get(str(resolve(folder))) if isinstance(folders, dict) else None
    rules = entry.get("allow") if isinstance(entry, dict) else None
    return [rule for rule in rules if isinstance(rule, str)] if isinstance(rules, list) else []
