"""The check of the mode `auto`: the small model says whether a call may run unasked.

It sees the call and the person's own words, never results of tools, so that no file and no page can
speak to it but through the call itself. Its failure, and any answer that is not clear, means asking.
"""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from maia_kernel.errors import MaiaError
from maia_kernel.messages import ToolUse, user
from maia_kernel.neutral import line
from maia_kernel.ports import Secrets
from maia_kernel.providers.base import Provider, Request, SystemPart
from maia_kernel.providers.reply import ReplyState, fold
from maia_kernel.usage import Usage

_SECONDS: Final = 30.0
_TOKENS: Final = 1_024  # a reasoning model needs some before its one line
_LONGEST: Final = 20_000  # characters of a call: what is longer nobody has looked at whole
_REASON: Final = 300

Opinion = Literal["allow", "block", "unclear"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the classifier says; `reason` is its own, for a block."""

    opinion: Opinion
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Classifier:
    """Judges the calls of one turn. `open` gives the small model, `spend` is told what it cost."""

    open: Callable[[], tuple[Provider, str]]
    prompt: str
    folder: str
    secrets: Secrets
    spend: Callable[[Usage], None]

    async def judge(self, use: ToolUse) -> Verdict:
        """The opinion on `use`; never raises for a fault of the model or its server."""
        question = self._question(use)
        if len(question) > _LONGEST:
            return Verdict("unclear")
        try:
            async with asyncio.timeout(_SECONDS):
                reply = await self._reply(question)
        except (MaiaError, TimeoutError):
            return Verdict("unclear")
        if reply.stop is None or reply.stop.reason not in ("end_turn", "stop_sequence"):
            return Verdict("unclear")
        message = reply.message()
        return Verdict("unclear") if message.tool_uses else read_verdict(message.text)

    async def _reply(self, question: str) -> ReplyState:
        provider, model = self.open()
        request = Request(
            model=model,
            messages=(user(question),),
            system=(SystemPart(_policy()),),
            max_tokens=_TOKENS,
        )
        state = ReplyState()
        try:
            async for chunk in provider.stream(request):
                state = fold(state, chunk)
        finally:
            self.spend(state.usage)
        return state

    def _question(self, use: ToolUse) -> str:
        call = {"tool": use.name, "input": dict(use.input), "working_folder": self.folder}
        asked = f"The person's request: {_json(self.prompt)}\n\nThe call: {_json(call)}"
        return self.secrets.redact(asked)


def read_verdict(said: str) -> Verdict:
    """The opinion in a reply: one line in one of the forms asked for, else it is unclear."""
    written = said.strip()
    if re.fullmatch(r"ALLOW\.?", written):
        return Verdict("allow")
    blocked = re.fullmatch(r"BLOCK(?::\s*(.*))?", written, re.DOTALL)
    if blocked is not None:
        return Verdict("block", line(blocked[1] or "")[:_REASON])
    return Verdict("unclear")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, default=str)


@cache
def _policy() -> str:
    return (files(__package__) / "auto_policy.md").read_text(encoding="utf-8")
