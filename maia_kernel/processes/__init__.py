"""The one runner of child processes: groups, streams, limits, and nothing left behind."""

from maia_kernel.processes.groups import kill_group
from maia_kernel.processes.output import SHOWN_LIMIT, SPILL_LIMIT
from maia_kernel.processes.running import OUTPUT_LIMIT, Completed, Ending, run

__all__ = [
    "OUTPUT_LIMIT",
    "SHOWN_LIMIT",
    "SPILL_LIMIT",
    "Completed",
    "Ending",
    "kill_group",
    "run",
]
