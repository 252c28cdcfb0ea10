"""What an entry of a script expects, compared with the request that came."""

from collections.abc import Iterator, Mapping
from typing import Any

from maia_kernel.messages import Image, Message, Text, ToolResult
from maia_kernel.providers.base import Request


def unmet(expect: Mapping[str, Any] | str, request: Request) -> Iterator[tuple[str, str]]:
    """What `expect` asks for and `request` does not have, each with what it has instead."""
    wanted = {"contains": expect} if isinstance(expect, str) else expect
    results = _last_results(request.messages)
    yield from _unmet_texts(wanted, request, "\n".join(_text_of(result) for result in results))
    yield from _unmet_tools(wanted, [tool.name for tool in request.tools])
    yield from _unmet_counts(wanted, request, results)


def _unmet_texts(
    expect: Mapping[str, Any], request: Request, results: str
) -> Iterator[tuple[str, str]]:
    said = _newest_text(request.messages)
    system = "\n".join(part.text for part in request.system)
    for wanted in _many(expect.get("contains")):
        if wanted not in said:
            yield f"the text {wanted!r}", f"the prompt is {said[-200:]!r}"
    for unwanted in _many(expect.get("not_contains")):
        if unwanted in said:
            yield f"no text {unwanted!r}", "the prompt has it"
    for wanted in _many(expect.get("tool_result")):
        if wanted not in results:
            yield f"a tool result with {wanted!r}", f"the results are {results[-200:]!r}"
    for wanted in _many(expect.get("system")):
        if wanted not in system:
            yield f"the system prompt with {wanted!r}", "it lacks it"


def _unmet_tools(expect: Mapping[str, Any], offered: list[str]) -> Iterator[tuple[str, str]]:
    for name in _many(expect.get("tools")):
        if name not in offered:
            yield f"the tool {name}", f"offered are {', '.join(offered) or 'none'}"
    for name in _many(expect.get("not_tools")):
        if name in offered:
            yield f"no tool {name}", "it is offered"


def _unmet_counts(
    expect: Mapping[str, Any], request: Request, results: list[ToolResult]
) -> Iterator[tuple[str, str]]:
    failed = any(result.is_error for result in results)
    if "is_error" in expect and bool(expect["is_error"]) != failed:
        wanted = "a failed tool result" if expect["is_error"] else "no failed tool result"
        yield wanted, "the results are " + repr([_text_of(result)[:80] for result in results])
    images = sum(isinstance(block, Image) for block in _blocks(request.messages))
    if "images" in expect and expect["images"] != images:
        yield f"{expect['images']} images", f"there are {images}"
    if "messages" in expect and expect["messages"] != len(request.messages):
        yield f"{expect['messages']} messages", f"there are {len(request.messages)}"


def _newest_text(messages: tuple[Message, ...]) -> str:
    texts = (message.text for message in reversed(messages) if message.role == "user")
    return next((said for said in texts if said), "")


def _last_results(messages: tuple[Message, ...]) -> list[ToolResult]:
    last = messages[-1].content if messages else ()
    return [block for block in last if isinstance(block, ToolResult)]


def _blocks(messages: tuple[Message, ...]) -> Iterator[object]:
    for message in messages:
        for block in message.content:
            yield block
            if isinstance(block, ToolResult):
                yield from block.content


def _text_of(result: ToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, Text))


def _many(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(part) for part in value] if isinstance(value, list) else [str(value)]
