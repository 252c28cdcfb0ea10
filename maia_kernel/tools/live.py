"""What runs in the live kernel: its output as it comes, and its result for the model and the person."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from maia_kernel.display import Display, TextDisplay
from maia_kernel.errors import ToolFailed
from maia_kernel.messages import Image, ResultBlock, Text
from maia_kernel.ports import CodeResult
from maia_kernel.processes import SHOWN_LIMIT
from maia_kernel.shortening import shortened
from maia_kernel.tools.base import ToolContext, ToolOutput
from maia_kernel.tools.pieces import Pieces
from maia_kernel.tools.streaming import Streamed

Work = Callable[[Callable[[str], None]], Coroutine[Any, Any, CodeResult]]


async def streamed(
    work: Work, context: ToolContext, late: str
) -> AsyncGenerator[str | CodeResult, None]:
    """Pieces of what `work` prints, at last its result.

    Raises:
        ToolFailed: it ran into its time limit: `late`, and what it had printed.
    """
    hiding = None if context.secrets is None else Pieces(context.secrets)
    running = Streamed(work, hiding=hiding)
    printed: list[str] = []
    try:
        async for piece in running.pieces():
            printed.append(piece)
            yield piece
        result = running.result()
    except TimeoutError:
        output = shortened("".join(printed), SHOWN_LIMIT) or "nothing"
        raise ToolFailed(f"{late} It had printed: {output}") from None
    finally:
        await running.aclose()
    yield result


def live_output(drawn: Display, result: CodeResult, context: ToolContext) -> ToolOutput:
    """The result of what `drawn` shows: text and, for a model that takes them, pictures."""
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
    displays: list[Display] = [drawn]
    displays += [TextDisplay(shown)] if shown else []
    return ToolOutput(tuple(content), (*displays, *result.images), is_error=bool(result.error))
