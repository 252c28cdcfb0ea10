"""The one runner of child processes: groups, streams, limits, and nothing left behind."""

from maia_kernel.processes.git import with_tame_git
from maia_kernel.processes.groups import Groups, kill_group
from maia_kernel.processes.output import SHOWN_LIMIT, SPILL_LIMIT, Hiding
from maia_kernel.processes.running import OUTPUT_LIMIT, Completed, Ending, run

__all__ = [
    "OUTPUT_LIMIT",
    "SHOWN_LIMIT",
    "SPILL_LIMIT",
    "Completed",
    "Ending",
    "Groups",
    "Hiding",
    "kill_group",
    "run",
    "with_tame_git",
]
