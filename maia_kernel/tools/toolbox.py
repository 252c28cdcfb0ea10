"""The tools of one agent: its own, the project's, the person's functions; what of them a request holds."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from maia_kernel.extensions import custom_tools
from maia_kernel.permissions import Rule, removed_tools
from maia_kernel.providers.base import ToolSpec
from maia_kernel.providers.estimate import text_tokens
from maia_kernel.settings import Settings
from maia_kernel.settings.items import ProjectItem
from maia_kernel.texts import text
from maia_kernel.tools.base import Tool
from maia_kernel.tools.custom import Custom
from maia_kernel.tools.tool_search import ToolSearch

MOST_CROWDED = 20
"""So many tools of a project or a person, or fewer, are sent whole."""
_SHARE = 0.1  # of the context window, for definitions of those tools


@dataclass(frozen=True, slots=True)
class Offer:
    """What the model may call in one turn: `tools` by name, `deferred` those to be loaded first."""

    tools: Mapping[str, Tool[Any]]
    deferred: frozenset[str] = frozenset()

    def unloaded(self, loaded: Collection[str]) -> frozenset[str]:
        """The tools that cannot be called yet."""
        return self.deferred.difference(loaded)

    def specs(self, loaded: Iterable[str]) -> tuple[ToolSpec, ...]:
        """The definitions of a request: sorted, and after them the loaded ones in their order.

        What was sent once stays where it was, so that the server's cache of it holds.
        """
        first = [self.tools[name] for name in sorted(self.tools) if name not in self.deferred]
        later = [self.tools[name] for name in loaded if name in self.deferred]
        return tuple(
            ToolSpec(tool.name, tool.description, tool.schema()) for tool in (*first, *later)
        )


class Toolbox:
    """Merges the sources of tools; earlier ones win over later ones of the same name.

    `functions` gives the person's functions of the moment. `warnings` are lines about what cannot be
    used, for the person.
    """

    def __init__(
        self, builtin: Iterable[Tool[Any]], functions: Callable[[], Iterable[Tool[Any]]]
    ) -> None:
        self.use(builtin)
        self._functions = functions
        self._items: tuple[ProjectItem, ...] = ()
        self._custom: dict[str, Tool[Any]] = {}
        self.warnings: tuple[str, ...] = ()

    def use(self, builtin: Iterable[Tool[Any]]) -> None:
        """Take these as MAIA's own from now on."""
        self._builtin = {tool.name: tool for tool in builtin}

    def refresh(self, settings: Settings) -> None:
        """Read the project's tools, if others are trusted than before; touches the disk."""
        items = () if settings.bare else settings.active("tool")
        if items == self._items:
            return
        warnings: list[str] = []
        found = custom_tools.load(items, settings.cwd, warnings.append)
        self._items = items
        self._custom = {tool.name: Custom(tool) for tool in found}
        self.warnings = tuple(warnings)

    def all(self) -> dict[str, Tool[Any]]:
        """Every tool by name."""
        functions = {tool.name: tool for tool in self._functions()}
        return {**self._custom, **functions, **self._builtin}

    def doubles(self) -> tuple[str, ...]:
        """A line for every tool of the project in whose place a function of the person stands."""
        names = sorted({tool.name for tool in self._functions()} & self._custom.keys())
        return tuple(text("extensions.tool.double_function", name=name) for name in names)

    def offer(self, rules: tuple[Rule, ...], window: int | None) -> Offer:
        """What a model with a context of `window` tokens may call under `rules`."""
        tools = self.all()
        removed = removed_tools(rules, (*tools, ToolSearch.name))
        kept = {name: tool for name, tool in tools.items() if name not in removed}
        deferred = frozenset() if ToolSearch.name in removed else _deferred(kept, window)
        if deferred:
            kept[ToolSearch.name] = ToolSearch({name: kept[name] for name in deferred})
        return Offer(kept, deferred)


def _deferred(tools: Mapping[str, Tool[Any]], window: int | None) -> frozenset[str]:
    always = {name for name, tool in tools.items() if tool.defer == "always"}
    crowd = {name: tool for name, tool in tools.items() if tool.defer == "crowded"}
    limit = None if window is None else window * _SHARE
    crowded = len(crowd) > MOST_CROWDED or (
        limit is not None and sum(_tokens(tool) for tool in crowd.values()) > limit
    )
    return frozenset(always | crowd.keys() if crowded else always)


def _tokens(tool: Tool[Any]) -> int:
    return text_tokens(tool.name + tool.description + json.dumps(tool.schema(), default=str))
