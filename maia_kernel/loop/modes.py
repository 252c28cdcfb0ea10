"""The permission mode as the tools of a turn may change it."""

from collections.abc import Callable
from dataclasses import dataclass

from maia_kernel.events import Event, ModeChanged
from maia_kernel.permissions.modes import ModeState


@dataclass(slots=True)
class TurnModes:
    """As `ports.Modes`; every change is an event of the turn."""

    state: ModeState
    emit: Callable[[Event], None]

    @property
    def current(self) -> str:
        """The mode in force."""
        return self.state.current

    def enter_plan(self) -> None:
        """Go into plan mode."""
        self.state.use("plan")
        self.emit(ModeChanged(self.state.current))

    def leave_plan(self, *, accept_edits: bool) -> str:
        """Go back to the mode before plan mode, or to acceptEdits; returns the mode now in force."""
        self.state.leave_plan(accept_edits=accept_edits)
        self.emit(ModeChanged(self.state.current))
        return self.state.current
