"""ToolSearch: finds the tools whose definitions are not sent, and loads them for the session."""

import re
from collections.abc import AsyncIterator, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import Field

from maia_kernel.errors import ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput

DEFAULT_RESULTS = 5
MOST_RESULTS = 20
_SELECT = "select:"
# What a word of the query is worth where it is found; as a part of a longer word, half of it.
_IN_NAME, _IN_HINT, _IN_DESCRIPTION = 12, 6, 2
_WORD = re.compile(r"[a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class ToolSearchInput(ToolInput):
    """What is looked for."""

    query: str = Field(
        description='"select:Name,Other" for tools by name, or words; "+word" must be in the name'
    )
    max_results: int = Field(
        DEFAULT_RESULTS,
        ge=1,
        le=MOST_RESULTS,
        description="How many tools a search by words loads at most",
    )


class ToolSearch(Tool[ToolSearchInput]):
    """The tool, over the `deferred` ones by name."""

    name = "ToolSearch"
    icon = "⌕"
    counted = "searches"

    def __init__(self, deferred: Mapping[str, Tool[Any]]) -> None:
        self._deferred = deferred
        self.description = (
            "Loads tools whose definitions are not in this request. A loaded tool can be called from "
            "your next message on, for the rest of the session. Query: select:Name,Other for names of "
            "the list below, or words that say what is needed. To be loaded: "
            f"{', '.join(sorted(deferred))}."
        )

    @property
    def Input(self) -> type[ToolSearchInput]:
        return ToolSearchInput

    def read_only(self, call: ToolSearchInput, context: ToolContext) -> bool:
        return True

    def concurrency_safe(self, call: ToolSearchInput, context: ToolContext) -> bool:
        return False  # the order in which tools are loaded is the order in which they are sent

    def subject(self, call: ToolSearchInput, context: ToolContext) -> Subject:
        return Subject(self.name, read_only=True, text=call.query)

    def summary(self, call: ToolSearchInput, context: ToolContext) -> str:
        return " ".join(call.query.split())

    async def run(
        self, call: ToolSearchInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        query = call.query.strip()
        if query.startswith(_SELECT):
            names = self._selected(query.removeprefix(_SELECT))
        else:
            names = ranked(query, self._deferred)[: call.max_results]
        if not names:
            known = ", ".join(sorted(self._deferred))
            yield ToolOutput.of(f"No tool matches. There are: {known}.")
            return
        new = [name for name in names if name not in context.loaded]
        context.loaded += new
        yield ToolOutput.of("\n".join(self._line(name, new=name in new) for name in names))

    def _selected(self, written: str) -> list[str]:
        by_lower = {name.casefold(): name for name in self._deferred}
        wanted = [part.strip() for part in written.split(",") if part.strip()]
        unknown = [name for name in wanted if name.casefold() not in by_lower]
        if unknown or not wanted:
            near = [
                by_lower[lower]
                for name in unknown
                for lower in get_close_matches(name.casefold(), by_lower, n=1)
            ]
            hint = f" Did you mean {', '.join(near)}?" if near else ""
            known = ", ".join(sorted(self._deferred))
            raise ToolRetry(
                f"not among the tools to be loaded: {', '.join(unknown) or '(no name)'}.{hint} "
                f"There are: {known}. Other tools need no loading."
            )
        return list(dict.fromkeys(by_lower[name.casefold()] for name in wanted))

    def _line(self, name: str, *, new: bool) -> str:
        said = " ".join(self._deferred[name].description.split())
        return f"{name} {'is loaded' if new else 'was loaded already'}: {said[:200]}"


def ranked(query: str, tools: Mapping[str, Tool[Any]]) -> list[str]:
    """The names of the tools that `query` fits, the best first, then by name."""
    words = query.casefold().split()
    required = [word[1:] for word in words if word.startswith("+") and len(word) > 1]
    plain = [part for word in words for part in _WORD.findall(word)]
    scores = {
        name: sum(_worth(word, tool) for word in plain)
        for name, tool in tools.items()
        if all(word in name.casefold() for word in required)
    }
    return sorted((name for name in scores if scores[name]), key=lambda name: (-scores[name], name))


def _worth(word: str, tool: Tool[Any]) -> int:
    places = (
        (_CAMEL.sub(" ", tool.name), _IN_NAME),
        (tool.search_hint, _IN_HINT),
        (tool.description, _IN_DESCRIPTION),
    )
    return max(_found(word, said.casefold()) * worth for said, worth in places) // 2


def _found(word: str, said: str) -> int:
    """2 where `word` is a word of `said`, 1 where it is in it, else 0."""
    if word in _WORD.findall(said):
        return 2
    return 1 if word in said else 0
