"""Which permission mode is in force, and which one plan mode goes back to."""

from dataclasses import dataclass

from maia_kernel.permissions.policy import Mode


@dataclass(slots=True)
class ModeState:
    """The mode of an agent. `before_plan` is the one that an approved plan goes back to."""

    current: Mode = "default"
    before_plan: Mode = "default"

    def use(self, mode: Mode) -> None:
        """Change the mode."""
        if mode == "plan" and self.current != "plan":
            self.before_plan = self.current
        self.current = mode

    def leave_plan(self, *, accept_edits: bool) -> None:
        """The plan was approved: the mode from before it, or the one in which edits run."""
        self.current = "acceptEdits" if accept_edits else self.before_plan

    def dismiss(self, option: Mode, before: Mode) -> None:
        """The mode `option`, chosen for one prompt only, is over; `before` was in force until then.

        What the person decided meanwhile stays: an approved plan, a plan mode that goes on.
        """
        if self.current == option:
            self.current = before
        elif self.current == "plan" and self.before_plan == option:
            self.before_plan = before
