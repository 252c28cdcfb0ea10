"""The exceptions that a MAIA cell ends with: one line each, no traceback, and queued cells stop."""

from maia_kernel.neutral import line


class CellFailed(Exception):
    """The person's mistake or a server's fault: one line with the reason and what to do.

    It is shown once, by the cell itself, in every front-end; a view leaves it out.
    """

    def __init__(self, message: str) -> None:
        super().__init__(line(message))

    def _render_traceback_(self) -> list[str]:
        return [f"\x1b[31m{self}\x1b[0m"]


class TurnInterrupted(KeyboardInterrupt):
    """The person stopped the turn."""

    def _render_traceback_(self) -> list[str]:
        return [f"\x1b[31m{self}\x1b[0m"]
