"""Python: code in the live kernel, with the person's variables."""

import os
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from pydantic import Field

from maia_kernel.display import Display, TextDisplay
from maia_kernel.errors import SandboxError, ToolFailed, ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.ports import CodeResult, Isolation
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput
from maia_kernel.tools.live import live_output, streamed

_REFUSED = re.compile(r"PermissionError|EPERM|Address family not supported|gaierror")
_BOUNDS = (
    "(Ran in the sandbox: it changes files of the working folders and of $TMPDIR, makes new ones in "
    "sub-folders, reads no keys and has no network.)"
)
DEFAULT_TIMEOUT = 120_000
LONGEST_TIMEOUT = 600_000


class PythonInput(ToolInput):
    """What to run."""

    code: str = Field(
        description="Python code, run as a notebook cell (also magics and top-level await)"
    )
    description: str | None = Field(None, description="What it does, in a few words")
    timeout: int | None = Field(
        None, ge=1, description="Milliseconds; 120000 by default, at most 600000"
    )
    isolated: bool = Field(False, description="Run on a copy of the kernel that is thrown away")


class Python(Tool[PythonInput]):
    """The tool."""

    name = "Python"
    icon = "▷"
    description = (
        "Runs Python code in the person's live Jupyter kernel: their variables and imports are there and "
        "what the code defines stays. Returns printed output, the value of the last expression, figures "
        "as images, or the traceback. Use it to look at and work on data in memory. Print little: "
        "df.head(), shapes, summaries. With isolated the code runs on a copy of the kernel that is thrown "
        "away: it sees every variable and changes none, so it suits experiments and risky code."
    )

    @property
    def Input(self) -> type[PythonInput]:
        return PythonInput

    def read_only(self, call: PythonInput, context: ToolContext) -> bool:
        return False

    def validate(self, call: PythonInput, context: ToolContext) -> None:
        if context.kernel is None:
            raise ToolFailed("there is no live kernel here; run Python with Bash instead.")
        if not call.code.strip():
            raise ToolRetry("code is empty.")

    def subject(self, call: PythonInput, context: ToolContext) -> Subject:
        sandbox = context.sandbox
        held = (
            call.isolated and sandbox is not None and sandbox.auto_allows and sandbox.holds_copies
        )
        return Subject(
            self.name,
            read_only=False,
            text=call.code,
            code=call.code,
            sandbox="inside" if held else "",
        )

    def summary(self, call: PythonInput, context: ToolContext) -> str:
        if call.description:
            return " ".join(call.description.split())
        lines = call.code.strip().splitlines()
        return lines[0] + (" …" if len(lines) > 1 else "") if lines else ""

    def displays(self, call: PythonInput, context: ToolContext) -> tuple[Display, ...]:
        return (TextDisplay(call.code, language="python"),)

    async def run(
        self, call: PythonInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        kernel = context.kernel
        if kernel is None:
            raise ToolFailed("there is no live kernel here; run Python with Bash instead.")
        seconds = min(call.timeout or DEFAULT_TIMEOUT, LONGEST_TIMEOUT) / 1_000
        isolation = await _isolation(context) if call.isolated else None

        def work(on_output: Callable[[str], None]) -> Coroutine[Any, Any, CodeResult]:
            if isolation is None:
                return kernel.run_code(call.code, timeout=seconds, on_output=on_output)
            return kernel.run_isolated(
                call.code, timeout=seconds, on_output=on_output, isolation=isolation
            )

        late = (
            f"the code was interrupted after {seconds:g} s (timeout is in milliseconds, at most "
            f"{LONGEST_TIMEOUT})."
        )
        async with aclosing(streamed(work, context, late)) as items:
            async for item in items:
                if isinstance(item, str):
                    yield Progress(item)
                else:
                    drawn = TextDisplay(call.code, language="python")
                    yield live_output(drawn, _with_bounds(item, isolation), context)


def _with_bounds(result: CodeResult, isolation: Isolation | None) -> CodeResult:
    """`result` with a word about the sandbox, where that may be why the code failed."""
    if isolation is None or isolation.confine is None or not _REFUSED.search(result.error):
        return result
    return replace(result, error=f"{result.error}\n{_BOUNDS}")


async def _isolation(context: ToolContext) -> Isolation:
    """What the copy is put behind: the sandbox where it is in force and can hold a copy."""
    sandbox = context.sandbox
    if sandbox is None or not sandbox.holds_copies:
        return Isolation()
    try:
        confine = await sandbox.confine_copy()
    except SandboxError as fault:
        raise ToolFailed(str(fault)) from fault
    return Isolation(sandbox.environment(os.environ, context.env), confine)
