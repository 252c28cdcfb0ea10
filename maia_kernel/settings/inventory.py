"""What else of a project would become active: servers, tools, skills, commands, agents, plugins.

Each is an item at the gate, whether or not anything reads it yet: a folder that was trusted today must
not silently bring more tomorrow. Who loads such a file asks `Settings.active` for what was trusted.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resource_files
from itertools import islice
from pathlib import Path
from typing import Any

from maia_kernel.paths import shown
from maia_kernel.settings.items import Kind, file_item, make_item
from maia_kernel.settings.layers import FOREIGN, OWN
from maia_kernel.settings.reading import UnfitError, Warn, content, read_object
from maia_kernel.settings.trust import Gate
from maia_kernel.texts import text

_MOST_FILES = 500
"""Files of one kind in one folder that are looked at; more of them is no project of a person."""
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_SHELL_LINES = re.compile(r"^.*(?:!`|```!).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ProjectLists:
    """`project.toml`: keys and fields that wait for trust."""

    commands: frozenset[str]
    widening: frozenset[str]
    scripted: frozenset[str]
    front_matter: Mapping[str, tuple[str, ...]]


@cache
def project_lists() -> ProjectLists:
    """The lists, read once."""
    data = tomllib.loads(
        resource_files("maia_kernel.settings").joinpath("project.toml").read_text(encoding="utf-8")
    )
    fields = {kind: tuple(names) for kind, names in data["front_matter"].items()}
    return ProjectLists(
        frozenset(data["commands"]),
        frozenset(data["widening"]),
        frozenset(data["scripted"]),
        fields,
    )


def take_inventory(
    folders: tuple[Path, ...], bases: frozenset[Path], cwd: Path, gate: Gate, warn: Warn
) -> None:
    """Bring everything of the project's `folders` that is not a setting to the gate.

    `bases` are those of its `.maia` and `.claude` that may be read.
    """
    own_tools = cwd / OWN / "tools"
    # In the home folder `.maia` is the person's own, all but the tools of a working folder.
    if cwd / OWN in bases or cwd not in folders:
        _files("tool", cwd, _named(own_tools, "tool.json"), gate, warn)
    for folder in folders or (cwd,):
        own = folder / OWN
        places = [folder / ".mcp.json"] + ([own / "mcp.json"] if own in bases else [])
        _servers(folder, places, gate, warn)
        for base in sorted(bases & {own, folder / FOREIGN}):
            _texts("skill", folder, _named(base / "skills", "skill.md"), gate, warn)
            _texts("slash", folder, _markdown(base / "commands"), gate, warn)
            _texts("agent", folder, _markdown(base / "agents"), gate, warn)
        if own in bases:
            _files("plugin", folder, _below(own / "plugins"), gate, warn)


def _servers(folder: Path, places: list[Path], gate: Gate, warn: Warn) -> None:
    for file in places:
        servers = (read_object(file, warn) or {}).get("mcpServers")
        for name, entry in servers.items() if isinstance(servers, dict) else ():
            try:
                detail = compact(entry)
                item = make_item("mcp", name, entry, file=file, folder=folder, detail=detail)
            except ValueError as error:
                warn(text("settings.unreadable", file=shown(file), cause=error))
            else:
                gate.passes(item)


def _files(kind: Kind, folder: Path, found: Iterator[Path], gate: Gate, warn: Warn) -> None:
    """Files that count as they are."""
    for file, data in _read(found, folder, warn):
        detail = " ".join(data.decode("utf-8", "replace").split())
        gate.passes(file_item(kind, file, data, folder=folder, detail=detail))


def _texts(kind: Kind, folder: Path, found: Iterator[Path], gate: Gate, warn: Warn) -> None:
    """Markdown files; only what could run something or widen rights waits for trust."""
    for file, data in _read(found, folder, warn):
        active = active_lines(kind, data.decode("utf-8", "replace"))
        if active:
            detail = " · ".join(active)
            gate.passes(file_item(kind, file, data, folder=folder, detail=detail))


def active_lines(kind: Kind, words: str) -> list[str]:
    """The lines of a skill, a command or an agent that let something run; empty when it is only text."""
    words = words.replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(words)
    fields = project_lists().front_matter[kind]
    head = front[1] if front else ""
    named = [row for row in head.split("\n") if any(name in row.casefold() for name in fields)]
    if front and not named and "\\" in head:
        # An escape in a quoted key could spell any name.
        named = [row for row in head.split("\n") if "\\" in row]
    return [*named, *_SHELL_LINES.findall(words[front.end() :] if front else words)]


def compact(value: Any) -> str:
    """A JSON value on one line.

    Raises:
        ValueError: it is nested too deep.
    """
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        raise ValueError(text("trust.too_deep")) from None


def _read(found: Iterator[Path], folder: Path, warn: Warn) -> Iterator[tuple[Path, bytes]]:
    for number, file in enumerate(found):
        if number == _MOST_FILES:
            warn(text("trust.too_many", folder=shown(folder), count=_MOST_FILES))
            return
        try:
            data = content(file)
        except UnfitError as fault:
            warn(str(fault))
        except OSError as error:
            cause = error.strerror or "OSError"
            warn(text("settings.unreadable", file=shown(file), cause=cause))
        else:
            if data is not None:
                yield file, data


def _named(base: Path, name: str) -> Iterator[Path]:
    """`base/*/NAME`, whatever the case of NAME."""
    for folder in _entries(base):
        yield from (file for file in _entries(folder) if file.name.casefold() == name)


def _markdown(base: Path) -> Iterator[Path]:
    return (file for file in _below(base) if file.suffix.casefold() == ".md")


def _below(base: Path) -> Iterator[Path]:
    """Files below `base`; links to folders are not followed, so that there is an end."""
    waiting, left = [base], 20 * _MOST_FILES
    while waiting and left > 0:
        for entry in _entries(waiting.pop()):
            left -= 1
            if entry.is_dir() and not entry.is_symlink():
                waiting.append(entry)
            elif entry.is_file():
                yield entry


def _entries(folder: Path) -> Iterator[Path]:
    try:
        found = sorted(islice(folder.iterdir(), 10 * _MOST_FILES))
    except OSError:  # none, or no folder
        return
    yield from found
