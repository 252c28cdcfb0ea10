"""What holds for every provider alike."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from maia_kernel.errors import (
    AuthenticationFailed,
    BadRequest,
    ModelNotFound,
    NetworkFault,
    Overloaded,
    PromptTooLong,
    ProtocolFault,
    ProviderError,
    RateLimited,
    ServerFault,
    StreamBroken,
    UsageError,
)
from maia_kernel.messages import RedactedThinking, Text, Thinking, ToolUse, user
from maia_kernel.providers.anthropic import AnthropicProvider
from maia_kernel.providers.base import BlockFinished, Provider, Request, TextChunk
from maia_kernel.providers.ollama import OllamaProvider
from maia_kernel.providers.openai import OpenAIProvider
from maia_kernel.providers.scripted import ScriptedProvider
from maia_kernel.providers.transport import Limits
from tests.support import server as http
from tests.support.replies import KEY, read


@dataclass
class Side:
    """One provider and the way to tell what it will be answered; items are those of the server."""

    name: str
    open: Callable[..., Provider]
    server: http.ModelServer
    file: Path
    entries: list[dict[str, Any]] = field(default_factory=list)

    def play(self, *items: http.Item, stop: str = "") -> None:
        if self.name != "scripted":
            self.server.reply(*items, stop=stop)
            return
        entry: dict[str, Any] = {"reply": [_yaml_item(item) for item in items]}
        self.entries.append({**entry, **({"stop": stop} if stop else {})})
        self.file.write_text(yaml.safe_dump(self.entries))

    def fail(self, status: int, message: str, kind: str, **headers: str) -> None:
        if self.name != "scripted":
            self.server.error(status, message, kind=kind, headers=headers)
            return
        fault: dict[str, Any] = {"status": status, "message": message, "kind": kind}
        if "retry-after" in headers:
            fault["retry_after"] = float(headers["retry-after"])
        self.entries.append({"reply": [{"fault": fault}]})
        self.file.write_text(yaml.safe_dump(self.entries))


def _yaml_item(item: http.Item) -> dict[str, Any]:
    match item:
        case http.Text():
            return {"text": item.text, "chunks": item.pieces, "seconds": item.seconds}
        case http.Thinking():
            return {"thinking": item.text, "signature": item.signature, "chunks": item.pieces}
        case http.Redacted():
            return {"redacted_thinking": item.data}
        case http.ToolUse():
            key = "raw" if isinstance(item.input, str) else "input"
            call = {"name": item.name, key: item.input}
            return {"tool_use": {**call, **({"id": item.id} if item.id else {})}, "chunks": 3}
        case http.Pause():
            return {"delay": item.seconds}
        case http.Cut():
            return {"fault": "broken"}


@pytest.fixture
async def opened() -> AsyncIterator[list[Provider]]:
    providers: list[Provider] = []
    yield providers
    for provider in providers:
        await provider.aclose()


@pytest.fixture(params=["scripted", "anthropic", "openai", "ollama"])
def side(
    request: pytest.FixtureRequest,
    server: http.ModelServer,
    opened: list[Provider],
    tmp_path: Path,
) -> Side:
    if request.param == "ollama":
        server = request.getfixturevalue("ollama")
    return _side(request.param, server, opened, tmp_path)


@pytest.fixture(params=["anthropic", "openai", "ollama"])
def http_side(
    request: pytest.FixtureRequest,
    server: http.ModelServer,
    opened: list[Provider],
    tmp_path: Path,
) -> Side:
    if request.param == "ollama":
        server = request.getfixturevalue("ollama")
    return _side(request.param, server, opened, tmp_path)


def _side(name: str, server: http.ModelServer, opened: list[Provider], folder: Path) -> Side:
    file = folder / "script.yaml"
    limits = Limits(connect=2, silence=20, total=30)

    def open_it(**settings: Any) -> Provider:
        settings = {"key": KEY, "limits": limits, **settings}
        provider: Provider
        if name == "scripted":
            provider = ScriptedProvider(file)
        elif name == "anthropic":
            provider = AnthropicProvider(base_url=settings.pop("url", server.url), **settings)
        elif name == "ollama":
            provider = OllamaProvider(base_url=settings.pop("url", server.url), **settings)
        else:
            url = settings.pop("url", server.openai_url)
            provider = OpenAIProvider("lab", base_url=url, **settings)
        opened.append(provider)
        return provider

    return Side(name, open_it, server, file)


async def test_text_comes_in_pieces_and_whole(side: Side) -> None:
    """Text sent in seven pieces gives seven chunks of one block, and the whole text."""
    side.play(http.text("Bonjour, ça va? 🙂", pieces=7))
    reply = await read(side.open())
    pieces = [c for c in reply.chunks if isinstance(c, TextChunk) and c.text]
    assert len(pieces) == 7
    assert reply.message.content == (Text("Bonjour, ça va? 🙂"),)
    assert reply.stop.reason == "end_turn"
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0


async def test_parallel_calls_come_whole_and_in_order(side: Side) -> None:
    """Text and three calls, one without input, give four blocks in order and the reason tool_use."""
    side.play(
        http.text("Reading."),
        http.tool_use("Read", {"file_path": "é.txt", "limit": 3}, id="call_a", pieces=9),
        http.tool_use("Read", {"file_path": "b.txt"}, id="call_b"),
        http.tool_use("TodoRead", {}, id="call_c"),
    )
    reply = await read(side.open())
    assert reply.message.content == (
        Text("Reading."),
        ToolUse("call_a", "Read", {"file_path": "é.txt", "limit": 3}),
        ToolUse("call_b", "Read", {"file_path": "b.txt"}),
        ToolUse("call_c", "TodoRead", {}),
    )
    assert reply.stop.reason == "tool_use"


async def test_every_block_ends_before_the_stop(side: Side) -> None:
    """Each block that began is finished exactly once, and the stop is last."""
    side.play(http.thinking("hm"), http.text("a"), http.tool_use("Read", {}))
    reply = await read(side.open())
    begun = {c.index for c in reply.chunks if hasattr(c, "index")}
    ended = [c.index for c in reply.chunks if isinstance(c, BlockFinished)]
    assert sorted(ended) == sorted(begun)


async def test_thinking_comes_before_the_answer(side: Side) -> None:
    """Reasoning is a block of its own; a signature and redacted blocks are kept where they exist."""
    side.play(http.thinking("Let me see", "sig"), http.redacted("xyz"), http.text("Hi"))
    content = (await read(side.open())).message.content
    if side.name in ("openai", "ollama"):  # these dialects know neither
        assert content == (Thinking("Let me see"), Text("Hi"))
    else:
        assert content == (Thinking("Let me see", "sig"), RedactedThinking("xyz"), Text("Hi"))


async def test_a_damaged_call_keeps_its_raw_input(side: Side) -> None:
    """Input that is not JSON comes out as it came, and nothing is guessed."""
    side.play(http.tool_use("Read", '{"file_path": "a.py", "limit": }', id="c1"))
    reply = await read(side.open())
    raw = '{"file_path": "a.py", "limit": }'
    assert reply.message.content == (ToolUse("c1", "Read", {}, raw),)


async def test_the_output_limit_is_told_by_name(side: Side) -> None:
    """A reply that was cut at the limit stops with max_tokens, also if a call was begun."""
    stop = "length" if side.name in ("openai", "ollama") else "max_tokens"
    side.play(http.text("Half"), http.tool_use("Read", '{"file_', id="c1"), stop=stop)
    reply = await read(side.open())
    assert reply.stop.reason == "max_tokens"
    assert reply.message.tool_uses[0].invalid_json == '{"file_'


async def test_an_empty_reply_names_the_finish_reason(side: Side) -> None:
    """Neither text nor a call is a ProtocolFault that says why the model stopped."""
    side.play()
    with pytest.raises(ProtocolFault, match=r"end_turn|stop"):
        await read(side.open())
    side.play(http.thinking("only thoughts"))
    with pytest.raises(ProtocolFault):
        await read(side.open() if side.name != "scripted" else _second(side))


def _second(side: Side) -> Provider:
    del side.entries[0]
    side.file.write_text(yaml.safe_dump(side.entries))
    return side.open()


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (400, "invalid_request_error", "tools.0: bad schema", BadRequest),
        (400, "invalid_request_error", "prompt is too long: 9 > 8 maximum", PromptTooLong),
        (400, "context_length_exceeded", "too much", PromptTooLong),
        (400, "exceed_context_size_error", "request exceeds", PromptTooLong),
        (401, "authentication_error", f"invalid key {KEY}", AuthenticationFailed),
        (403, "permission_error", "not yours", AuthenticationFailed),
        (404, "not_found_error", "model: m", ModelNotFound),
        (413, "request_too_large", "over 32 MB", BadRequest),
        (429, "rate_limit_error", "slow down", RateLimited),
        (429, "insufficient_quota", "You exceeded your current quota", BadRequest),
        (429, "rate_limit_error", "monthly spend limit reached", BadRequest),
        (500, "api_error", "oops", ServerFault),
        (503, "api_error", "Loading model", Overloaded),
        (529, "overloaded_error", "busy", Overloaded),
    ],
)
async def test_a_failed_request_says_what_kind_of_failure_it_is(
    side: Side, status: int, kind: str, message: str, expected: type[ProviderError]
) -> None:
    """Each status becomes its class, with status and one line that never holds the key."""
    side.fail(status, message, kind, **{"retry-after": "7"})
    with pytest.raises(ProviderError) as caught:
        await read(side.open())
    error = caught.value
    assert type(error) is expected
    assert error.status == status
    assert error.retry_after == 7
    assert error.provider
    line = str(error)
    assert "\n" not in line
    assert len(line) <= 500
    assert str(status) in line
    if side.name != "scripted":
        assert "127.0.0.1" in line
        assert KEY not in line
        assert len(side.server.requests) == 1  # retries are the loop's


async def test_a_reply_that_breaks_off_is_told(side: Side) -> None:
    """A connection that drops in the middle is StreamBroken, after what had come."""
    side.play(http.text("Half of"), http.cut())
    seen: list[object] = []

    async def consume() -> None:
        async for chunk in side.open().stream(Request("m", (user("Hi"),))):
            seen.append(chunk)

    with pytest.raises(StreamBroken):
        await consume()
    assert any(isinstance(chunk, TextChunk) and chunk.text == "Half of" for chunk in seen)


async def test_cancelling_ends_the_request_at_once(side: Side) -> None:
    """Cancelling the task that reads ends it in well under a second and closes the connection."""
    side.play(http.text("Hello"), http.pause(20), http.text("never"))
    provider = side.open()
    started = asyncio.Event()

    async def consume() -> None:
        async with aclosing(provider.stream(Request("m", (user("Hi"),)))) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                if isinstance(chunk, TextChunk) and chunk.text:
                    started.set()

    task = asyncio.create_task(consume())
    await asyncio.wait_for(started.wait(), 15)
    begin = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - begin < 2
    if side.name != "scripted":
        assert await asyncio.to_thread(side.server.client_left.wait, 5)


async def test_leaving_the_stream_early_closes_it(side: Side) -> None:
    """A consumer that stops reading after the first piece closes the connection."""
    side.play(http.text("Hello"), http.pause(20), http.text("never"))
    async with aclosing(side.open().stream(Request("m", (user("Hi"),)))) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            if isinstance(chunk, TextChunk) and chunk.text:
                break
    if side.name != "scripted":
        assert await asyncio.to_thread(side.server.client_left.wait, 5)


# Providers that speak HTTP.


async def test_a_refused_connection_names_host_and_port(http_side: Side) -> None:
    """Where nobody listens, the line says where it tried."""
    with pytest.raises(NetworkFault, match=r"127\.0\.0\.1:9.*refused"):
        await read(http_side.open(url="http://127.0.0.1:9/v1"))


async def test_silence_breaks_the_stream(http_side: Side) -> None:
    """Given a limit of 0.3 s between bytes, a server that goes silent is StreamBroken."""
    http_side.play(http.text("Hello"), http.pause(20))
    with pytest.raises(StreamBroken, match=r"0\.3 s"):
        await read(http_side.open(limits=Limits(silence=0.3)))


async def test_no_answer_in_time_is_a_timeout(http_side: Side) -> None:
    """A server that sends no headers in time is a NetworkFault that says so."""
    http_side.server.reply("late", delay=20)
    with pytest.raises(NetworkFault) as caught:
        await read(http_side.open(limits=Limits(silence=0.3)))
    assert caught.value.timed_out


async def test_the_total_time_counts_while_bytes_come(http_side: Side) -> None:
    """A reply that trickles longer than the total time ends with StreamBroken."""
    http_side.play(http.text("x" * 200, pieces=200, seconds=20))
    with pytest.raises(StreamBroken, match="API_TIMEOUT_MS"):
        await read(http_side.open(limits=Limits(total=1.5)))


@pytest.mark.parametrize(
    ("body", "kind", "named"),
    [
        ("<!doctype html><title>Sign in</title>", "text/html", "web page"),
        ("<html><body>x</body></html>", "application/json", "web page"),
        ("", "application/json", "empty body"),
        ("", "text/event-stream", "no event"),
        ('{"hello": "world"}', "application/json", "something else"),
        ("[1, 2]", "application/json", "something else"),
        ("OK", "text/plain", "no event"),
    ],
)
async def test_an_answer_of_another_kind_is_named(
    http_side: Side, body: str, kind: str, named: str
) -> None:
    """A web page, nothing, or other JSON with status 200 is a ProtocolFault with the address."""
    http_side.server.raw(body, kind=kind)
    if http_side.name == "ollama" and named == "no event":  # it knows lines, and no events
        named = "something else" if body else "empty body"
    with pytest.raises(ProtocolFault, match=named) as caught:
        await read(http_side.open())
    assert http_side.server.url in str(caught.value)


async def test_a_page_with_an_error_status_is_not_shown(http_side: Side) -> None:
    """A gateway's HTML with 502 is one line without markup."""
    http_side.server.html(status=502)
    with pytest.raises(ServerFault) as caught:
        await read(http_side.open())
    assert "<" not in str(caught.value)


async def test_a_redirect_is_named_and_not_followed(http_side: Side) -> None:
    """A redirect never carries the key elsewhere; its target is shown."""
    http_side.server.raw("", status=307, headers={"location": "http://example.com/v1"})
    with pytest.raises(ProviderError, match=r"example\.com"):
        await read(http_side.open())
    assert len(http_side.server.requests) == 1


async def test_damaged_events_are_a_protocol_fault(http_side: Side) -> None:
    """An event whose data is not JSON is named as such."""
    lines = '{"message": \n' if http_side.name == "ollama" else 'event: x\ndata: {"type": \n\n'
    http_side.server.sse(lines)
    with pytest.raises(ProtocolFault, match="cannot be read"):
        await read(http_side.open())


@pytest.mark.parametrize("url", ["", "nohost", "ftp://example.com", "http://", "http://[::1"])
async def test_what_is_no_address_is_refused_in_a_line(http_side: Side, url: str) -> None:
    """An address that cannot be used is one line, not a traceback of the SDK."""
    with pytest.raises(UsageError, match="http"):
        await read(http_side.open(url=url))


async def test_models_are_listed_with_their_spec(http_side: Side) -> None:
    """The list names each model as it is chosen."""
    provider = http_side.open()
    specs = [model.spec for model in await provider.models()]
    assert specs == [f"{provider.name}:model-one", f"{provider.name}:model-two"]


async def test_a_list_that_cannot_be_had_is_a_provider_error(http_side: Side) -> None:
    """A web page or an error instead of the list is told like any other."""
    provider = http_side.open()
    http_side.server.html()
    with pytest.raises(ProtocolFault):
        await provider.models()
    http_side.server.error(401, "no")
    with pytest.raises(AuthenticationFailed):
        await provider.models()


async def test_the_sdk_takes_nothing_from_the_environment(
    http_side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given vendors' keys, organisations and headers in the environment, none reaches the server."""
    canary = "canary-of-the-environment"
    for name in [
        "OPENAI_API_KEY",
        "OPENAI_ADMIN_KEY",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_PROFILE",
    ]:
        monkeypatch.setenv(name, canary)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, f"http://{canary}.example.com")
    lines = f"X-Secret: {canary}\nauthorization: Bearer {canary}\nx-api-key: {canary}"
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", lines)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", lines)
    http_side.play(http.text("Hi"))
    await read(http_side.open())
    sent = http_side.server.requests[0].headers
    assert canary not in str(sent)
    assert sent["authorization"] == f"Bearer {KEY}"


async def test_the_key_is_in_no_representation(http_side: Side) -> None:
    """Printing a provider or its endpoint never shows the key."""
    provider = http_side.open()
    assert KEY not in repr(provider)
    assert KEY not in repr(vars(provider)["_endpoint"])
