"""Known secrets are taken out of what a tool returned, before the model, the disk or the screen see it."""

from dataclasses import replace

from maia_kernel.display import DiffDisplay, Display, TableDisplay, TextDisplay
from maia_kernel.messages import ResultBlock, Text
from maia_kernel.ports import Secrets
from maia_kernel.tools.base import ToolOutput


def redact_output(output: ToolOutput, secrets: Secrets) -> ToolOutput:
    """`output` with every known secret in its texts replaced."""
    return replace(
        output,
        content=tuple(_block(block, secrets) for block in output.content),
        displays=redact_displays(output.displays, secrets),
    )


def redact_displays(displays: tuple[Display, ...], secrets: Secrets) -> tuple[Display, ...]:
    """`displays` with every known secret in their texts replaced."""
    return tuple(_display(display, secrets) for display in displays)


def _block(block: ResultBlock, secrets: Secrets) -> ResultBlock:
    return replace(block, text=secrets.redact(block.text)) if isinstance(block, Text) else block


def _display(display: Display, secrets: Secrets) -> Display:
    match display:
        case TextDisplay():
            return replace(display, text=secrets.redact(display.text))
        case DiffDisplay():
            return replace(display, diff=secrets.redact(display.diff))
        case TableDisplay():
            rows = tuple(tuple(secrets.redact(cell) for cell in row) for row in display.rows)
            return replace(display, rows=rows)
        case _:
            return display
