"""`scripted:FILE` replays a file and checks what it is sent."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from maia_kernel.errors import (
    ModelNotFound,
    NetworkFault,
    ProtocolFault,
    ProviderError,
    RateLimited,
    StreamBroken,
)
from maia_kernel.messages import Image, Message, Text, ToolResult, ToolUse, assistant, user
from maia_kernel.providers.base import Capabilities, Request, SystemPart, TextChunk, ToolSpec
from maia_kernel.providers.scripted import ScriptedProvider
from maia_kernel.usage import Usage
from tests.support.replies import read


def script(folder: Path, data: Any) -> ScriptedProvider:
    (folder / "script.yaml").write_text(data if isinstance(data, str) else yaml.safe_dump(data))
    return ScriptedProvider(cwd=folder)


def request(*messages: Message, **fields: Any) -> Request:
    return Request("script.yaml", messages or (user("fix it please"),), **fields)


async def test_entries_are_played_in_order(tmp_path: Path) -> None:
    """Each request gets the next entry; a relative file starts in the working folder."""
    provider = script(tmp_path, [{"reply": "One"}, {"reply": ["Two"]}])
    assert (await read(provider, request())).message.text == "One"
    assert (await read(provider, request())).message.text == "Two"


async def test_one_request_too_many_says_so(tmp_path: Path) -> None:
    """Past the last entry it is an error that names the file and the count."""
    provider = script(tmp_path, [{"reply": "One"}])
    await read(provider, request())
    with pytest.raises(ProtocolFault, match=r"script\.yaml has 1 entries"):
        await read(provider, request())


async def test_a_loop_starts_over(tmp_path: Path) -> None:
    """With loop: true the first entry follows the last; calls still get different ids."""
    provider = script(
        tmp_path, {"loop": True, "entries": [{"reply": [{"tool_use": {"name": "A"}}]}]}
    )
    ids = {(await read(provider, request())).message.tool_uses[0].id for _ in range(3)}
    assert len(ids) == 3


async def test_text_is_paced(tmp_path: Path) -> None:
    """Text in 10 chunks over half a second comes in 10 chunks in about that time."""
    item = {"text": "0123456789", "repeat": 3, "chunks": 10, "seconds": 0.5}
    provider = script(tmp_path, [{"reply": [item]}])
    start = time.monotonic()
    reply = await read(provider, request())
    assert 0.3 < time.monotonic() - start < 5
    assert [c.text for c in reply.chunks if isinstance(c, TextChunk)] == [
        "012",
        "345",
        "678",
        "901",
        "234",
        "567",
        "890",
        "123",
        "456",
        "789",
    ]


async def test_usage_stop_and_delay_are_as_written(tmp_path: Path) -> None:
    """Usage and reason of an entry are reported; a delay is waited for."""
    entry = {
        "reply": [{"delay": 0.2}, "Half"],
        "usage": {"input_tokens": 7, "output_tokens": 2, "cache_read_tokens": 5},
        "stop": "max_tokens",
    }
    start = time.monotonic()
    reply = await read(script(tmp_path, [entry]), request())
    assert time.monotonic() - start >= 0.2
    assert reply.usage == Usage(7, 2, 5)
    assert reply.stop.reason == "max_tokens"


MESSAGES = (
    user("old"),
    assistant(ToolUse("c", "Bash", {})),
    Message("user", (ToolResult("c", (Text("3 passed"), Image("image/png", "aa")), True),)),
)
FIELDS: dict[str, Any] = {
    "system": (SystemPart("You are MAIA"),),
    "tools": (ToolSpec("Read", "", {}), ToolSpec("Edit", "", {})),
}


@pytest.mark.parametrize(
    ("expect", "met"),
    [
        ("old", True),
        ({"contains": "old"}, True),
        ({"contains": ["old", "new"]}, False),
        ({"not_contains": "old"}, False),
        ({"not_contains": "new"}, True),
        ({"tool_result": "3 passed"}, True),
        ({"tool_result": "4 passed"}, False),
        ({"is_error": True}, True),
        ({"is_error": False}, False),
        ({"tools": ["Read"]}, True),
        ({"tools": ["Read", "Bash"]}, False),
        ({"not_tools": "Bash"}, True),
        ({"not_tools": ["Edit"]}, False),
        ({"system": "MAIA"}, True),
        ({"system": "MAYA"}, False),
        ({"images": 1, "messages": 3}, True),
        ({"images": 0}, False),
        ({"messages": 4}, False),
    ],
)
async def test_what_is_sent_is_checked(tmp_path: Path, expect: Any, met: bool) -> None:
    """An expectation that holds plays the reply; one that does not names the entry and what it found."""
    provider = script(tmp_path, [{"expect": expect, "reply": "ok"}])
    if met:
        assert (await read(provider, request(*MESSAGES, **FIELDS))).message.text == "ok"
    else:
        with pytest.raises(ProtocolFault, match=r"script\.yaml, entry 1: expected"):
            await read(provider, request(*MESSAGES, **FIELDS))


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"status": 429, "message": "slow", "retry_after": 2}, RateLimited),
        ("broken", StreamBroken),
        ({"broken": True}, StreamBroken),
        ("network", NetworkFault),
        ("timeout", NetworkFault),
        ("protocol", ProtocolFault),
    ],
)
async def test_faults_are_raised_as_a_server_would_cause_them(
    tmp_path: Path, fault: Any, expected: type[ProviderError]
) -> None:
    """A fault after some text is the error of that kind."""
    provider = script(tmp_path, [{"reply": ["Half", {"fault": fault}]}])
    with pytest.raises(expected) as caught:
        await read(provider, request())
    assert caught.value.retry_after == (2 if expected is RateLimited else None)
    if isinstance(caught.value, NetworkFault):
        assert caught.value.timed_out is (fault == "timeout")


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ("- reply: [", "YAML"),
        ("hello", "entries is not a list"),
        ("reply: hi", "unknown reply"),
        ([["reply"]], "entry 1"),
        ([{"reply": "a"}, {"repply": "b"}], "entry 2: unknown repply"),
        ([{"reply": [{"txt": "b"}]}], "an item is exactly one of"),
        ([{"reply": [{"text": "b", "delay": 1}]}], "an item is exactly one of"),
        ([{"reply": [{"text": "b", "chunk": 1}]}], "unknown chunk"),
        ([{"reply": [{"tool_use": "Read"}]}], "needs a name"),
        ([{"expect": {"contain": "b"}, "reply": "x"}], "unknown contain"),
        ([{"reply": "x", "stop": "done"}], "stop is none of"),
        ([{"reply": "x", "usage": {"tokens": 1}}], "unknown tokens"),
        ({"entries": [], "capabilities": {"vision": True}}, "unknown vision"),
    ],
)
async def test_a_malformed_script_says_where(tmp_path: Path, data: Any, named: str) -> None:
    """What is wrong with a file is said with its place, before anything is played."""
    with pytest.raises(ProtocolFault, match=named) as caught:
        await read(script(tmp_path, data), request())
    assert "script.yaml" in str(caught.value)


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A file that is not there is a line with its name."""
    with pytest.raises(ModelNotFound, match=r"nowhere\.yaml"):
        await read(ScriptedProvider(cwd=tmp_path), Request("nowhere.yaml", (user("x"),)))


def test_capabilities_are_the_file_s(tmp_path: Path) -> None:
    """Capabilities of the file are those of the model, for a file given beforehand too."""
    settings = {"capabilities": {"images": True, "context_window": 9000}, "entries": []}
    provider = script(tmp_path, settings)
    expected = Capabilities(images=True, context_window=9000)
    assert provider.capabilities("script.yaml") == expected
    assert ScriptedProvider(tmp_path / "script.yaml").capabilities("any") == expected
