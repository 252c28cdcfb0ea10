"""An IPython extension for tests: `%%pump` runs its body as a coroutine of a real pump on a real engine.

In the body: `pump`, `live` (the kernel port), `say` (prints at once), and whatever it imports.
"""

import asyncio
import textwrap
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from maia.pump import Pump
from maia.shell import LiveKernel
from maia_kernel.engine import Engine


def load_ipython_extension(shell: InteractiveShell) -> None:
    engine = Engine()

    def pump_magic(line: str, cell: str) -> Any:
        pump = Pump(engine, getattr(shell, "kernel", None))
        live = LiveKernel(shell)
        live.pump = pump
        names: dict[str, Any] = {
            "pump": pump,
            "live": live,
            "asyncio": asyncio,
            "say": lambda *words: print(*words, flush=True),
        }
        exec("async def turn():\n" + textwrap.indent(cell, "    "), names)
        return pump.run(names["turn"])

    shell.register_magic_function(pump_magic, "cell", "pump")
