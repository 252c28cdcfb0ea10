"""Custom tools: `.maia/tools/NAME/TOOL.json` of the working folder, once the person trusted it.

    {"name": "deploy", "description": "...", "input_schema": {"type": "object", ...},
     "command": ["./deploy.sh", "{env}", "--tag={tag}"], "timeout": 120, "read_only": false,
     "output": "text"}

`{field}` in an argument stands for a field of the input and never makes more than one argument of a text.
Without any, the program gets the input as JSON on stdin. `"shell": true` takes one bash command instead.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from maia_kernel.extensions.input_schema import SchemaFault, check_schema
from maia_kernel.paths import resolve, shown
from maia_kernel.permissions.rules import ALIASES, KNOWN_TOOLS
from maia_kernel.settings.items import ProjectItem
from maia_kernel.settings.reading import UnfitError, Warn, content, parsed_object, warn_unknown
from maia_kernel.texts import text

Output = Literal["text", "json"]
DEFAULT_TIMEOUT = 120.0
LONGEST_TIMEOUT = 600.0
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
RESERVED = frozenset(
    name.casefold() for name in (*KNOWN_TOOLS, *ALIASES, "MultiEdit", "AgentOutput")
)
"""Names of MAIA's own tools, in lower case."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_KEYS = frozenset(
    {"name", "description", "input_schema", "command", "timeout", "read_only", "output", "shell"}
)
_DESCRIPTION_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class CustomTool:
    """A checked TOOL.json. `timeout` is in seconds; with `shell`, `command` is one bash command.

    `read_only` is what the project says of itself.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    command: tuple[str, ...]
    file: Path
    shell: bool = False
    timeout: float = DEFAULT_TIMEOUT
    read_only: bool = False
    output: Output = "text"

    @property
    def properties(self) -> Mapping[str, Any]:
        """The schema's properties by name."""
        found: Mapping[str, Any] = self.input_schema.get("properties", {})
        return found


class _Fault(Exception):
    """What is wrong with a TOOL.json: `key` is the field that it is about."""

    def __init__(self, key: str, cause: str) -> None:
        super().__init__(cause)
        self.key = key


def fault_of_name(name: str) -> str | None:
    """Why a tool of a project or a person cannot be called `name`, in one line; None when it can."""
    if not _NAME.fullmatch(name):
        return text("extensions.tool.bad_name", name=name)
    if name.casefold() in RESERVED or name.startswith("mcp__"):
        return text("extensions.tool.reserved", name=name)
    return None


def load(items: Iterable[ProjectItem], cwd: Path, warn: Warn) -> tuple[CustomTool, ...]:
    """The tools of the trusted `items`, sorted by name; what cannot be used is one warning each."""
    found: dict[str, CustomTool] = {}
    for item in sorted(items, key=lambda item: item.name):
        tool = _load(item, cwd, warn)
        if tool is None:
            continue
        first = found.setdefault(tool.name, tool)
        if first is not tool:
            where = {"file": shown(tool.file, cwd), "first": shown(first.file, cwd)}
            warn(text("extensions.tool.double", name=tool.name, **where))
    return tuple(found[name] for name in sorted(found))


def _load(item: ProjectItem, cwd: Path, warn: Warn) -> CustomTool | None:
    file = shown(item.file, cwd)
    if not resolve(item.file).is_relative_to(resolve(cwd)):
        warn(text("extensions.tool.outside", file=file))
        return None
    try:
        raw = content(item.file)
    except UnfitError as fault:
        warn(str(fault))
        return None
    except OSError as error:
        warn(text("settings.unreadable", file=file, cause=error.strerror or "OSError"))
        return None
    if raw is None or not item.is_of(raw):
        warn(text("extensions.tool.changed", file=file))
        return None
    data = parsed_object(raw, item.file, warn)
    if data is None:
        return None
    warn_unknown(data, _KEYS, item.file, warn)
    try:
        return _read(data, item.file)
    except _Fault as fault:
        line = _line_of(fault.key, raw)
        warn(text("extensions.tool.broken", file=file, line=line, key=fault.key, cause=fault))
        return None


def _line_of(key: str, raw: bytes) -> int:
    """The line where a field of the file stands; the first where it is missing."""
    return raw[: max(0, raw.find(f'"{key}"'.encode()))].count(b"\n") + 1


def _read(data: Mapping[str, Any], file: Path) -> CustomTool:
    name = data.get("name", file.parent.name)
    fault = fault_of_name(name) if isinstance(name, str) else text("extensions.kind.text")
    if fault is not None:
        raise _Fault("name", fault)
    description = data.get("description")
    if not isinstance(description, str) or not description.strip():
        raise _Fault("description", text("extensions.kind.text"))
    schema = _schema(data.get("input_schema", {"type": "object", "properties": {}}))
    shell = _flag(data, "shell")
    output = data.get("output", "text")
    if output not in ("text", "json"):
        raise _Fault("output", text("extensions.kind.output"))
    return CustomTool(
        name=name,
        description=description.strip()[:_DESCRIPTION_LIMIT],
        input_schema=schema,
        command=_command(data.get("command"), schema, shell=shell),
        file=file,
        shell=shell,
        timeout=_timeout(data.get("timeout", DEFAULT_TIMEOUT)),
        read_only=_flag(data, "read_only"),
        output=output,
    )


def _schema(schema: Any) -> Mapping[str, Any]:
    try:
        return check_schema(schema)
    except SchemaFault as fault:
        raise _Fault("input_schema", str(fault)) from None


def _flag(data: Mapping[str, Any], key: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise _Fault(key, text("extensions.kind.flag"))
    return value


def _timeout(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise _Fault("timeout", text("extensions.kind.seconds", most=int(LONGEST_TIMEOUT)))
    return min(float(value), LONGEST_TIMEOUT)


def _command(value: Any, schema: Mapping[str, Any], *, shell: bool) -> tuple[str, ...]:
    if shell and isinstance(value, str):
        value = [value]
    fits = isinstance(value, list) and all(isinstance(part, str) for part in value)
    if not fits or not value or not value[0].strip() or "\0" in json.dumps(value):
        raise _Fault("command", text("extensions.kind.command"))
    if shell:
        if len(value) != 1:
            raise _Fault("command", text("extensions.tool.one_command"))
        return tuple(value)
    if PLACEHOLDER.search(value[0]):
        raise _Fault("command", text("extensions.tool.program"))
    known = schema.get("properties", {})
    for name in (name for part in value for name in PLACEHOLDER.findall(part)):
        if name not in known:
            raise _Fault("command", text("extensions.tool.placeholder", name=name))
    return tuple(value)
