"""The agent loop: a turn, the recovery from faults, the execution of tool calls."""

from maia_kernel.loop.execution import Execution, Hook, HookVerdict
from maia_kernel.loop.turn import Limits, Turn

__all__ = ["Execution", "Hook", "HookVerdict", "Limits", "Turn"]
