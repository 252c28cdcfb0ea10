"""The exceptions that a MAIA cell ends with: one line each, no traceback, and queued cells stop."""


class CellFailed(Exception):
    """The person's mistake or a server's fault.

    `line` is shown instead of the message where the view has shown that already.
    """

    def __init__(self, message: str, *, line: str = "") -> None:
        super().__init__(message)
        self._line = line or message

    def _render_traceback_(self) -> list[str]:
        return [f"\x1b[31m{self._line}\x1b[0m"]


class TurnInterrupted(KeyboardInterrupt):
    """The person stopped the turn."""

    def _render_traceback_(self) -> list[str]:
        return [f"\x1b[31m{self}\x1b[0m"]
