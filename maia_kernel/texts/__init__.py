"""User-facing texts: one catalogue a language, one TOML file a room, looked up by dotted key.

`text("tools.read.missing", path=...)` reads `en/tools.toml`, table `read`, key `missing`. The language
is a context variable, so that two sessions of one process may differ. A key that a language lacks is
shown in English; a key that English lacks is a programming error and raises `KeyError`.
"""

import tomllib
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = ("en", "fr")

language: ContextVar[str] = ContextVar("language", default="en")


def text(key: str, /, **values: object) -> str:
    """The text of `key` in the current language, its `{placeholders}` filled from `values`."""
    template = _find(language.get(), key) or _find("en", key)
    if template is None:
        raise KeyError(f"no text {key!r} in the English catalogue")
    return template.format_map(values)


def catalogue(code: str) -> dict[str, str]:
    """Every key of language `code` with its template, flattened to dotted keys."""
    folder = files(__name__) / code
    rooms = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return {
        key: value
        for room in rooms
        for key, value in _flatten(_room(code, room.removesuffix(".toml")), room[:-5])
    }


def _find(code: str, key: str) -> str | None:
    room, *path = key.split(".")
    value: Any = _room(code, room)
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


@cache
def _room(code: str, room: str) -> dict[str, Any]:
    source = files(__name__) / code / f"{room}.toml"
    return tomllib.loads(source.read_text(encoding="utf-8")) if source.is_file() else {}


def _flatten(table: dict[str, Any], prefix: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in table.items():
        if isinstance(value, dict):
            rows += _flatten(value, f"{prefix}.{name}")
        else:
            rows.append((f"{prefix}.{name}", str(value)))
    return rows
