"""The server process: `python -m maia_kernel.localmodel.server`, started by `launch.py`.

Reads one line of JSON on stdin (see `launch.start_server`), writes one line of JSON on
stdout ({"url"} when it answers, or {"error"}), and ends when stdin does. A process of its own,
because a crash in native code must not take the notebook with it.
"""

import json
import os
import signal
import sys
from typing import Any

_LOG_ERRORS_AND_WARNINGS = 2  # llama.cpp's verbosity: at 3 and above it tells of each request


def main() -> int:
    """Serve until stdin ends; returns the exit code."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Native code prints where it likes: the answer's channel is kept apart, the rest goes to the log.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    order = json.loads(sys.stdin.buffer.readline() or b"{}")
    if not order:
        return 0
    try:
        server = _serve(order)
    except (RuntimeError, ImportError) as error:
        _answer(answers, {"error": " ".join(str(error).split())})
        return 1
    _answer(answers, {"url": f"{server.listening_address}/v1"})
    while sys.stdin.buffer.read(1024):
        pass
    # Without the library's own farewell: it would wait for a generation that nobody reads.
    os._exit(0)


def _answer(stream: Any, value: dict[str, str]) -> None:
    stream.write(json.dumps(value) + "\n")
    stream.flush()


def _serve(order: dict[str, Any]) -> Any:
    """The running server; returns once the model is loaded and the port is open."""
    import xllamacpp  # late: 100 MB of native code, and only in the extra `local`

    params = xllamacpp.CommonParams()
    params.model.path = order["model"]
    params.model_alias = {order["alias"]}
    params.n_ctx = order["context"]
    params.cpuparams.n_threads = order["threads"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order["key"]]
    # No web page has business here: the default would let any origin in, with credentials.
    params.cors_origins = "http://127.0.0.1"
    params.cors_credentials = False
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    params.verbosity = _LOG_ERRORS_AND_WARNINGS
    return xllamacpp.Server(params)


if __name__ == "__main__":
    sys.exit(main())
