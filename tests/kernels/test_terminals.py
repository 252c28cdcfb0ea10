"""MAIA without widgets: terminal IPython and jupyter console, driven through a pseudo-terminal."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect
import psutil
import pytest
import yaml

from tests.support.kernels import environment
from tests.support.notebook import calls, says

PROMPT = r"In \[\d+\]: "
ARGUMENTS = {
    "ipython": ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"],
    "console": ["-m", "jupyter_console", "--simple-prompt"],
}


@contextmanager
def terminal(program: str, home: Path, *script: dict[str, Any]) -> Iterator[pexpect.spawn]:
    """The program in a folder with a scripted model, MAIA loaded."""
    (home / "s.yaml").write_text(yaml.safe_dump(list(script)), encoding="utf-8")
    env = environment(home, TERM="dumb", MAIA_MODEL="scripted:s.yaml", COLUMNS="200")
    child = pexpect.spawn(
        sys.executable,
        ARGUMENTS[program],
        cwd=str(home),
        env=env,
        encoding="utf-8",
        timeout=30,
        echo=False,
        dimensions=(50, 200),
    )
    try:
        child.expect(PROMPT)
        child.sendline("%load_ext maia")
        child.expect("Working folder: ~")
        child.expect(PROMPT)
        yield child
    finally:
        children = psutil.Process(child.pid).children(recursive=True)
        child.sendline("exit()")
        try:
            child.expect(pexpect.EOF, timeout=10)
        except pexpect.TIMEOUT:
            child.sendline("y")
            child.close(force=True)
        child.close(force=True)
        _, alive = psutil.wait_procs(children, timeout=5)
        for process in alive:
            process.kill()


@pytest.mark.parametrize("program", ["ipython", "console"])
def test_in_a_terminal(program: str, tmp_path: Path) -> None:
    """Given a terminal, when a call asks, then the question comes as text and the typed answer counts;
    when Ctrl-C is pressed while a command runs, then the turn ends, the command too, and the next
    prompt works."""
    script = (
        calls("Bash", command="echo made > made.txt"),
        says("It is **made**."),
        calls("Bash", command="touch begun.txt; sleep 62"),
        says("Still here."),
    )
    with terminal(program, tmp_path, *script) as child:
        child.sendline("%maia make it?")
        child.expect("echo made > made.txt")
        child.expect("allow once")
        child.expect("Your choice: ")
        child.sendline("o")
        child.expect_exact("It is **made**.")
        child.expect(PROMPT)
        assert (tmp_path / "made.txt").read_text(encoding="utf-8") == "made\n"
        child.sendline("%maia wait")
        child.expect("Your choice: ")
        child.sendline("o")
        begun = tmp_path / "begun.txt"
        end = time.monotonic() + 20
        while not begun.exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        pressed = time.monotonic()
        child.sendintr()
        child.expect("MAIA: interrupted")
        child.expect(PROMPT)
        assert time.monotonic() - pressed < 10
        assert not _sleeping(child.pid)
        child.sendline("%maia are you there?")
        child.expect(re.escape("Still here."))


def _sleeping(pid: int) -> list[str]:
    return [
        process.name()
        for process in psutil.Process(pid).children(recursive=True)
        if process.name() == "sleep"
    ]
