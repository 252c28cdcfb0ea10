"""The Messages API as the vendor and as other endpoints speak it."""

import json
import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest

from maia_kernel.errors import AuthenticationFailed, Overloaded, StreamBroken
from maia_kernel.messages import (
    Document,
    Image,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    assistant,
    user,
)
from maia_kernel.providers.anthropic import AnthropicProvider
from maia_kernel.providers.base import Capabilities, Request, SystemPart, ToolSpec
from maia_kernel.providers.base import Thinking as Wanted
from maia_kernel.usage import Usage
from tests.support.replies import KEY, read
from tests.support.server import ModelServer, Record
from tests.support.server import Text as Said

MARK = {"type": "ephemeral"}
MODEL = "claude-sonnet-5-5"


@pytest.fixture
async def claude(server: ModelServer) -> AsyncIterator[AnthropicProvider]:
    provider = AnthropicProvider(base_url=server.url, key=KEY)
    yield provider
    await provider.aclose()


def body_of(server: ModelServer) -> dict[str, Any]:
    body: dict[str, Any] = server.requests[-1].json
    return body


def message(*events: Record, stop: str = "end_turn", **details: Any) -> list[Record]:
    """The events of a message around those of its blocks."""
    delta = {"stop_reason": stop, **details}
    start = {"usage": {"input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 1}}
    return [
        {"type": "message_start", "message": start},
        *events,
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[Record]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


TEXT = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})


async def test_a_turn_goes_back_with_its_reasoning_unchanged(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """Thinking, redacted thinking and calls of a reply are echoed in order, signatures included."""
    server.sse(
        *message(
            *block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "hm"},
                {"type": "signature_delta", "signature": "s1"},
            ),
            *block(1, {"type": "redacted_thinking", "data": "opaque"}),
            *block(2, {"type": "thinking", "thinking": "", "signature": "s2"}),
            *block(
                3,
                {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}},
                {"type": "input_json_delta", "partial_json": '{"f": 1}'},
            ),
            stop="tool_use",
        )
    )
    reply = await read(claude, model=MODEL)
    server.reply("Done")
    result = Message("user", (ToolResult("toolu_1", (Text("found"),)),))
    await read(claude, model=MODEL, messages=(user("Hi"), reply.message, result))
    assert body_of(server)["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s1"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "thinking", "thinking": "", "signature": "s2"},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"f": 1}},
    ]


async def test_a_conversation_of_another_provider_is_taken(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """Unsigned reasoning is left out, foreign ids and broken input are made acceptable."""
    messages = (
        user("Look", Image("image/png", "aGk="), Document("application/pdf", "aGk=", "p.pdf"), ""),
        assistant(Thinking("unsigned"), ToolUse("functions.Read:0", "Read", {}, '{"f":')),
        Message("user", (ToolResult("functions.Read:0", (Text("bad"),), True), Text("so"))),
        assistant(Thinking("only thoughts")),
        Message("user", (ToolResult("x", ()),)),
    )
    server.reply("Hi")
    await read(claude, model=MODEL, messages=messages)
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    paper = {**source, "media_type": "application/pdf"}
    assert body_of(server)["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image", "source": source},
                {"type": "document", "source": paper, "title": "p.pdf"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool_use",
                    "id": "functions_Read_0",
                    "name": "Read",
                    "input": {"INVALID_JSON": '{"f":'},
                }
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "functions_Read_0",
                    "content": [{"type": "text", "text": "bad"}],
                    "is_error": True,
                },
                {"type": "text", "text": "so"},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]},
    ]


async def test_cache_marks_stand_where_they_may_and_are_at_most_four(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """Marks go on system parts and on the last block of a message that takes one; old ones go first."""
    messages = (
        user("one"),
        assistant("two", Thinking("hm", "sig")),
        Message("user", (ToolResult("a", (Text("three"),)),)),
        user("four"),
    )
    server.reply("Hi")
    await read(
        claude,
        Request(
            MODEL,
            messages,
            (SystemPart("static", True), SystemPart("session", True), SystemPart("now")),
            (ToolSpec("Read", "Reads", {"type": "object"}),),
            cache_after=(0, 1, 2),
        ),
    )
    body = body_of(server)
    assert [part.get("cache_control") for part in body["system"]] == [MARK, MARK, None]
    marked = [
        [part["type"] for part in message["content"] if "cache_control" in part]
        for message in body["messages"]
    ]
    assert marked == [[], ["text"], ["tool_result"], []]
    assert body["tools"] == [
        {"name": "Read", "description": "Reads", "input_schema": {"type": "object"}}
    ]


@pytest.mark.parametrize(
    ("model", "wanted", "max_tokens", "sent"),
    [
        (MODEL, None, None, {}),
        (MODEL, Wanted(effort="max"), None, {"effort": "max", "type": "adaptive"}),
        (MODEL, Wanted(budget_tokens=5000), None, {"effort": "medium", "type": "adaptive"}),
        (MODEL, Wanted(budget_tokens=0), None, {"type": "disabled"}),
        ("claude-fable-5-2", Wanted(budget_tokens=0), None, {}),
        ("claude-opus-4-6", Wanted(budget_tokens=5000), None, {"type": "enabled", "tokens": 5000}),
        ("claude-opus-4-6", Wanted(effort="low"), None, {"effort": "low", "type": "adaptive"}),
        ("claude-haiku-4-5", Wanted(effort="low"), None, {"type": "enabled", "tokens": 2048}),
        ("claude-haiku-4-5", Wanted(budget_tokens=99), None, {"type": "enabled", "tokens": 1024}),
        ("claude-haiku-4-5", Wanted(effort="max"), 8000, {"type": "enabled", "tokens": 6976}),
        ("claude-haiku-4-5", Wanted(effort="max"), 1500, {}),
        ("claude-3-5-haiku", Wanted(effort="high"), None, {}),
        ("somebody-s-model", Wanted(effort="high"), None, {}),
    ],
)
async def test_thinking_is_asked_for_as_the_model_takes_it(
    server: ModelServer,
    claude: AnthropicProvider,
    model: str,
    wanted: Wanted | None,
    max_tokens: int | None,
    sent: dict[str, Any],
) -> None:
    """Effort and budget are mapped by the model's family, fitted under the limit, or left out."""
    server.reply("Hi")
    await read(claude, model=model, thinking=wanted, max_tokens=max_tokens)
    body = body_of(server)
    thinking = body.get("thinking", {})
    found = {
        "effort": body.get("output_config", {}).get("effort"),
        "type": thinking.get("type"),
        "tokens": thinking.get("budget_tokens"),
    }
    assert {name: value for name, value in found.items() if value is not None} == sent


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        (MODEL, None, 32_000),
        (MODEL, 64_000, 64_000),
        (MODEL, 999_999, 128_000),
        ("claude-3-5-haiku", None, 8_192),
        ("somebody-s-model", None, 32_000),
        ("somebody-s-model", 50_000, 50_000),
    ],
)
async def test_the_output_limit_is_always_sent_and_within_the_model_s(
    server: ModelServer, claude: AnthropicProvider, model: str, asked: int | None, sent: int
) -> None:
    """The API insists on max_tokens: what was asked, else 32,000, never more than the model has."""
    server.reply("Hi")
    await read(claude, model=model, max_tokens=asked)
    assert body_of(server)["max_tokens"] == sent


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "end_turn"),
        ("stop_sequence", "stop_sequence"),
        ("pause_turn", "pause_turn"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_window_exceeded"),
        ("max_tokens", "max_tokens"),
        ("something_new", "end_turn"),
    ],
)
async def test_stop_reasons_have_their_names(
    server: ModelServer, claude: AnthropicProvider, word: str, reason: str
) -> None:
    """Every reason of the API has its neutral one, with the server's word beside it."""
    server.sse(*message(*TEXT, stop=word))
    stop = (await read(claude)).stop
    assert (stop.reason, stop.detail) == (reason, word)


async def test_a_refusal_before_any_word_is_no_fault(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """A refusal without text is a reply with its reason and explanation."""
    details = {"category": "cyber", "explanation": "not this"}
    server.sse(*message(stop="refusal", stop_details=details))
    stop = (await read(claude)).stop
    assert (stop.reason, stop.detail) == ("refusal", "cyber: not this")


async def test_usage_is_the_newest_total(server: ModelServer, claude: AnthropicProvider) -> None:
    """Numbers of message_delta replace those of message_start; missing ones stay."""
    records = message(*TEXT)
    details = {"thinking_tokens": 4}
    usage = {"output_tokens": 9, "cache_creation_input_tokens": 3, "input_tokens": None}
    records[-2] = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {**usage, "output_tokens_details": details},
    }
    server.sse(*records)
    assert (await read(claude)).usage == Usage(7, 9, 5, 3, 4)


async def test_what_is_unknown_is_passed_over(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """New events, blocks and deltas of the API do not disturb what is known."""
    server.sse(
        *message(
            {"type": "ping"},
            {"type": "brand_new_event", "x": 1},
            *block(0, {"type": "brand_new_block"}, {"type": "brand_new_delta", "text": "no"}),
            *block(
                1,
                {"type": "text", "text": ""},
                {"type": "citations_delta", "citation": {}},
                {"type": "text_delta", "text": "Hi"},
            ),
        )
    )
    assert (await read(claude)).message.content == (Text("Hi"),)


async def test_events_without_a_name_are_read(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """A gateway that leaves out `event:` lines, or the type in the data, is understood."""
    records = message(*TEXT)
    named = [
        f"event: {record['type']}\ndata: {json.dumps({k: v for k, v in record.items() if k != 'type'})}\n\n"
        for record in records
        if isinstance(record, dict)
    ]
    server.sse(*(f"data: {json.dumps(record)}\n\n" for record in records))
    server.sse(*named)
    assert (await read(claude)).message.text == "Hi"
    assert (await read(claude)).message.text == "Hi"


async def test_a_call_without_deltas_keeps_its_input(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """Input that comes whole with the start of the block counts; no input at all is {}."""
    server.sse(
        *message(
            *block(0, {"type": "tool_use", "id": "a", "name": "Read", "input": {"f": 1}}),
            *block(1, {"type": "tool_use", "id": "b", "name": "List"}),
            stop="end_turn",
        )
    )
    reply = await read(claude)
    assert reply.message.content == (ToolUse("a", "Read", {"f": 1}), ToolUse("b", "List", {}))
    assert reply.stop.reason == "tool_use"


async def test_a_whole_message_instead_of_a_stream_is_read(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """An endpoint that ignores `stream` and answers in one JSON is understood."""
    content = [{"type": "text", "text": "Hi"}]
    usage = {"input_tokens": 3, "output_tokens": 4}
    server.raw(json.dumps({"content": content, "stop_reason": "end_turn", "usage": usage}))
    reply = await read(claude)
    assert (reply.message.content, reply.usage) == ((Text("Hi"),), Usage(3, 4))


async def test_an_end_without_message_stop_is_broken(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """However cleanly the connection ends, a message without its end is broken."""
    server.sse(*message(*TEXT)[:-1])
    with pytest.raises(StreamBroken):
        await read(claude)


async def test_an_error_event_has_the_class_of_its_type(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """overloaded_error in the middle of a stream of status 200 is Overloaded with status 529."""
    error = {"type": "overloaded_error", "message": "Overloaded"}
    server.sse(*message(*TEXT)[:3], {"type": "error", "error": error})
    with pytest.raises(Overloaded) as caught:
        await read(claude)
    assert caught.value.status == 529


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        (
            {"key": KEY},
            {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "anthropic-version": "2023-06-01"},
        ),
        (
            {"key": KEY, "auth_style": "bearer"},
            {"authorization": f"Bearer {KEY}", "x-api-key": None},
        ),
        ({"key": KEY, "auth_style": "x-api-key"}, {"authorization": None, "x-api-key": KEY}),
        ({"token": KEY}, {"authorization": f"Bearer {KEY}", "x-api-key": None}),
        ({"key": KEY, "api_version": "2026-10-21"}, {"anthropic-version": "2026-10-21"}),
        ({}, {"authorization": "Bearer not-needed"}),
        ({"key": KEY, "headers": {"X-Team": "a"}}, {"x-team": "a"}),
    ],
)
async def test_the_key_goes_out_as_set(
    server: ModelServer, settings: dict[str, Any], sent: dict[str, str | None]
) -> None:
    """Key or token, header and version are as the settings say; other hosts get both headers."""
    provider = AnthropicProvider(base_url=server.url, **settings)
    server.reply("Hi")
    await read(provider)
    await provider.aclose()
    headers = server.requests[0].headers
    assert {name: headers.get(name) for name in sent} == sent


def test_the_vendor_gets_the_sdk_s_version_and_one_header() -> None:
    """At the vendor's own address the key is a bearer and the version is the SDK's."""
    assert AnthropicProvider(key=KEY).auth_headers() == {"Authorization": f"Bearer {KEY}"}


async def test_the_vendor_without_a_key_says_what_to_set() -> None:
    """api.anthropic.com is not even asked without a key."""
    with pytest.raises(AuthenticationFailed, match="ANTHROPIC_API_KEY"):
        await read(AnthropicProvider())


async def test_old_models_warn_nobody(server: ModelServer, claude: AnthropicProvider) -> None:
    """A model near its end, with a thinking budget, brings no warning into the person's cell."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        server.reply("Hi")
        await read(claude, model="claude-opus-4-5", thinking=Wanted(budget_tokens=2000))
    assert [warning for warning in caught if "anthropic" in str(warning.filename)] == []


async def test_parameters_of_the_server_are_sent(server: ModelServer) -> None:
    """Extra fields of the settings and of the request stand at the top level."""
    provider = AnthropicProvider(base_url=server.url, params={"temperature": 0, "top_k": 1})
    server.reply("Hi")
    await read(provider, params={"top_k": 2})
    await provider.aclose()
    assert (body_of(server)["temperature"], body_of(server)["top_k"]) == (0, 2)


async def test_every_page_of_models_is_read_and_windows_are_kept(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """Five models in pages of two are all listed; their windows count from then on."""
    server.models = [{"id": f"model-{n}", "display_name": f"Model {n}"} for n in range(5)]
    server.models[3].update(max_input_tokens=300_000, max_tokens=9_000)
    models = await claude.models()
    assert [model.spec for model in models] == [f"anthropic:model-{n}" for n in range(5)]
    assert models[3].label == "Model 3"
    assert "300,000" in models[3].detail
    known: Capabilities = claude.capabilities("model-3")
    assert (known.context_window, known.max_output) == (300_000, 9_000)


async def test_a_long_answer_costs_time_in_proportion(
    server: ModelServer, claude: AnthropicProvider
) -> None:
    """Two thousand pieces are read whole and in order."""
    whole = "".join(f"{number} " for number in range(4000))
    server.reply(Said(whole, pieces=2000))
    assert (await read(claude)).message.text == whole


async def test_redacted_thinking_survives_storage() -> None:
    """What goes into a session file comes out the same."""
    before = assistant(Thinking("a", "s"), RedactedThinking("d"), ToolUse("i", "n", {"x": 1}))
    assert Message.from_dict(json.loads(json.dumps(before.to_dict()))) == before
