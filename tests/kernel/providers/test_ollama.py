"""Ollama's own API: what only it says, and what only it gets wrong."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from maia_kernel.errors import ModelNotFound, ProviderError, StreamBroken
from maia_kernel.messages import Image, Message, Text, Thinking, ToolResult, ToolUse, user
from maia_kernel.providers.base import Noticed, Request, SystemPart, ToolSpec
from maia_kernel.providers.base import Thinking as Effort
from maia_kernel.providers.ollama import CONTEXT_LENGTH, OllamaProvider, PullProgress
from maia_kernel.settings import Flags, load
from tests.servers.ollama import Ollama, shown
from tests.support.replies import read

TOOL = ToolSpec(
    "Read", "reads", {"type": "object", "properties": {"file_path": {"type": "string"}}}
)


@pytest.fixture
async def provider(ollama: Ollama) -> AsyncIterator[OllamaProvider]:
    opened = OllamaProvider(base_url=ollama.url)
    yield opened
    await opened.aclose()


def request(**more: Any) -> Request:
    return Request("model-one", (user("Hi"),), **more)


def notices(chunks: Any) -> list[str]:
    return [chunk.text for chunk in chunks if isinstance(chunk, Noticed)]


async def test_every_request_says_the_same_context_length(
    ollama: Ollama, provider: OllamaProvider
) -> None:
    """Given a model with a large window, each request asks for the length that was chosen, so that the
    server neither cuts the prompt nor loads the model anew."""
    ollama.always("Hello")
    for _ in range(2):
        await read(provider, request(max_tokens=100))
    bodies = [seen.json for seen in ollama.requests]
    assert [body["options"] for body in bodies] == [{"num_ctx": 32_768, "num_predict": 100}] * 2
    assert len([seen for seen in ollama.asked if seen.path == "/api/show"]) == 1


@pytest.mark.parametrize(
    ("window", "wanted", "expected"),
    [
        (8_192, None, 8_192),
        (262_144, 65_536, 65_536),
        (4_096, 65_536, 4_096),
        (0, None, CONTEXT_LENGTH),
    ],
)
async def test_the_models_own_limit_counts(
    ollama: Ollama, window: int, wanted: int | None, expected: int
) -> None:
    """The smaller of what was set and what the model can is asked for, and is the window that MAIA plans
    with."""
    ollama.installed["model-one"] = shown(window=window)
    provider = OllamaProvider(base_url=ollama.url, context_length=wanted)
    ollama.reply("Hello")
    await read(provider, request())
    assert ollama.requests[0].json["options"]["num_ctx"] == expected
    assert provider.capabilities("model-one").context_window == expected
    await provider.aclose()


async def test_a_smaller_context_than_asked_for_is_told_once(
    ollama: Ollama, provider: OllamaProvider
) -> None:
    """Given a server that gives 4,096 tokens all the same, the person is told, once."""
    ollama.given = 4_096
    ollama.always("Hello")
    first, second = [await read(provider, request()) for _ in range(2)]
    (line,) = notices(first.chunks)
    assert "4096" in line
    assert notices(second.chunks) == []


async def test_what_the_server_says_of_a_model(ollama: Ollama, provider: OllamaProvider) -> None:
    """Tools, pictures and thinking are what the model's page says, once it was asked."""
    ollama.installed["model-one"] = shown("completion", "vision")
    await provider.prepare("model-one")
    known = provider.capabilities("model-one")
    assert (known.tools, known.images, known.thinking) == (False, True, False)
    await provider.prepare("missing")  # nothing is raised: the request will say it
    assert provider.capabilities("missing").tools


async def test_tools_that_a_model_refuses_are_left_out(
    ollama: Ollama, provider: OllamaProvider
) -> None:
    """Given a model that takes no tools though its page says so, the request is sent once more without,
    the person is told, and the next request does not try again."""
    said = '{"error":"registry.ollama.ai/library/model-one does not support tools"}'
    ollama.raw(said, status=400)
    ollama.always("Hello")
    first = await read(provider, request(tools=(TOOL,)))
    assert "no tools" in notices(first.chunks)[0]
    await read(provider, request(tools=(TOOL,)))
    assert ["tools" in seen.json for seen in ollama.requests] == [True, False, False]


async def test_thinking_is_asked_for_in_the_models_own_way(
    ollama: Ollama, provider: OllamaProvider
) -> None:
    """Yes for most, a word for those that want one, nothing for those without; a refusal is told."""
    ollama.installed["model-two"] = shown("completion", "thinking", architecture="gptoss")
    ollama.always("Hello")
    effort = Effort("high")
    await read(provider, request(thinking=effort))
    await read(provider, Request("model-two", (user("Hi"),), thinking=effort))
    ollama.installed["plain"] = shown("completion")
    await read(provider, Request("plain", (user("Hi"),), thinking=effort))
    assert [seen.json.get("think") for seen in ollama.requests] == [True, "high", None]


async def test_a_conversation_with_calls_and_pictures(
    ollama: Ollama, provider: OllamaProvider
) -> None:
    """Calls go back with their arguments as objects and their reasoning, results with the tool's name,
    pictures as base64 beside the text."""
    conversation = (
        Message("user", (Text("Look"), Image("image/png", "QUJD"))),
        Message("assistant", (Thinking("hm", "sig"), ToolUse("c1", "Read", {"file_path": "é"}))),
        Message("user", (ToolResult("c1", (Text("no"),), is_error=True),)),
        Message("assistant", (ToolUse("c2", "Read", {}, '{"broken'),)),
        Message(
            "user", (ToolResult("c2", (Text("yes"), Image("image/png", "REVG"))), Text("Go on"))
        ),
    )
    ollama.reply("Done")
    await read(provider, Request("model-one", conversation, system=(SystemPart("Be brief."),)))
    assert ollama.requests[0].json["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look", "images": ["QUJD"]},
        {
            "role": "assistant",
            "content": "",
            "thinking": "hm",
            "tool_calls": [
                {"id": "c1", "function": {"name": "Read", "arguments": {"file_path": "é"}}}
            ],
        },
        {"role": "tool", "tool_name": "Read", "tool_call_id": "c1", "content": "Error: no"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "c2",
                    "function": {"name": "Read", "arguments": {"INVALID_JSON": '{"broken'}},
                }
            ],
        },
        {
            "role": "tool",
            "tool_name": "Read",
            "tool_call_id": "c2",
            "content": "yes",
            "images": ["REVG"],
        },
        {"role": "user", "content": "Go on"},
    ]


async def test_a_model_that_is_not_there(ollama: Ollama, provider: OllamaProvider) -> None:
    """The line says how to get it."""
    ollama.raw('{"error":"model \'x:7b\' not found"}', status=404)
    with pytest.raises(ModelNotFound, match=r"maia model get ollama:x:7b"):
        await read(provider, Request("x:7b", (user("Hi"),)))


@pytest.mark.parametrize("line", ['{"error":"llama runner process has terminated"}\n', ""])
async def test_an_answer_that_fails_in_the_middle(
    ollama: Ollama, provider: OllamaProvider, line: str
) -> None:
    """An error line after the first words, or an end without the last line, fails the request."""
    ollama.sse('{"message":{"role":"assistant","content":"Half"},"done":false}\n', line)
    with pytest.raises(ProviderError if line else StreamBroken):
        await read(provider, request())


async def test_usage_is_the_servers_or_an_estimate(
    ollama: Ollama, provider: OllamaProvider
) -> None:
    """The server's counts are used; where it leaves one out, MAIA counts and says so."""
    ollama.reply("Hello", usage={"prompt_eval_count": 70, "eval_count": 7})
    ollama.reply("Hello", usage={"eval_count": 7})
    first, second = [await read(provider, request()) for _ in range(2)]
    assert (first.usage.input_tokens, first.usage.output_tokens) == (70, 7)
    assert second.usage.estimated


async def test_a_download_tells_how_far_it_is(ollama: Ollama, provider: OllamaProvider) -> None:
    """Progress comes with bytes; a model that nobody has is an error line."""
    steps = [step async for step in provider.pull("new:1b")]
    assert PullProgress("pulling abc", 500, 1000) in steps
    assert steps[-1].status == "success"
    with pytest.raises(ProviderError, match="does not exist"):
        async for _ in provider.pull("no-such"):
            pass


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", None),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":8000", "http://127.0.0.1:8000"),
        ("box.example.com", "http://box.example.com:11434"),
        ("box.example.com:80", "http://box.example.com:80"),
        ("http://box.example.com", "http://box.example.com:80"),
        ("https://box.example.com/ollama/", "https://box.example.com/ollama"),
        ("[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_the_host_as_ollama_writes_it(tmp_path: Path, host: str, url: str | None) -> None:
    """`OLLAMA_HOST` may be a host, a port, both, or an address."""
    environ = {"OLLAMA_HOST": host, "OLLAMA_CONTEXT_LENGTH": "65536"}
    settings = load(tmp_path, environ=environ, home=Path.home(), flags=Flags())
    assert settings.ollama.url == url
    assert settings.ollama.context_length == 65_536


@pytest.mark.parametrize(("name", "code"), [("new:1b", 0), ("no-such", 3)])
def test_the_program_downloads_through_the_server(ollama: Ollama, name: str, code: int) -> None:
    """`maia model get ollama:NAME` has the server download, and says how to use the model, or in one
    line why not."""
    environ = {**os.environ, "OLLAMA_HOST": ollama.url}
    command = [sys.executable, "-m", "maia_kernel", "model", "get", f"ollama:{name}"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    assert ("Ready: ollama:new:1b" in done.stdout) == (code == 0)
    assert ("does not exist" in done.stderr) == (code != 0)
    assert "Traceback" not in done.stderr
