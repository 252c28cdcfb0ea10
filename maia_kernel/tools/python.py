"""Python: code in the live kernel, with the person's variables."""

from collections.abc import AsyncIterator

from pydantic import Field

from maia_kernel.display import Display, TextDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.messages import Image, ResultBlock, Text
from maia_kernel.permissions.subject import Subject
from maia_kernel.ports import CodeResult
from maia_kernel.processes import SHOWN_LIMIT
from maia_kernel.shortening import shortened
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput
from maia_kernel.tools.pieces import Pieces
from maia_kernel.tools.streaming import Streamed

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


class Python(Tool[PythonInput]):
    """The tool."""

    name = "Python"
    icon = "▷"
    description = (
        "Runs Python code in the person's live Jupyter kernel: their variables and imports are there and "
        "what the code defines stays. Returns printed output, the value of the last expression, figures "
        "as images, or the traceback. Use it to look at and work on data in memory. Print little: "
        "df.head(), shapes, summaries."
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
        return Subject(self.name, read_only=False, text=call.code, code=call.code)

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
        running = Streamed(
            lambda on_output: kernel.run_code(call.code, timeout=seconds, on_output=on_output),
            hiding=None if context.secrets is None else Pieces(context.secrets),
        )
        printed: list[str] = []
        try:
            async for piece in running.pieces():
                printed.append(piece)
                yield Progress(piece)
            result = running.result()
        except TimeoutError:
            output = shortened("".join(printed), SHOWN_LIMIT) or "nothing"
            raise ToolFailed(
                f"the code was interrupted after {seconds:g} s (timeout is in milliseconds, at most "
                f"{LONGEST_TIMEOUT}). It had printed: {output}"
            ) from None
        finally:
            await running.aclose()
        yield _output(call, result, context)


def _output(call: PythonInput, result: CodeResult, context: ToolContext) -> ToolOutput:
    parts = [result.stdout.rstrip("\n"), *result.texts, result.result, result.error]
    text = "\n".join(part for part in parts if part)
    if context.secrets is not None:
        text = context.secrets.redact(text)
    text = shortened(text, SHOWN_LIMIT)
    shown = text
    if result.images and not context.images:
        text += f"\n({len(result.images)} images were shown; this model takes none)"
    content: list[ResultBlock] = []
    if text or not result.images:
        content.append(Text(text.strip("\n") or "(no output)"))
    if context.images:
        content += [Image(image.media_type, image.data) for image in result.images]
    displays: list[Display] = [TextDisplay(call.code, language="python")]
    displays += [TextDisplay(shown)] if shown else []
    return ToolOutput(tuple(content), (*displays, *result.images), is_error=bool(result.error))
