"""The native grammar is given only what it can take, and the judge still sees what was written."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from maia_kernel.permissions.grammar import parsed, text_of
from tests.kernel.permissions.test_decide import bash, decide, policy

ODD = "\U0010ce34"


def test_no_character_ends_the_process() -> None:
    """Given 40,000 letters from beyond the first plane, the process that judges them lives. The grammar
    by itself dies of them, in two of three runs."""
    code = (
        "import random\n"
        "from maia_kernel.permissions.grammar import parsed\n"
        "source = random.Random(1)\n"
        "for number in range(40_000):\n"
        "    with parsed('{' + chr(source.randrange(0x10000, 0x110000))) as root: root.has_error\n"
        "print('alive')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout == "alive\n", done.stderr


def test_what_was_written_is_what_is_judged() -> None:
    """Given other letters around and inside words, a node's text is the original one."""
    with parsed(f"echo é{ODD} 'ß' \ud800") as root:
        command = root.children[0]
        words = [text_of(child).decode("utf-8", "surrogatepass") for child in command.children]
    assert words == ["echo", f"é{ODD}", "'ß'", "\ud800"]


@pytest.mark.parametrize("name", ["é", "日本", ODD, "🎉 x"])
def test_rules_see_every_letter(tmp_path: Path, name: str) -> None:
    """Given rules with such letters, the deny holds for its file and command, and the allow for its
    own words alone."""
    (tmp_path / name).mkdir()
    denied = policy(tmp_path, deny=[f"Read({name}/**)", f"Bash(touch {name}:*)"])
    assert decide(bash(f"cat '{name}/a'"), denied).behavior == "deny"
    assert decide(bash(f"touch {name} b"), denied).behavior == "deny"
    allowed = policy(tmp_path, allow=[f"Bash(touch '{name}')"])
    assert decide(bash(f"touch '{name}'"), allowed).behavior == "allow"
    assert decide(bash("touch 'ü'"), allowed).behavior == "ask"


def test_an_odd_letter_makes_no_assignment(tmp_path: Path) -> None:
    """`é=1` is no assignment to bash but the name of a command: it asks."""
    assert decide(bash("é=1"), policy(tmp_path)).behavior == "ask"


def test_threads_judge_at_the_same_time(tmp_path: Path) -> None:
    """Given many commands judged in several threads, each gets its own answer."""
    rules = policy(tmp_path, allow=["Bash(make:*)"])
    commands = [f"make é{n} && ls" if n % 2 else f"curl ü{n} && ls" for n in range(400)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda command: decide(bash(command), rules).behavior, commands))
    assert found == ["allow" if n % 2 else "ask" for n in range(400)]
