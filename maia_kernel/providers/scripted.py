"""`scripted:FILE`: replays a YAML file instead of asking a model, and checks what it is sent.

The file is a list of entries, one a request, or a mapping with the list under `entries` and settings::

    capabilities: {images: true, context_window: 200000}   # fields of base.Capabilities
    loop: true                                             # start over after the last entry
    entries:
      - expect:                        # all optional; a plain string means `contains`
          contains: "fix it"           # in the newest user message that has text (or a list of them)
          not_contains: "secret"
          tool_result: "3 passed"      # in the tool results of the last message (or a list of them)
          is_error: false              # whether one of those results is an error
          tools: [Read, Edit]          # names that are offered, others may be too
          not_tools: [Bash]
          system: "MAIA"               # in the system prompt
          images: 1                    # pictures in the whole conversation
          messages: 3                  # length of the conversation
        reply:                         # played in order; a plain string means one `text` item
          - thinking: "Let me look."
            signature: "abc"
          - redacted_thinking: "opaque data"
          - text: "Hello"              # `repeat: N` says it N times
            chunks: 50                 # streamed in so many pieces (default 1) ...
            seconds: 2                 # ... over so many seconds (default 0)
          - tool_use: {name: Read, input: {file_path: a.txt}, id: call_1}   # id is optional
          - tool_use: {name: Read, raw: '{"file_pa'}       # input that is not JSON
          - delay: 0.5                 # seconds
          - notice: "a line for the person"
          - fault: {status: 429, message: "slow down", retry_after: 1, kind: rate_limit_error}
          - fault: broken              # or: network, timeout, protocol
        usage: {input_tokens: 10, output_tokens: 5}        # fields of usage.Usage; else estimated
        stop: max_tokens               # else tool_use after a call, end_turn otherwise

A relative FILE starts in the working folder. A provider keeps one place in each file, so a new one
starts at the first entry. Running out of entries and an unmet `expect` are `ProtocolFault`.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maia_kernel import paths
from maia_kernel.errors import ModelNotFound, ProtocolFault, ProviderError
from maia_kernel.providers import faults
from maia_kernel.providers.adapter import Adapter
from maia_kernel.providers.base import (
    BlockFinished,
    Capabilities,
    Chunk,
    ModelInfo,
    Noticed,
    Provider,
    RedactedThinkingChunk,
    Request,
    SignatureChunk,
    Stopped,
    StopReason,
    TextChunk,
    ThinkingChunk,
    ToolInputChunk,
    ToolUseStarted,
    UsageReported,
)
from maia_kernel.providers.complete import complete
from maia_kernel.providers.estimate import request_tokens, text_tokens
from maia_kernel.providers.script import NAME, Script, items, read_script
from maia_kernel.providers.script_expect import unmet
from maia_kernel.texts import text
from maia_kernel.usage import Usage

if TYPE_CHECKING:
    from maia_kernel.settings import Settings
    from maia_kernel.settings.keys import Keys

_ENDPOINT = faults.Endpoint(NAME, "scripted://script")


class ScriptedProvider:
    """Plays the file that the model's name is, or `path` for every model."""

    name = NAME

    def __init__(self, path: Path | None = None, *, cwd: Path | None = None) -> None:
        self._path = path
        self._cwd = cwd or Path.cwd()
        self._scripts: dict[Path, Script] = {}
        self._played: dict[Path, int] = {}

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """The chunks of the next entry; see `base.Provider.stream`."""
        return complete(self._chunks(request), provider=NAME)

    async def models(self) -> tuple[ModelInfo, ...]:
        """The one file it was given, if it was given one."""
        if self._path is None:
            return ()
        return (ModelInfo(f"{NAME}:{paths.shown(self._path, self._cwd)}"),)

    def capabilities(self, model: str) -> Capabilities:
        """What the file says; reads it, so a bad one is `ProviderError` here already."""
        return self._script(model).capabilities

    async def prepare(self, model: str) -> None:
        """See `base.Provider.prepare`."""

    def check(self, model: str) -> None:
        """See `base.Provider.check`; reads the file."""
        self._script(model)

    async def aclose(self) -> None:
        """Nothing is open."""

    async def _chunks(self, request: Request) -> AsyncGenerator[Chunk]:
        script = self._script(request.model)
        played = self._played.get(script.file, 0)
        if played >= len(script.entries) and not (script.loop and script.entries):
            shown = paths.shown(script.file, self._cwd)
            line = text("providers.scripted.exhausted", file=shown, count=len(script.entries))
            raise ProtocolFault(line, provider=NAME)
        self._played[script.file] = played + 1
        number = played % len(script.entries) + 1
        entry = script.entries[number - 1]
        self._check(script, number, request)
        reply = items(entry)
        for index, item in enumerate(reply):
            async for chunk in _play(index, item, call_id=f"call_{played + 1}_{index + 1}"):
                yield chunk
        yield UsageReported(_usage(entry, request, reply))
        yield Stopped(_stop(entry, reply), str(entry.get("stop", "")))

    def _script(self, model: str) -> Script:
        try:
            file = self._path or paths.expand(model, self._cwd)
        except RuntimeError as error:  # "~nobody"
            line = text("providers.scripted.missing", file=model, cause=error)
            raise ModelNotFound(line, provider=NAME) from error
        if file not in self._scripts:
            self._scripts[file] = read_script(file, cwd=self._cwd)
        return self._scripts[file]

    def _check(self, script: Script, number: int, request: Request) -> None:
        for expected, found in unmet(script.entries[number - 1].get("expect") or {}, request):
            line = text(
                "providers.scripted.unmet",
                file=paths.shown(script.file, self._cwd),
                number=number,
                expected=expected,
                found=found,
            )
            raise ProtocolFault(line, provider=NAME)


async def _play(index: int, item: Mapping[str, Any], *, call_id: str) -> AsyncIterator[Chunk]:
    if "delay" in item:
        await asyncio.sleep(float(item["delay"]))
    elif "notice" in item:
        yield Noticed(str(item["notice"]))
    elif "fault" in item:
        raise _fault(item["fault"])
    else:
        pieces, gap = _pieces(item)
        for number, chunk in enumerate(_block(index, item, pieces, call_id)):
            if gap and number:
                await asyncio.sleep(gap)
            yield chunk
        yield BlockFinished(index)


def _block(index: int, item: Mapping[str, Any], pieces: list[str], call_id: str) -> Iterator[Chunk]:
    if "text" in item:
        yield from (TextChunk(index, piece) for piece in pieces)
    elif "thinking" in item:
        yield from (ThinkingChunk(index, piece) for piece in pieces)
        if item.get("signature"):
            yield SignatureChunk(index, str(item["signature"]))
    elif "redacted_thinking" in item:
        yield RedactedThinkingChunk(index, str(item["redacted_thinking"]))
    else:
        call = item["tool_use"]
        yield ToolUseStarted(index, str(call.get("id") or call_id), call["name"])
        yield from (ToolInputChunk(index, piece) for piece in pieces)


def _pieces(item: Mapping[str, Any]) -> tuple[list[str], float]:
    """The item's text cut into its number of pieces, and the seconds between two of them."""
    whole = _whole(item) * int(item.get("repeat", 1))
    count = max(1, min(int(item.get("chunks", 1)), len(whole)))
    step, extra = divmod(len(whole), count)
    cuts = [number * step + min(number, extra) for number in range(count + 1)]
    pieces = [whole[start:end] for start, end in itertools.pairwise(cuts)]
    return pieces, float(item.get("seconds", 0)) / count


def _whole(item: Mapping[str, Any]) -> str:
    if "tool_use" in item:
        call = item["tool_use"]
        if "raw" in call:
            return str(call["raw"])
        return json.dumps(call.get("input") or {}, ensure_ascii=False, default=str)
    return str(item.get("text", item.get("thinking", "")))


def _fault(fault: Any) -> ProviderError:
    match fault:
        case {"status": int(status)}:
            rest: dict[str, Any] = fault
            return faults.from_status(
                _ENDPOINT,
                status,
                str(rest.get("message", "")),
                kind=str(rest.get("kind", "")),
                retry_after=float(rest["retry_after"]) if "retry_after" in rest else None,
            )
        case "broken" | {"broken": True}:
            return faults.broken(_ENDPOINT)
        case "network" | {"network": True}:
            return faults.unreachable(_ENDPOINT, ConnectionRefusedError("connection refused"))
        case "timeout" | {"timeout": True}:
            return faults.timed_out(_ENDPOINT)
        case _:
            return faults.not_the_protocol(_ENDPOINT, body="<html>", expected="script")


def _usage(entry: Mapping[str, Any], request: Request, reply: list[Any]) -> Usage:
    if entry.get("usage"):
        return Usage(**entry["usage"])
    said = sum(text_tokens(_whole(item) * int(item.get("repeat", 1))) for item in reply)
    return Usage(request_tokens(request), said, estimated=True)


def _stop(entry: Mapping[str, Any], reply: list[Any]) -> StopReason:
    if "stop" in entry:
        reason: StopReason = entry["stop"]
        return reason
    return "tool_use" if any("tool_use" in item for item in reply) else "end_turn"


def _open(name: str, settings: "Settings", keys: "Keys", environ: Mapping[str, str]) -> Provider:
    return ScriptedProvider(cwd=settings.cwd)


ADAPTER = Adapter(
    known=lambda settings: (NAME,),
    configured=lambda settings, keys: (),
    open=_open,
)
