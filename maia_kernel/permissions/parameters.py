"""Parameter rules, `Tool(field:value)`: which field of a call's input they speak of.

They only deny or ask. `value` is exact but for `*`; a field that was not given never matches.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FIELD = re.compile(r"(-?[A-Za-z_][\w.-]*)\s*:\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A field by name, and the pattern for its value."""

    field: str
    value: str


def read_parameter(tool: str, specifier: str) -> Parameter | None:
    """The parameter that `specifier` speaks of; None where it is of the tool's own kind.

    Of a tool that is not in the tables (a server's, a project's) any `name:value` is one.
    """
    found = _FIELD.fullmatch(specifier)
    if found is None or _is_command(tool, specifier):
        return None
    name, value = found.groups()
    own = _tables().parameters.get(tool)
    if own is not None and name not in own:
        return None
    if own is None and tool == "Mcp":
        return None
    return Parameter(name, value)


def is_content(tool: str, specifier: str) -> bool:
    """True when `specifier` is written as a parameter rule for the tool's main content."""
    found = _FIELD.fullmatch(specifier)
    named = found is not None and found[1] in _tables().content.get(tool, ())
    return named and not _is_command(tool, specifier)


def _is_command(tool: str, specifier: str) -> bool:
    """True for `timeout:*`: a program with anything behind it, though a field has its name."""
    name = specifier.removesuffix(":*")
    return name != specifier and name in _tables().commands.get(tool, ())


@dataclass(frozen=True, slots=True)
class _Tables:
    parameters: Mapping[str, frozenset[str]]
    content: Mapping[str, frozenset[str]]
    commands: Mapping[str, frozenset[str]]


@cache
def _tables() -> _Tables:
    source = files("maia_kernel.permissions") / "parameters.toml"
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    tables = ("parameters", "content", "commands")
    return _Tables(
        *({tool: frozenset(names) for tool, names in data[table].items()} for table in tables)
    )
