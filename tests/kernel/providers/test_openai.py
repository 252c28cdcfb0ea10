"""Chat completions as servers really send them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from maia_kernel.errors import (
    AuthenticationFailed,
    BadRequest,
    PromptTooLong,
    ProviderError,
    ServerFault,
    StreamBroken,
)
from maia_kernel.messages import (
    Block,
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
from maia_kernel.providers.base import Capabilities, Request, SystemPart, ToolSpec
from maia_kernel.providers.base import Thinking as Wanted
from maia_kernel.providers.openai import OpenAIProvider
from maia_kernel.providers.openai_servers import server_url
from maia_kernel.usage import Usage
from tests.support.replies import KEY, read
from tests.support.server import Cut, ModelServer, Record

DONE = "data: [DONE]\n\n"
PNG = Image("image/png", "aGk=")


@pytest.fixture
async def lab(server: ModelServer) -> AsyncIterator[OpenAIProvider]:
    provider = OpenAIProvider("lab", base_url=server.openai_url)
    yield provider
    await provider.aclose()


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(arguments: Any, **fields: Any) -> dict[str, Any]:
    name = fields.pop("name", None)
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return delta(tool_calls=[{"function": function, **fields}])


READ_A, READ_B = ToolUse("a", "Read", {"f": 1}), ToolUse("b", "Read", {"f": 2})

CALLS: dict[str, list[dict[str, Any]]] = {
    "as the API says": [
        call("", index=0, id="a", type="function", name="Read"),
        call('{"f"', index=0),
        call("", index=1, id="b", name="Read"),
        call(": 1}", index=0),
        call('{"f": 2}', index=1),
    ],
    "one index for all": [
        call('{"f": 1}', index=0, id="a", name="Read"),
        call('{"f": 2}', index=0, id="b", name="Read"),
    ],
    "no index": [
        call('{"f": ', id="a", name="Read"),
        call("1}"),
        call('{"f": 2}', id="b", name="Read"),
    ],
    "id and name in every delta": [
        call('{"f"', index=0, id="a", name="Read"),
        call(": 1}", index=0, id="a", name="Read"),
        call('{"f": ', index=1, id="b", name="Read"),
        call("2}", index=1, id="b", name="Read"),
    ],
    "a new id in every delta": [
        call('{"f"', index=0, id="a", name="Read"),
        call(": 1}", index=0, id="x"),
        call('{"f": 2}', index=1, id="b", name="Read"),
    ],
    "arguments as objects": [
        call({"f": 1}, index=0, id="a", name="Read"),
        call({"f": 2}, index=1, id="b", name="Read"),
    ],
    "name after the arguments": [
        call('{"f": 1', index=0, id="a"),
        call("}", index=0, name="Read"),
        call('{"f": 2}', index=1, id="b", name="Read"),
    ],
    "both at once": [
        delta(
            tool_calls=[
                {"index": 0, "id": "a", "function": {"name": "Read", "arguments": '{"f": 1}'}},
                {"index": 1, "id": "b", "function": {"name": "Read", "arguments": '{"f": 2}'}},
            ]
        )
    ],
    "nulls around": [
        call(None, index=0, id="a", name="Read"),
        delta(tool_calls=None, content=None),
        call('{"f": 1}', index=0, id=None),
        call('{"f": 2}', index=1, id="b", name="Read"),
        {"choices": None},
        {"choices": [{"delta": None}]},
        {"choices": []},
        {},
    ],
}


@pytest.mark.parametrize("chunks", CALLS.values(), ids=CALLS.keys())
async def test_two_calls_in_every_server_s_manner(
    server: ModelServer, lab: OpenAIProvider, chunks: list[dict[str, Any]]
) -> None:
    """However a server spells two calls, they come out as the same two calls."""
    server.sse(*chunks, delta("tool_calls"), DONE)
    assert (await read(lab)).message.content == (READ_A, READ_B)


@pytest.mark.parametrize("index", [0, None])
async def test_calls_without_ids_get_ids_of_their_own(
    server: ModelServer, lab: OpenAIProvider, index: int | None
) -> None:
    """Calls that come without ids, one after another, are told apart and get different ids."""
    server.sse(
        call('{"f": ', index=index, name="Read"),
        call("1}", index=index),
        call("", index=index, name="Read"),
        call('{"f": 2}', index=index),
        delta("stop"),
        DONE,
    )
    first, second = (await read(lab)).message.tool_uses
    assert (dict(first.input), dict(second.input)) == ({"f": 1}, {"f": 2})
    assert first.id.startswith("call_")
    assert first.id != second.id


async def test_the_older_call_field_beside_the_new_one_is_not_a_second_call(
    server: ModelServer, lab: OpenAIProvider
) -> None:
    """A server that repeats a call as function_call gives one call; function_call alone works too."""
    old = {"name": "Read", "arguments": '{"f": 1}'}
    both = call('{"f": 1}', index=0, id="a", name="Read")
    both["choices"][0]["delta"]["function_call"] = old
    server.sse(both, delta("tool_calls"), DONE)
    assert (await read(lab)).message.content == (READ_A,)
    server.sse(delta(function_call=old), delta("function_call"), DONE)
    assert (await read(lab)).message.tool_uses[0].input == {"f": 1}


@pytest.mark.parametrize(
    "pieces",
    [
        [delta(reasoning_content="h"), delta(reasoning_content="m"), delta(content="Hi")],
        [delta(reasoning="hm"), delta(content="Hi")],
        [delta(reasoning="hm", reasoning_details=[{"text": "hm"}]), delta(content="Hi")],
        [delta(reasoning_details=[{"type": "x", "text": "hm"}]), delta(content="Hi")],
        [delta(content="<thi"), delta(content="nk>hm</th"), delta(content="ink>\n\nHi")],
        [delta(content=[{"type": "thinking", "thinking": [{"text": "hm"}]}]), delta(content="Hi")],
        [
            delta(reasoning_content="hm", content=""),
            delta(content=[{"type": "text", "text": "Hi"}]),
        ],
    ],
)
async def test_reasoning_is_found_under_every_name(
    server: ModelServer, lab: OpenAIProvider, pieces: list[dict[str, Any]]
) -> None:
    """Reasoning in any known field, in parts or between tags is a thinking block before the text."""
    server.sse(*pieces, delta("stop"), DONE)
    assert (await read(lab)).message.content == (Thinking("hm"), Text("Hi"))


async def test_a_model_that_begins_inside_think_tags_is_remembered(
    server: ModelServer, lab: OpenAIProvider
) -> None:
    """Once an answer held only the closing tag, what comes before it is reasoning from then on."""
    server.sse(delta(content="hm</think>Hi"), delta("stop"), DONE)
    await read(lab)
    server.sse(delta(content="hm</thi"), delta(content="nk>Hi"), delta("stop"), DONE)
    assert (await read(lab)).message.content == (Thinking("hm"), Text("Hi"))
    server.sse(delta(content="Just "), delta(content="Hi"), delta("stop"), DONE)
    assert (await read(lab)).message.text == "Just Hi"


@pytest.mark.parametrize(
    ("word", "calls", "reason"),
    [
        ("stop", False, "end_turn"),
        ("eos_token", False, "end_turn"),
        ("stop", True, "tool_use"),
        ("tool_calls", True, "tool_use"),
        ("function_call", True, "tool_use"),
        ("length", False, "max_tokens"),
        ("max_tokens", True, "max_tokens"),
        ("model_length", False, "max_tokens"),
        ("content_filter", False, "refusal"),
    ],
)
async def test_finish_reasons_are_mapped(
    server: ModelServer, lab: OpenAIProvider, word: str, calls: bool, reason: str
) -> None:
    """Known words have their meaning, unknown ones end the turn, and calls count more than `stop`."""
    made = [call('{"f": 1}', index=0, id="a", name="Read")] if calls else []
    server.sse(delta(content="Hi"), *made, delta(word), DONE)
    stop = (await read(lab)).stop
    assert (stop.reason, stop.detail) == (reason, word)


async def test_a_refusal_is_text_with_its_reason(server: ModelServer, lab: OpenAIProvider) -> None:
    """A refusal's words are shown, and the reason is refusal."""
    server.sse(delta(refusal="I cannot."), delta("stop"), DONE)
    reply = await read(lab)
    assert (reply.message.text, reply.stop.reason) == ("I cannot.", "refusal")


async def test_usage_counts_cache_and_reasoning(server: ModelServer, lab: OpenAIProvider) -> None:
    """The total of the prompt is split into what was cached and what was not."""
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "completion_tokens_details": {"reasoning_tokens": 7},
    }
    server.sse(
        {**delta(content="Hi"), "usage": None},
        delta("stop"),
        {"choices": [], "usage": usage},
        DONE,
    )
    assert (await read(lab)).usage == Usage(30, 20, 60, 10, 7)


async def test_missing_usage_is_estimated(server: ModelServer, lab: OpenAIProvider) -> None:
    """Where a server counts nothing, MAIA does, and says that it is an estimate."""
    server.sse(delta(content="word " * 100), delta("stop"), DONE)
    usage = (await read(lab, messages=(user("question " * 50),))).usage
    assert usage.estimated
    assert 90 < usage.output_tokens < 200
    assert 80 < usage.input_tokens < 200


@pytest.mark.parametrize(
    ("records", "whole"),
    [
        ([delta(content="Hi"), delta("stop"), DONE], True),
        ([delta(content="Hi"), delta("stop")], True),
        ([delta(content="Hi"), DONE], True),
        ([delta(content="Hi"), delta("stop"), Cut()], True),
        ([delta(content="Hi")], False),
        ([delta(content="Hi"), Cut()], False),
        ([delta(content="Hi"), Cut(reset=True)], False),
    ],
)
async def test_an_end_needs_a_finish_reason_or_the_marker(
    server: ModelServer, lab: OpenAIProvider, records: list[Record], whole: bool
) -> None:
    """A reply without finish reason and without [DONE] is broken, however cleanly it ends."""
    server.sse(*records)
    if whole:
        assert (await read(lab)).message.text == "Hi"
    else:
        with pytest.raises(StreamBroken):
            await read(lab)


async def test_a_whole_completion_instead_of_a_stream_is_read(
    server: ModelServer, lab: OpenAIProvider
) -> None:
    """A server that ignores `stream` and answers in one JSON is understood."""
    function = {"name": "Read", "arguments": {"f": 1}}
    message = {"content": "Hi", "tool_calls": [{"id": "a", "function": function}]}
    body = {
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    server.raw(json.dumps(body))
    reply = await read(lab)
    assert reply.message.content == (Text("Hi"), READ_A)
    assert reply.usage == Usage(3, 4)


async def test_events_under_a_wrong_content_type_are_read(
    server: ModelServer, lab: OpenAIProvider
) -> None:
    """Events that a server calls JSON are still events."""
    events = f"data: {json.dumps(delta('stop', content='Hi'))}\r\n\r\n{DONE}"
    server.raw(events, kind="application/json")
    assert (await read(lab)).message.text == "Hi"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"error": {"message": "boom", "code": 500}}, ServerFault),
        ({"error": {"message": "too long", "type": "exceed_context_size_error"}}, PromptTooLong),
        ({"error": "plain words"}, ServerFault),
        ({"object": "error", "message": "no such thing", "code": 400}, BadRequest),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
async def test_an_error_inside_an_answer_of_200_is_an_error(
    server: ModelServer,
    lab: OpenAIProvider,
    record: dict[str, Any],
    expected: type[ProviderError],
    streamed: bool,
) -> None:
    """An error object is found in a stream and in a whole answer, in each of its shapes."""
    if streamed:
        server.sse(delta(content="Hi"), record, DONE)
    else:
        server.raw(json.dumps(record))
    with pytest.raises(expected):
        await read(lab)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Unrecognized request argument supplied: stream_options"}},
        {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]},
    ],
)
async def test_a_field_the_server_refuses_is_left_out_from_then_on(
    server: ModelServer, lab: OpenAIProvider, body: dict[str, Any]
) -> None:
    """A 400 that names an optional field is answered by asking without it, once and for all."""
    server.raw(json.dumps(body), status=400)
    server.reply("Hi")
    server.reply("Again")
    await read(lab)
    await read(lab)
    assert ["stream_options" in request.json for request in server.requests] == [True, False, False]


async def test_the_other_name_of_the_output_limit_is_found(
    server: ModelServer, lab: OpenAIProvider
) -> None:
    """A server that wants max_completion_tokens gets it."""
    server.error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    server.reply("Hi")
    await read(lab, max_tokens=9)
    assert [request.json.get("max_tokens") for request in server.requests] == [9, None]
    assert server.requests[1].json["max_completion_tokens"] == 9


async def test_a_field_the_person_set_is_never_dropped(server: ModelServer) -> None:
    """A refused parameter of the person's own is an error that names it."""
    provider = OpenAIProvider("lab", base_url=server.openai_url, params={"top_k": 5})
    server.error(400, "unknown field top_k")
    with pytest.raises(BadRequest, match="top_k"):
        await read(provider)
    assert server.requests[0].json["top_k"] == 5
    await provider.aclose()


def body_of(server: ModelServer) -> dict[str, Any]:
    body: dict[str, Any] = server.requests[-1].json
    return body


async def test_a_conversation_is_told_in_the_dialect(server: ModelServer) -> None:
    """System, calls, results, pictures and broken input become messages every server takes."""
    provider = OpenAIProvider(
        "lab",
        base_url=server.openai_url,
        capabilities=lambda model: Capabilities(images=True, pdf=False),
    )
    messages = (
        user("Look", PNG, Document("application/pdf", "aGk=", "paper.pdf")),
        assistant(
            Thinking("hm", "sig"),
            RedactedThinking("x"),
            "Reading",
            READ_A,
            ToolUse("b", "R", {}, "{"),
        ),
        Message(
            "user",
            (
                ToolResult("a", (Text("found"), PNG)),
                ToolResult("b", (Text("no file"),), True),
                Text("<system-reminder>x</system-reminder>"),
            ),
        ),
        assistant(Thinking("only thoughts")),
        user("Go on"),
    )
    server.reply("Hi")
    request = Request(
        "m",
        messages,
        (SystemPart("Rules", cache=True), SystemPart("Today")),
        (ToolSpec("Read", "Reads", {"type": "object"}),),
        params={"temperature": 0},
    )
    await read(provider, request)
    await provider.aclose()
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    left_out = "[document paper.pdf left out: this model cannot read it]"
    assert body_of(server)["messages"] == [
        {"role": "system", "content": "Rules\n\nToday"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Look"}, url, {"type": "text", "text": left_out}],
        },
        {
            "role": "assistant",
            "content": "Reading",
            "tool_calls": [
                _function("a", "Read", '{"f": 1}'),
                _function("b", "R", '{"INVALID_JSON": "{"}'),
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "found"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no file"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Images of the tool results above:"},
                url,
                {"type": "text", "text": "<system-reminder>x</system-reminder>"},
            ],
        },
        {"role": "user", "content": "Go on"},
    ]
    assert body_of(server)["tools"][0]["function"]["name"] == "Read"
    assert body_of(server)["temperature"] == 0
    assert body_of(server)["stream"] is True
    assert "max_tokens" not in body_of(server)


def _function(id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


async def test_pictures_a_model_cannot_see_are_named_instead(
    server: ModelServer, lab: OpenAIProvider
) -> None:
    """For a model without images, each picture becomes a line, also in a tool result."""
    blocks: tuple[Block, ...] = (ToolResult("a", (PNG,)), PNG)
    server.reply("Hi")
    await read(lab, messages=(user("x"), assistant(READ_A), Message("user", blocks)))
    left_out = "[image left out: this model cannot see images]"
    assert [m["content"] for m in body_of(server)["messages"][2:]] == [left_out, left_out]


@pytest.mark.parametrize(
    ("model", "wanted", "sent"),
    [
        ("gpt-5.5", Wanted(effort="high"), "high"),
        ("gpt-5.5", Wanted(budget_tokens=5000), "medium"),
        ("openai/gpt-oss-20b", Wanted(effort="low"), "low"),
        ("gpt-4o", Wanted(effort="high"), None),
        ("unheard-of", Wanted(effort="high"), None),
    ],
)
async def test_effort_goes_where_the_model_takes_it(
    server: ModelServer, lab: OpenAIProvider, model: str, wanted: Wanted, sent: str | None
) -> None:
    """Effort, or a budget as effort, is sent to the families that know it and to no other."""
    server.reply("Hi")
    await read(lab, model=model, thinking=wanted)
    assert body_of(server).get("reasoning_effort") == sent


async def test_a_server_without_key_gets_a_dummy_one(
    server: ModelServer, lab: OpenAIProvider
) -> None:
    """Where no key is set, a fixed word goes out in its place."""
    server.reply("Hi")
    await read(lab)
    assert server.requests[0].headers["authorization"] == "Bearer not-needed"


async def test_the_vendor_without_a_key_says_what_to_set() -> None:
    """api.openai.com is not even asked without a key."""
    with pytest.raises(AuthenticationFailed, match="OPENAI_API_KEY"):
        await read(OpenAIProvider("openai", base_url="https://api.openai.com/v1"))


async def test_the_password_of_an_address_is_never_shown(server: ModelServer) -> None:
    """An address with user and password is shown without them."""
    url = server.openai_url.replace("http://", f"http://me:{KEY}@")
    provider = OpenAIProvider("lab", base_url=url)
    server.html()
    with pytest.raises(ProviderError) as caught:
        await read(provider)
    await provider.aclose()
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "listed",
    [
        {"data": [{"id": "a"}, {"id": "b"}]},
        {"models": [{"name": "a"}, {"name": "b"}], "object": "list"},
        [{"id": "a"}, {"id": "b"}],
        {"data": ["a", "b"]},
    ],
)
async def test_every_shape_of_model_list_is_read(
    server: ModelServer, lab: OpenAIProvider, listed: Any
) -> None:
    """Lists under data, under models, bare, or of plain names give the same models."""
    server.raw(json.dumps(listed))
    assert [model.spec for model in await lab.models()] == ["lab:a", "lab:b"]


@pytest.mark.parametrize(
    ("family", "written", "url"),
    [
        ("vllm", "", "http://127.0.0.1:8000/v1"),
        ("vllm", "http://gpu.example.com:9000", "http://gpu.example.com:9000/v1"),
        ("vllm", "http://gpu.example.com:9000/", "http://gpu.example.com:9000/v1"),
        ("vllm", "http://gpu.example.com/api/v2", "http://gpu.example.com/api/v2"),
        ("openvino", "http://h.example.com", "http://h.example.com/v3"),
        ("unheard-of", "http://h.example.com", "http://h.example.com/v1"),
    ],
)
def test_a_server_s_address_is_completed_from_its_family(
    family: str, written: str, url: str
) -> None:
    """No address means the family's own, a bare host gets the family's path."""
    assert server_url(family, written) == url
