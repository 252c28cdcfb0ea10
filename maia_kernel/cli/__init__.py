"""The `maia` program: `maia -p PROMPT`, the agent without a notebook, and `maia model`.

The answer goes to stdout; calls, notices and questions go to stderr. Exit codes: 0 done, 1 the turn
failed, 2 usage, 3 model or key, 4 a limit, 128 + N ended by signal N: 129 its terminal is gone, 130
interrupted, 141 nobody reads the answer, 143 terminated.
"""

import signal
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Late, both: Ctrl-C while they are imported must not be a traceback.
    from maia_kernel.cli.stopping import Stop

    stop = Stop()
    stop.catch_signals()
    from maia_kernel.cli.program import run

    code = run(list(sys.argv[1:] if argv is None else argv), stop)
    stop.ignore_signals()
    return code
