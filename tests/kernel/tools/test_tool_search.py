"""ToolSearch: which tools a query finds, and what is loaded for the session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from maia_kernel.errors import ToolRetry
from maia_kernel.extensions.custom_tools import CustomTool
from maia_kernel.extensions.input_schema import check_schema
from maia_kernel.tools.base import Tool, ToolContext
from maia_kernel.tools.custom import Custom
from maia_kernel.tools.registry import builtin_tools
from maia_kernel.tools.tool_search import ToolSearch, ranked
from maia_kernel.tools.toolbox import MOST_CROWDED, Toolbox
from tests.support.tools import call


def made(name: str, description: str = "x", hint: str = "") -> Tool[Any]:
    class Hinted(Custom):
        search_hint = hint

    return Hinted(CustomTool(name, description, check_schema({}), ("true",), Path("/t/TOOL.json")))


TOOLS: Mapping[str, Tool[Any]] = {
    tool.name: tool
    for tool in (
        made("sendMail", "Sends a message to a person."),
        made("mail_search", "Finds what was received."),
        made("deploy_app", "Puts the application on a server.", hint="release ship"),
        made("weather", "The forecast; also by mail."),
    )
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("mail", ["mail_search", "sendMail", "weather"]),
        ("send mail", ["sendMail", "mail_search", "weather"]),
        ("release", ["deploy_app"]),
        ("SERVER", ["deploy_app"]),
        ("+send mail", ["sendMail"]),
        ("+mail message", ["sendMail", "mail_search"]),
        ("cast", ["weather"]),
        ("nothing of all", []),
        ("", []),
        ("+", []),
    ],
)
def test_ranking(query: str, expected: list[str]) -> None:
    """Names count more than hints, hints more than descriptions, words more than parts of words."""
    assert ranked(query, TOOLS) == expected


async def test_selecting_by_name(context: ToolContext) -> None:
    """Named tools are loaded in the order named, once, in whatever letters."""
    search = ToolSearch(TOOLS)
    done = await call(search, context, query="select:weather, SENDMAIL,weather")
    assert context.loaded == ["weather", "sendMail"]
    assert done.text.splitlines()[0] == "weather is loaded: The forecast; also by mail."
    done = await call(search, context, query="select:deploy_app,weather")
    assert context.loaded == ["weather", "sendMail", "deploy_app"]
    assert "weather was loaded already" in done.text


async def test_searching_by_words(context: ToolContext) -> None:
    """A search loads at most as many as it was told; one that finds nothing says what there is."""
    await call(ToolSearch(TOOLS), context, query="mail", max_results=1)
    assert context.loaded == ["mail_search"]
    done = await call(ToolSearch(TOOLS), context, query="zebra")
    assert done.text == "No tool matches. There are: deploy_app, mail_search, sendMail, weather."
    assert not done.output.is_error


@pytest.mark.parametrize("query", ["select:wether", "select:", "select:Read"])
async def test_an_unknown_name(context: ToolContext, query: str) -> None:
    """A name that is none of them is refused with those there are, and nothing is loaded."""
    with pytest.raises(ToolRetry, match="There are: deploy_app, mail_search") as fault:
        await call(ToolSearch(TOOLS), context, query=query)
    assert ("Did you mean weather?" in str(fault.value)) == (query == "select:wether")
    assert context.loaded == []


def offer(count: int, window: int | None = None, description: str = "x") -> Any:
    functions = [made(f"t{number:02}", description) for number in range(count)]
    return Toolbox(builtin_tools(kernel=True), lambda: functions).offer((), window)


def test_only_many_tools_are_deferred() -> None:
    """Up to twenty tools of the project are sent whole; more of them, or a tenth of the window, wait,
    MAIA's own never, and only then ToolSearch is there."""
    few = offer(MOST_CROWDED)
    assert few.deferred == frozenset()
    assert "ToolSearch" not in few.tools
    many = offer(MOST_CROWDED + 1)
    assert len(many.deferred) == MOST_CROWDED + 1
    sent = [spec.name for spec in many.specs([])]
    assert sent == sorted(sent)
    assert {"ToolSearch", "Bash", "Read"} <= set(sent)
    assert not many.deferred & set(sent)
    assert "t07" in many.tools["ToolSearch"].description
    assert offer(3, window=200_000, description="long " * 300).deferred == frozenset()
    assert len(offer(3, window=8_000, description="long " * 300).deferred) == 3


def test_what_was_sent_stays_in_its_place() -> None:
    """Loaded tools come after the others, in the order in which they were loaded."""
    many = offer(MOST_CROWDED + 1)
    first = many.specs([])
    second = many.specs(["t09"])
    third = many.specs(["t09", "t03"])
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert [spec.name for spec in third[len(first) :]] == ["t09", "t03"]
    assert many.unloaded(["t09"]) == many.deferred - {"t09"}
