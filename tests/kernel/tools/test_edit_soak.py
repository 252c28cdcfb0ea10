"""Edit and Write beside another program that changes the same file: nobody's change is lost.

25 seeded sequences by default, 1,000 with MAIA_SOAK=1.
"""

import asyncio
import json
import os
import random
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from maia_kernel.errors import ToolRetry
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.edit import Edit
from maia_kernel.tools.read import Read
from maia_kernel.tools.write import Write
from tests.support.tools import call, tool_context

pytestmark = pytest.mark.soak

SOAK = bool(os.environ.get("MAIA_SOAK"))
SEQUENCES = 1_000 if SOAK else 25
KILLS = 100 if SOAK else 4
CHANGES = 5  # of each side, in a sequence
SLOTS = 8

# Adds lines to a file in the ways that programs do: appending, rewriting in place with one descriptor,
# reading and then rewriting, and renaming a new file over the old one.
_OUTSIDER = """
import json, os, random, sys, time
for order in sys.stdin:
    order = json.loads(order)
    path, chance = order["path"], random.Random(order["seed"])
    for line in order["lines"]:
        data = (line + order["newline"]).encode(order["encoding"])
        match order["style"]:
            case "append":
                with open(path, "ab", buffering=0) as file:
                    time.sleep(chance.random() * 0.001)
                    file.write(data)
            case "in place":
                with open(path, "r+b") as file:
                    whole = file.read() + data
                    file.seek(0)
                    file.write(whole)
            case "rewrite":
                whole = open(path, "rb").read() + data
                with open(path, "wb") as file:
                    time.sleep(chance.random() * 0.001)
                    file.write(whole)
            case "rename":
                with open(path + ".theirs", "wb") as file:
                    file.write(open(path, "rb").read() + data)
                os.chmod(path + ".theirs", order["mode"])
                os.rename(path + ".theirs", path)
        time.sleep(chance.random() * 0.004)
    print("done", flush=True)
"""


@dataclass
class Outsider:
    """The other program."""

    process: "subprocess.Popen[str]"

    def begin(self, **order: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    async def end(self) -> None:
        assert self.process.stdout is not None
        assert await asyncio.to_thread(self.process.stdout.readline) == "done\n"


@pytest.fixture(scope="module")
def outsider() -> Iterator[Outsider]:
    with subprocess.Popen(
        [sys.executable, "-c", _OUTSIDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Outsider(process)
        process.kill()


@dataclass
class Place:
    """One file of a sequence, and how it has to stay."""

    written: str
    real: Path
    mark: bytes
    encoding: str
    newline: str
    mode: int

    @classmethod
    def make(cls, context: ToolContext, chance: random.Random) -> "Place":
        mark, encoding = chance.choice(
            [
                (b"", "utf-8"),
                (b"\xef\xbb\xbf", "utf-8"),
                (b"\xff\xfe", "utf-16-le"),
                (b"", "cp1252"),
            ]
        )
        newline = chance.choice(["\n", "\r\n"])
        mode = chance.choice([0o600, 0o644, 0o755])
        real = context.cwd / "real/file.txt"
        real.parent.mkdir()
        text = "".join(f"slot {n}: 0{newline}" for n in range(SLOTS)) + f"déjà{newline}"
        real.write_bytes(mark + text.encode(encoding))
        real.chmod(mode)
        linked = chance.random() < 0.3
        if linked:
            (context.cwd / "link.txt").symlink_to("real/file.txt")
        return cls("link.txt" if linked else str(real), real, mark, encoding, newline, mode)

    def text(self) -> str:
        data = self.real.read_bytes()
        assert data.startswith(self.mark)
        return data[len(self.mark) :].decode(self.encoding)


async def _change(place: Place, number: int, context: ToolContext, chance: random.Random) -> None:
    """One change by the model: read, change a slot, and again when somebody was quicker."""
    slot, whole = chance.randrange(SLOTS), chance.random() < 0.3
    for _ in range(200):
        seen = (await call(Read(), context, file_path=place.written)).text
        lines = [line.partition("\t")[2] for line in seen.splitlines() if "\t" in line]
        old = next((line for line in lines if line.startswith(f"slot {slot}:")), None)
        if old is None:  # read in the middle of what the other program was writing
            continue
        new = f"slot {slot}: {number}"
        try:
            if whole:
                content = "".join(f"{new if line == old else line}\n" for line in lines)
                await call(Write(), context, file_path=place.written, content=content)
            else:
                await call(Edit(), context, file_path=place.written, old_string=old, new_string=new)
        except ToolRetry:
            continue
        return
    raise AssertionError("the file never came to rest")


@pytest.mark.timeout(1_800)
async def test_no_change_of_another_program_is_lost(tmp_path: Path, outsider: Outsider) -> None:
    """Given a program that adds lines while Edit and Write change others, every line it added is there,
    the file is whole, and encoding, mark, line ends, mode and link are as they were."""
    for seed in range(SEQUENCES):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        context = tool_context(folder)
        place = Place.make(context, chance)
        style = chance.choice(["append", "in place", "rewrite", "rename"])
        lines = [f"outside {seed}.{number}" for number in range(CHANGES)]
        outsider.begin(
            path=str(place.real),
            style=style,
            lines=lines,
            encoding=place.encoding,
            newline=place.newline,
            mode=place.mode,
            seed=seed,
        )
        for number in range(1, CHANGES + 1):
            await _change(place, number, context, chance)
        await outsider.end()
        _check(place, lines, f"sequence {seed}, {style}")


def _check(place: Place, lines: list[str], which: str) -> None:
    text = place.text()
    found = text.split(place.newline)
    # Two changes in the same instant: the second one is put aside, not lost.
    aside = [path.read_bytes().decode(place.encoding) for path in place.real.parent.glob("*.txt.*")]
    for line in lines:
        assert line in found or any(line in other for other in aside), f"{which}: {line} is lost"
    assert found[-1] == "", which
    assert [line for line in found if line.startswith("slot")][-1].startswith(f"slot {SLOTS - 1}:")
    assert sum(line.startswith("slot") for line in found) == SLOTS, which
    assert "déjà" in found, which
    assert text.count("\n") == text.count(place.newline), which
    assert stat.S_IMODE(place.real.stat().st_mode) == place.mode, which
    assert not place.real.is_symlink()
    link = place.real.parents[1] / "link.txt"
    assert link.is_symlink() == (place.written == "link.txt"), which
    assert not list(place.real.parent.glob(".maia-*")), which


_WRITER = """
import sys
from pathlib import Path
from maia_kernel import files
path = Path(sys.argv[1])
print("writing", flush=True)
while True:
    for byte in (b"a", b"b"):
        files.write_atomic(path, byte * 3_000_000, expected=files.digest_of(path.read_bytes()))
"""


@pytest.mark.timeout(600)
def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    """Given a writing process that gets KILL at any moment, the file is the old or the new one."""
    path = tmp_path.resolve() / "file"
    path.write_bytes(b"b" * 3_000_000)
    for seed in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(random.Random(seed).random() * 0.05)
            process.kill()
        data = path.read_bytes()
        assert len(data) == 3_000_000
        assert len(set(data)) == 1
