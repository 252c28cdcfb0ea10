"""Bash ended at random: no process is left, and what it printed until then is there, in order.

8 seeded runs by default, 200 with MAIA_SOAK=1.
"""

import asyncio
import os
import random
import sys
from contextlib import aclosing
from pathlib import Path

import psutil
import pytest

from maia_kernel.tools.base import Progress, ToolContext, ToolOutput
from maia_kernel.tools.bash import Bash, BashInput
from tests.support.tools import tool_context

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(sys.platform != "linux", reason="finds who left by /proc"),
]

RUNS = 200 if os.environ.get("MAIA_SOAK") else 8
TOGETHER = 4

# What a command leaves behind, or does not let go of. {mark} names the sleeper.
HANGERS_ON = {
    "nobody": "",
    "a job": "sleep {mark} &",
    "a job that ignores TERM": "(trap '' TERM INT HUP; sleep {mark}; sleep {mark}) &",
    "another session": "setsid sleep {mark} &",
    "a daemon": "(setsid sh -c 'trap \"\" TERM HUP; sleep {mark} & wait' >/dev/null 2>&1 </dev/null &)",
    "nohup, disowned": "nohup sleep {mark} >/dev/null 2>&1 & disown",
    "a job group of its own": "set -m; sleep {mark} & set +m",
    "one that prints": "(while sleep 0.01; do echo noise >/dev/null; done; : {mark}) &",
}
# Lines to both streams in turn; what was printed is written down after it was.
COUNTING = """
i=0
while :; do
  i=$((i+1)); echo "$i"; echo "$i" >{log}
  i=$((i+1)); echo "$i" >&2; echo "$i" >{log}
  {pause}
done
"""


@pytest.mark.timeout(1_200)
async def test_commands_ended_at_random(tmp_path: Path) -> None:
    """Given commands that print to both streams and start others, ended by their time limit or an
    interrupt, no process of theirs is left, and the output is every line up to the end, in order."""
    for first in range(0, RUNS, TOGETHER):
        await asyncio.gather(
            *(_run(tmp_path / str(seed), seed) for seed in range(first, first + TOGETHER))
        )


async def _run(folder: Path, seed: int) -> None:
    folder.mkdir()
    context = tool_context(folder)
    chance = random.Random(seed)
    names = list(HANGERS_ON)
    # Every kind comes early, so that the sample has it.
    name = names[seed % len(names)]
    ignores = "trap '' TERM INT HUP\n" if chance.random() < 0.2 else ""
    mark = f"{500 + seed}.{os.getpid()}"
    log = folder / "log"
    pause = f"sleep 0.00{chance.randrange(1, 10)}"
    command = (
        HANGERS_ON[name].format(mark=mark) + "\n" + ignores + COUNTING.format(log=log, pause=pause)
    )
    after = 0.05 + chance.random() * 0.5
    interrupted = chance.random() < 0.5
    output = await (_interrupt if interrupted else _time_out)(command, after, context)
    which = f"run {seed}: {name}, {'interrupted' if interrupted else 'timed out'}"
    assert _left(mark) == [], which
    _check(output, log, which)


async def _time_out(command: str, after: float, context: ToolContext) -> str:
    call = BashInput(command=command, timeout=int(after * 1_000))
    outputs = [step async for step in Bash().run(call, context)]
    assert isinstance(outputs[-1], ToolOutput)
    assert outputs[-1].is_error
    text = outputs[-1].displays[-1].text  # type: ignore[union-attr]
    return text if text != command else ""


async def _interrupt(command: str, after: float, context: ToolContext) -> str:
    pieces: list[str] = []

    async def consume() -> None:
        call = BashInput(command=command)
        async with aclosing(Bash().run(call, context)) as steps:  # type: ignore[type-var]
            async for step in steps:
                assert isinstance(step, Progress)
                pieces.append(step.text)

    task = asyncio.create_task(consume())
    await asyncio.sleep(after)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return "".join(pieces)


def _left(mark: str) -> list[str]:
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            if mark in line and process.status() != psutil.STATUS_ZOMBIE:
                found.append(line)
        except psutil.Error:
            continue
    return found


def _check(output: str, log: Path, which: str) -> None:
    lines = [line for line in output.splitlines() if line.isdigit()]
    numbers = [int(line) for line in lines]
    assert numbers == list(range(1, len(numbers) + 1)), f"{which}: out of order"
    written = log.read_text().strip() if log.exists() else ""
    # Ended while it wrote down the last one, the log may be empty; it is never ahead.
    assert len(numbers) >= int(written or 0), f"{which}: the end is missing"
