"""Glob and Grep beside plain ripgrep, asked for the same, on a tree of 50,000 files."""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import Figure, median
from maia_kernel.tools.base import Tool, ToolContext, ToolOutput
from maia_kernel.tools.glob import Glob
from maia_kernel.tools.grep import Grep
from maia_kernel.tools.ripgrep import find_rg

FILES = 50_000
_FOLDER = 100  # files of a folder
_SUFFIXES = ("py", "ts", "md", "json")
_ALWAYS = ("--no-config", "--hidden", "--color=never")

# What is asked, of the tool, and of ripgrep for the same answer: also newest first.
CASES: tuple[tuple[str, Tool[Any], dict[str, Any], tuple[str, ...]], ...] = (
    (
        "Glob, a quarter of the files",
        Glob(),
        {"pattern": "**/*.py"},
        ("--files", "--glob=*.py", "--sortr=modified"),
    ),
    ("Glob, all files", Glob(), {"pattern": "**/*"}, ("--files", "--sortr=modified")),
    (
        "Glob, one folder",
        Glob(),
        {"pattern": "part3/sub2/**/*.py"},
        ("--files", "--glob=/part3/sub2/**/*.py", "--sortr=modified"),
    ),
    ("Grep, files with a rare word", Grep(), {"pattern": "needle"}, ("-l", "needle")),
    (
        "Grep, lines of one kind of file",
        Grep(),
        {"pattern": "value", "glob": "*.py", "output_mode": "content"},
        ("-n", "--no-heading", "--glob=*.py", "value"),
    ),
    ("Grep, counts", Grep(), {"pattern": "value", "output_mode": "count"}, ("--count", "value")),
)


def run(*, runs: int, files: int = FILES) -> list[Figure]:
    """The figures, each a median over `runs`; the first round, with a cold cache, does not count."""
    with tempfile.TemporaryDirectory() as folder:
        cwd = Path(folder).resolve() / "tree"
        make_tree(cwd, files)
        context = ToolContext(
            cwd=cwd, shell_cwd=cwd, model="scripted:none", spill=Path(folder) / "spill"
        )
        figures = []
        for name, tool, fields, arguments in CASES:
            ours: list[float] = []
            plain: list[float] = []
            for _ in range(runs + 1):  # in turn, so that a busy moment is shared
                ours.append(_seconds(lambda t=tool, f=fields: asyncio.run(_call(t, f, context))))
                plain.append(_seconds(lambda a=arguments: _plain(a, cwd)))
            goal = "ratio < 2"
            beside = median(plain[1:]) * 1000
            figures.append(Figure(name, median(ours[1:]) * 1000, "ms", beside, goal))
    return figures


def make_tree(top: Path, files: int) -> None:
    """`files` small files in folders of a hundred, in a git repository that ignores some of them."""
    top.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    (top / ".gitignore").write_text("build/\n*.log\n")
    for number in range(files // _FOLDER):
        folder = top / f"part{number % 10}" / f"sub{number // 10}"
        folder.mkdir(parents=True)
        for at in range(_FOLDER):
            word = "needle" if (number * _FOLDER + at) % 1_000 == 0 else "hay"
            text = f"# {word}\nname = {at}\nvalue = {number}\n" + "a line like any other\n" * 8
            path = folder / f"file{at}.{_SUFFIXES[at % len(_SUFFIXES)]}"
            path.write_text(text)
            os.utime(path, (1_700_000_000 + at, 1_700_000_000 + number))


async def _call(tool: Tool[Any], fields: dict[str, Any], context: ToolContext) -> None:
    parsed = tool.Input.model_validate(fields)
    tool.validate(parsed, context)
    outputs = [step async for step in tool.run(parsed, context)]
    assert isinstance(outputs[-1], ToolOutput)
    assert not outputs[-1].is_error


def _plain(arguments: tuple[str, ...], cwd: Path) -> None:
    done = subprocess.run(
        [find_rg(), *_ALWAYS, "--glob=!.git", *arguments, "./"],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout


def _seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
