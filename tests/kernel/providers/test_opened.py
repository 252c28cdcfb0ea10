"""All providers of an agent together: their lists at the same time, and what a turn costs."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from maia_kernel.providers.opened import OpenedProviders
from maia_kernel.settings import load
from maia_kernel.settings.keys import Keys
from maia_kernel.usage import Usage
from tests.support.replies import KEY
from tests.support.server import ModelServer

USAGE = Usage(4_000, 1_000)
SONNET = "anthropic:claude-sonnet-5-5"


def opened(
    folder: Path, home: Path, environ: dict[str, str], servers: dict[str, str] | None = None
) -> OpenedProviders:
    (home / ".maia").mkdir(exist_ok=True)
    rows = {name: {"family": "vllm", "url": url} for name, url in (servers or {}).items()}
    (home / ".maia" / "servers.json").write_text(json.dumps(rows))
    settings = load(folder, environ=environ, home=home)
    return OpenedProviders(settings, Keys.from_environ(environ, settings), environ)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes a connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def refusing() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        return f"http://127.0.0.1:{gone.getsockname()[1]}"


async def test_three_bad_servers_of_six_hold_up_nobody(
    tmp_path: Path, home: Path, server: ModelServer, silent: str, refusing: str
) -> None:
    """Given six servers of which one hangs, one refuses and one answers HTML, when their models are
    listed, then three lists come, and one line with the address for each of the others.
    """
    with ModelServer() as page:
        for _ in range(3):
            server.raw(json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}))
        page.html()
        good = dict.fromkeys(("one", "two", "three"), server.openai_url)
        bad = {"hangs": silent, "refuses": refusing, "page": page.openai_url}
        providers = opened(tmp_path, home, {}, {**good, **bad})
        begun = time.monotonic()
        found, warnings = await asyncio.wait_for(providers.models(), 30)
        taken = time.monotonic() - begun
        await providers.aclose()
    assert {model.spec for model in found} == {"one:m", "two:m", "three:m"}
    assert len(warnings) == 3
    assert not any("\n" in line for line in warnings)
    for address in bad.values():
        port = address.removesuffix("/v1").rpartition(":")[2]
        assert any(port in line for line in warnings), (address, warnings)
    assert taken < 30, taken


@pytest.mark.parametrize(
    ("environ", "spec", "known"),
    [
        ({"ANTHROPIC_API_KEY": KEY}, SONNET, True),
        ({"ANTHROPIC_API_KEY": KEY}, "sonnet", True),
        (
            {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "https://api.anthropic.com"},
            SONNET,
            True,
        ),
        (
            {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://gate.example.com"},
            SONNET,
            False,
        ),
        ({"ANTHROPIC_AUTH_TOKEN": KEY}, SONNET, False),
        ({"OPENAI_API_KEY": KEY}, "openai:gpt-4.1", True),
        (
            {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://gate.example.com/v1"},
            "openai:gpt-4.1",
            False,
        ),
        ({}, "lab:gpt-4.1", False),
    ],
)
def test_a_price_is_shown_only_where_the_list_price_is_charged(
    tmp_path: Path, home: Path, environ: dict[str, str], spec: str, known: bool
) -> None:
    """A gateway, a subscription and a server of one's own have no price; an alias has its model's."""
    providers = opened(tmp_path, home, environ, {"lab": "http://lab.example.com"})
    assert (providers.price(spec, USAGE) is not None) is known
