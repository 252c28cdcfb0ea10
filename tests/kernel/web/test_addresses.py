"""Which addresses WebFetch connects to: the corpus, rebinding, and the real resolver."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.hosts import normal_host, normal_place
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.web_fetch import WebFetch
from maia_kernel.web import urls
from maia_kernel.web.fetch import Elsewhere, FetchFailed, Page, fetch
from maia_kernel.web.network import Network
from tests.support.tools import call, tool_context
from tests.support.web import PUBLIC, Site, internet, redirect

CORPUS = tomllib.loads(
    (Path(__file__).parents[2] / "corpora" / "addresses.toml").read_text(encoding="utf-8")
)["address"]
LOOPBACK = [entry for entry in CORPUS if entry.get("host") == "127.0.0.1"]


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return tool_context(tmp_path)


def shown(entry: dict[str, Any]) -> str:
    return ascii(entry["url"])


def test_the_corpus_is_large() -> None:
    assert len(CORPUS) >= 100
    assert len([entry for entry in CORPUS if entry["expect"] == "refused"]) >= 50


@pytest.mark.parametrize("entry", CORPUS, ids=shown)
async def test_an_address_of_the_corpus(entry: dict[str, Any], context: ToolContext) -> None:
    """Given an internet where every address answers, only fit ones are ever connected to."""
    allow = frozenset(normal_place(host) for host in entry.get("allow", ()))
    async with Site() as site:
        network, dial = internet(site, entry.get("names"), allow)
        tool = WebFetch(allow, network)
        match entry["expect"]:
            case "fetched":
                assert "hello" in (await call(tool, context, url=entry["url"])).text
                assert len(dial.dialled) == 1
                bare = (site.header("host") or "").removesuffix(f":{urls.parse(entry['url']).port}")
                assert normal_host(bare) == entry["host"]
            case "refused":
                with pytest.raises(ToolFailed, match="allowPrivate"):
                    await call(tool, context, url=entry["url"])
                assert (site.connections, dial.dialled) == (0, [])
            case "invalid":
                with pytest.raises(ToolRetry):
                    await call(tool, context, url=entry["url"])
                assert (site.connections, dial.dialled) == (0, [])
            case other:
                raise AssertionError(other)
    if "host" in entry:
        parsed = tool.Input.model_validate({"url": entry["url"]})
        assert tool.subject(parsed, context).text == f"domain:{entry['host']}"


@pytest.mark.parametrize("entry", LOOPBACK, ids=shown)
async def test_a_spelling_of_this_machine_would_have_reached_it(entry: dict[str, Any]) -> None:
    """Given the host is listed on purpose, the same spelling reaches a real server on 127.0.0.1."""
    async with Site() as site:
        url = replace(urls.parse(entry["url"]), scheme="http", port=site.port)
        page = await fetch(url, Network(frozenset({"127.0.0.1"})))
        assert isinstance(page, Page)
        assert site.connections == 1


async def test_the_systems_resolver_is_checked_as_well() -> None:
    """Given a real server on this machine, localhost does not reach it; listed, it does."""
    async with Site() as site:
        url = urls.parse(f"http://localhost:{site.port}/")
        with pytest.raises(FetchFailed, match="this machine"):
            await fetch(url, Network())
        assert site.connections == 0
        page = await fetch(url, Network(frozenset({f"localhost:{site.port}"})))
        assert isinstance(page, Page)
        assert page.body == b"<p>hello</p>"


async def test_a_name_is_resolved_once_and_that_address_is_connected_to() -> None:
    """Given a name that turns private after the first look-up, the first answer is used."""
    names = {"rebind.example.com": [[PUBLIC], ["127.0.0.1"]]}
    async with Site() as site:
        network, dial = internet(site, names)
        await fetch(urls.parse("http://rebind.example.com/"), network)
        assert network.resolve.asked == ["rebind.example.com"]  # type: ignore[attr-defined]
        assert dial.dialled == [PUBLIC]


async def test_a_name_that_turns_private_at_the_second_hop_is_refused() -> None:
    """Given a redirect on the same host, the name is checked again where it is connected to again."""
    names = {"rebind.example.com": [[PUBLIC], ["169.254.169.254"]]}
    async with Site({"/": redirect("/secret")}) as site:
        network, dial = internet(site, names)
        with pytest.raises(FetchFailed, match="metadata"):
            await fetch(urls.parse("http://rebind.example.com/"), network)
        assert dial.dialled == [PUBLIC]
        assert site.targets == ["/"]


@pytest.mark.parametrize(
    "to", ["http://127.0.0.1/", "http://2130706433/", "http://[::1]/", "//169.254.169.254/x"]
)
async def test_a_redirect_to_a_private_address_is_returned_and_then_refused(
    to: str, context: ToolContext
) -> None:
    async with Site({"/": redirect(to)}) as site:
        network, dial = internet(site)
        found = await fetch(urls.parse("http://example.com/"), network)
        assert isinstance(found, Elsewhere)
        with pytest.raises(ToolFailed, match="allowPrivate"):
            await call(WebFetch(network=network), context, url=str(found.to))
        assert dial.dialled == [PUBLIC]


async def test_the_next_address_is_tried_when_the_first_does_not_answer() -> None:
    """Given two public addresses of which one refuses, the other one answers."""
    async with Site() as site:
        network, dial = internet(site, {"two.example.com": ["93.184.215.13", PUBLIC]})
        connect = dial.connect_tcp

        async def refuse_the_first(host: str, port: int, *rest: Any) -> Any:
            if host == "93.184.215.13":
                return await dial._real.connect_tcp("127.0.0.1", 1)
            return await connect(host, port, *rest)

        dial.connect_tcp = refuse_the_first  # type: ignore[method-assign]
        page = await fetch(urls.parse("http://two.example.com/"), network)
        assert isinstance(page, Page)
