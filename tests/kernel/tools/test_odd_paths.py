"""Paths that no file can have, links that go round, pipes: one clear line, and no waiting."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from maia_kernel import paths
from maia_kernel.errors import ToolError, ToolFailed, ToolRetry
from maia_kernel.tools.base import Tool, ToolContext
from maia_kernel.tools.bash import Bash
from maia_kernel.tools.edit import Edit
from maia_kernel.tools.glob import Glob
from maia_kernel.tools.grep import Grep
from maia_kernel.tools.read import Read
from maia_kernel.tools.write import Write
from tests.support.tools import call

FILE_TOOLS: tuple[tuple[Tool[Any], str, dict[str, str]], ...] = (
    (Read(), "file_path", {}),
    (Write(), "file_path", {"content": "x"}),
    (Edit(), "file_path", {"old_string": "a", "new_string": "b"}),
    (Glob(), "path", {"pattern": "*"}),
    (Grep(), "path", {"pattern": "x"}),
)
TEXTS: tuple[tuple[Tool[Any], str, dict[str, str]], ...] = (
    *FILE_TOOLS,
    (Glob(), "pattern", {}),
    (Grep(), "pattern", {}),
    (Grep(), "glob", {"pattern": "x"}),
    (Grep(), "type", {"pattern": "x"}),
    (Bash(), "command", {}),
)


@pytest.mark.parametrize(("value", "said"), [("a\0b", "NUL"), ("\ud800x", "U+D800")])
@pytest.mark.parametrize(("tool", "field", "more"), TEXTS)
async def test_what_no_name_can_hold_is_said(
    tool: Tool[Any], field: str, more: dict[str, str], value: str, said: str, context: ToolContext
) -> None:
    """Given a NUL or a lone surrogate in a text for the system, the model is told where."""
    parsed = tool.Input.model_construct(**more, **{field: value})
    with pytest.raises(ToolRetry) as caught:
        tool.validate(parsed, context)
    assert said in str(caught.value)
    assert field in str(caught.value)
    str(caught.value).encode()


@pytest.mark.parametrize(("tool", "field", "more"), FILE_TOOLS)
async def test_a_link_that_goes_round_is_said(
    tool: Tool[Any], field: str, more: dict[str, str], context: ToolContext
) -> None:
    """Given a symlink to itself, every tool says so."""
    (context.cwd / "round").symlink_to("round")
    with pytest.raises(ToolFailed, match="round is a symbolic link that leads round to itself"):
        await call(tool, context, **more, **{field: "round"})


@pytest.mark.parametrize(("tool", "field", "more"), FILE_TOOLS)
async def test_a_pipe_is_refused_at_once(
    tool: Tool[Any], field: str, more: dict[str, str], context: ToolContext
) -> None:
    """Given a pipe, no tool waits for somebody to write into it."""
    os.mkfifo(context.cwd / "pipe")
    before = time.monotonic()
    with pytest.raises(ToolError, match="pipe"):
        await call(tool, context, **more, **{field: "pipe"})
    assert time.monotonic() - before < 10


async def test_a_search_passes_a_pipe(context: ToolContext) -> None:
    """Given a pipe among the files, Grep and Glob finish, also when the pattern names it."""
    os.mkfifo(context.cwd / "pipe")
    (context.cwd / "a").write_text("needle")
    assert (await call(Grep(), context, pattern="needle")).text == "a"
    assert "No matches" in (await call(Grep(), context, pattern="needle", glob="pipe")).text
    assert "a" in (await call(Glob(), context, pattern="*")).text


def test_paths_take_any_text(tmp_path: Path) -> None:
    """Given any text, a path is expanded and resolved without an error."""
    for name in ("\ud800x", "a\0b", "~\ud800/x", "~a\0b/x"):
        assert paths.resolve(paths.expand(name, tmp_path)).is_absolute()
