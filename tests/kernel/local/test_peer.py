"""The real thing: SmolLM2 in its server. Downloads 93 MB once, into MAIA_TEST_CACHE or `.cache`."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from maia_kernel.errors import LocalModelError, PromptTooLong, StreamBroken
from maia_kernel.localmodel import commands
from maia_kernel.messages import Message, Text
from maia_kernel.providers.base import Chunk, Request, Stopped, TextChunk, UsageReported
from maia_kernel.providers.local import LocalProvider

pytestmark = [pytest.mark.peer, pytest.mark.timeout(300)]

_ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def weights() -> Path:
    """The folder with SmolLM2, downloaded if it is not there."""
    folder = Path(os.environ.get("MAIA_TEST_CACHE") or _ROOT / ".cache") / "models"
    environ = {**os.environ, "MAIA_MODEL_DIR": str(folder)}
    said: list[str] = []
    code = commands.main(["get", "smollm2"], write=said.append, err=said.append, environ=environ)
    assert code == 0, "\n".join(said)
    return folder


@pytest.fixture
async def provider(weights: Path) -> AsyncIterator[LocalProvider]:
    """A local provider; its server starts with the first request."""
    local = LocalProvider(environ={**os.environ, "MAIA_MODEL_DIR": str(weights)})
    yield local
    await local.aclose()
    assert servers() == []


def request(prompt: str, *, max_tokens: int = 40) -> Request:
    """One prompt, answered the same way each time."""
    message = Message("user", (Text(prompt),))
    return Request("smollm2", (message,), max_tokens=max_tokens, params={"temperature": 0})


LONG = request("Write a long story about a lighthouse.", max_tokens=2000)


async def answer(provider: LocalProvider, asked: Request) -> list[Chunk]:
    """Every chunk of the answer."""
    return [chunk async for chunk in provider.stream(asked)]


async def cut_down(provider: LocalProvider) -> None:
    """Ask for something long and kill the server at the first word."""
    async for chunk in provider.stream(LONG):
        if isinstance(chunk, TextChunk):
            for server in servers():
                server.kill()


def servers() -> list[psutil.Process]:
    """The model servers that this process has started."""
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if "maia_kernel.localmodel.server" in child.cmdline()
    ]


async def test_a_real_answer_streams(provider: LocalProvider) -> None:
    """Text comes in pieces, then usage and the end; the second prompt meets the same server."""
    chunks = await answer(provider, request("The sky is blue. What colour is the sky?"))

    texts = [chunk.text for chunk in chunks if isinstance(chunk, TextChunk)]
    assert len(texts) > 3
    assert "blue" in "".join(texts)
    usage = next(chunk.usage for chunk in reversed(chunks) if isinstance(chunk, UsageReported))
    assert 0 < usage.output_tokens <= 40
    assert not usage.estimated
    assert isinstance(chunks[-1], Stopped)
    (server,) = servers()
    await answer(provider, request("And the sea?"))
    assert servers() == [server]


async def test_the_server_is_out_of_reach_of_others(provider: LocalProvider) -> None:
    """It is on the loopback only, in a group of its own, and no command line or environment has its key."""
    await answer(provider, request("Hello"))

    (server,) = servers()
    assert os.getpgid(server.pid) != os.getpgid(0)
    (listening,) = [one for one in server.net_connections() if one.status == "LISTEN"]
    assert listening.laddr.ip == "127.0.0.1"
    assert await status_of(listening.laddr.port, "/v1/models") == 401
    seen = " ".join(server.cmdline()) + " ".join(f"{n}={v}" for n, v in server.environ().items())
    (running,) = provider._running.values()
    assert running.server.key not in seen


async def status_of(port: int, path: str) -> int:
    """The HTTP status of a request without a key."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    line = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return int(line.split()[1])


async def test_a_server_killed_while_idle_is_started_again(provider: LocalProvider) -> None:
    """The next prompt after a kill is answered, by a new process."""
    await answer(provider, request("Hello"))
    (first,) = servers()
    first.kill()

    chunks = await answer(provider, request("Hello"))

    assert isinstance(chunks[-1], Stopped)
    (second,) = servers()
    assert second.pid != first.pid


async def test_a_server_killed_twice_is_a_clear_error(provider: LocalProvider) -> None:
    """The first kill breaks the answer, the second one ends with an error; the prompt after works."""
    with pytest.raises(StreamBroken, match="SIGKILL"):
        await cut_down(provider)
    with pytest.raises(LocalModelError, match=r"ended twice \(killed by SIGKILL\).*server\.log"):
        await cut_down(provider)
    assert servers() == []

    assert isinstance((await answer(provider, request("Hello")))[-1], Stopped)


async def test_closing_the_stream_ends_the_generation(provider: LocalProvider) -> None:
    """An interrupted long answer does not keep the next prompt waiting."""
    stream = provider.stream(LONG)
    async for chunk in stream:
        if isinstance(chunk, TextChunk):
            break
    await stream.aclose()  # type: ignore[attr-defined]

    began = time.monotonic()
    await answer(provider, request("Hello", max_tokens=1))
    assert time.monotonic() - began < 20


async def test_a_prompt_beyond_the_window_names_both_figures(provider: LocalProvider) -> None:
    """Too long a prompt is told with its tokens and the limit, and the server lives on."""
    with pytest.raises(PromptTooLong, match=r"smollm2: \d{5} of at most 8192 tokens"):
        await answer(provider, request("many words and more of them " * 3000))

    assert len(servers()) == 1


async def test_the_server_ends_with_the_process_that_started_it(weights: Path) -> None:
    """A parent killed without warning leaves no server."""
    script = (
        "import asyncio, os\n"
        "from maia_kernel.localmodel.launch import start_server\n"
        "from maia_kernel.localmodel.store import Store, models_folder\n"
        "async def main():\n"
        "    store = Store(models_folder(os.environ))\n"
        "    server = await start_server(store.find('smollm2'), context=2048, log=store.log,\n"
        "                                environ=os.environ)\n"
        "    print(server.process.pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    environ = {**os.environ, "MAIA_MODEL_DIR": str(weights)}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env=environ
    ) as parent:
        assert parent.stdout is not None
        server = psutil.Process(int(await asyncio.to_thread(parent.stdout.readline)))
        parent.send_signal(signal.SIGKILL)

    _, alive = psutil.wait_procs([server], timeout=10)
    assert alive == []
