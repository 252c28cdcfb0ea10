"""The folder for outputs that are too long to return."""

from maia_kernel import paths
from maia_kernel.errors import ToolFailed
from maia_kernel.tools.base import ToolContext


def make_folder(context: ToolContext) -> None:
    """Make the session's folder for outputs, for the person alone.

    Raises:
        ToolFailed: it cannot be made.
    """
    try:
        context.spill.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as fault:
        shown = paths.shown(context.spill)
        raise ToolFailed(f"{shown} cannot be made: {fault.strerror or fault}.") from fault
