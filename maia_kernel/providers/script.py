"""The file format of `scripted:FILE`, read and checked; `scripted` describes it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

import yaml

from maia_kernel import paths
from maia_kernel.errors import ModelNotFound, ProtocolFault
from maia_kernel.providers.base import Capabilities, StopReason
from maia_kernel.texts import text
from maia_kernel.usage import Usage

NAME = "scripted"

_ENTRY_KEYS = {"expect", "reply", "usage", "stop"}
_FILE_KEYS = {"entries", "capabilities", "loop"}
_PACE_KEYS = {"chunks", "seconds", "repeat"}
_ITEM_KEYS: Mapping[str, set[str]] = {
    "text": _PACE_KEYS,
    "thinking": {*_PACE_KEYS, "signature"},
    "redacted_thinking": set(),
    "tool_use": {"chunks", "seconds"},
    "notice": set(),
    "delay": set(),
    "fault": set(),
}
_EXPECT_KEYS = {
    "contains",
    "not_contains",
    "tool_result",
    "is_error",
    "tools",
    "not_tools",
    "system",
    "images",
    "messages",
}


@dataclass(frozen=True, slots=True)
class Script:
    """A file that was read and found well formed; `entries` are plain YAML mappings."""

    file: Path
    entries: tuple[Mapping[str, Any], ...]
    capabilities: Capabilities = field(default_factory=Capabilities)
    loop: bool = False


def read_script(file: Path, *, cwd: Path | None = None) -> Script:
    """The script in `file`.

    Raises:
        ModelNotFound: it cannot be read.
        ProtocolFault: it is not a script; the message names the entry and what is wrong.
    """
    shown = paths.shown(file, cwd)
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or type(error).__name__
        line = text("providers.scripted.missing", file=shown, cause=cause)
        raise ModelNotFound(line, provider=NAME) from error
    except yaml.YAMLError as error:
        raise _malformed(shown, "YAML", str(error)) from error
    if not isinstance(data, dict):
        data = {"entries": data}
    for place, fault in _faults_of(data):
        raise _malformed(shown, place, fault)
    capabilities = Capabilities(**data.get("capabilities") or {})
    return Script(file, tuple(data["entries"]), capabilities, bool(data.get("loop", False)))


def _malformed(file: str, place: str, fault: str) -> ProtocolFault:
    line = text("providers.scripted.malformed", file=file, place=place, fault=fault)
    return ProtocolFault(line, provider=NAME)


def _faults_of(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _unknown_keys("top level", data, _FILE_KEYS)
    known = {field.name for field in fields(Capabilities)}
    yield from _unknown_keys("capabilities", data.get("capabilities") or {}, known)
    if not isinstance(data.get("entries"), list):
        yield "top level", "entries is not a list"
        return
    for number, entry in enumerate(data["entries"], start=1):
        yield from _entry_faults(f"entry {number}", entry)


def _entry_faults(place: str, entry: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(entry, dict):
        yield place, "not a mapping with reply"
        return
    yield from _unknown_keys(place, entry, _ENTRY_KEYS)
    expect = entry.get("expect") or {}
    if not isinstance(expect, str):
        yield from _unknown_keys(f"{place}, expect", expect, _EXPECT_KEYS)
    usage_fields = {field.name for field in fields(Usage)}
    yield from _unknown_keys(f"{place}, usage", entry.get("usage") or {}, usage_fields)
    if "stop" in entry and entry["stop"] not in get_args(StopReason):
        yield place, f"stop is none of {', '.join(get_args(StopReason))}"
    if not isinstance(entry.get("reply", []), list | str):
        yield place, "reply is not a list"
        return
    for item in items(entry):
        yield from _item_faults(f"{place}, reply", item)


def _item_faults(place: str, item: Any) -> Iterator[tuple[str, str]]:
    kinds = [kind for kind in _ITEM_KEYS if isinstance(item, dict) and kind in item]
    if len(kinds) != 1:
        yield place, f"an item is exactly one of {', '.join(_ITEM_KEYS)}"
        return
    kind = kinds[0]
    yield from _unknown_keys(f"{place}, {kind}", item, {kind, *_ITEM_KEYS[kind]})
    if kind == "tool_use":
        call = item[kind]
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            yield place, "a tool_use needs a name"
        else:
            yield from _unknown_keys(f"{place}, tool_use", call, {"name", "input", "id", "raw"})


def _unknown_keys(place: str, mapping: Any, known: set[str]) -> Iterator[tuple[str, str]]:
    if not isinstance(mapping, dict):
        yield place, "not a mapping"
        return
    unknown = sorted(str(key) for key in mapping if key not in known)
    if unknown:
        yield place, f"unknown {', '.join(unknown)} (known: {', '.join(sorted(known))})"


def items(entry: Mapping[str, Any]) -> list[Any]:
    """The items of an entry's reply; plain strings are text items."""
    reply = entry.get("reply") or []
    items = [reply] if isinstance(reply, str) else reply
    return [{"text": item} if isinstance(item, str) else item for item in items]
