"""Access to a resolved path: a link that took the place of a part of it is never followed."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maia_kernel import files, paths
from maia_kernel.errors import ToolError
from maia_kernel.permissions import Policy
from maia_kernel.tools.edit import Edit
from maia_kernel.tools.glob import Glob
from maia_kernel.tools.grep import Grep
from maia_kernel.tools.read import Read
from maia_kernel.tools.write import Write, WriteInput
from tests.support.tools import call, tool_context

# Another process swaps `inside/NAME` with a link to outside and back, as fast as it can.
_SWAPPER = """
import os, sys
place, link = sys.argv[1:]
aside = place + ".aside"
print("swapping", flush=True)
while True:
    os.rename(place, aside)
    os.rename(link, place)
    os.rename(place, link)
    os.rename(aside, place)
"""
SECONDS = 1.0


@contextmanager
def swapping(place: Path, target: Path) -> Iterator[None]:
    """`place` is, over and over, itself, nothing, and a link to `target`."""
    link = place.with_name(f"{place.name}.link")
    link.symlink_to(target)
    with subprocess.Popen(
        [sys.executable, "-c", _SWAPPER, str(place), str(link)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that is nobody's business."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_text("private\n")
    return folder


@pytest.mark.parametrize("part", ["sub/a.txt", "sub"])
async def test_a_link_that_comes_after_the_decision_is_refused(
    tmp_path: Path, outside: Path, part: str
) -> None:
    """Given a file or folder swapped for a link after permission was decided, no tool touches what the
    link leads to, and one line says why."""
    context = tool_context(tmp_path)
    (context.cwd / "sub").mkdir()
    (context.cwd / "sub/a.txt").write_text("ours\n")
    await call(Read(), context, file_path="sub/a.txt")
    for tool, more in (
        (Read(), {}),
        (Edit(), {"old_string": "ours", "new_string": "theirs"}),
        (Write(), {"content": "theirs"}),
    ):
        parsed = tool.Input.model_validate({"file_path": "sub/a.txt", **more})
        tool.subject(parsed, context)
        (context.cwd / part).rename(context.cwd / "aside")
        (context.cwd / part).symlink_to(outside / "a.txt" if part != "sub" else outside)
        with pytest.raises(ToolError, match="leads elsewhere than when permission"):
            async for _ in tool.run(parsed, context):
                pass
        (context.cwd / part).unlink()
        (context.cwd / "aside").rename(context.cwd / part)
    assert (outside / "a.txt").read_text() == "private\n"
    assert [entry.name for entry in outside.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("swapped", ["sub", "sub/a.txt"])
def test_a_second_process_that_swaps_gets_nothing_out_and_nothing_in(
    tmp_path: Path, outside: Path, swapped: str
) -> None:
    """Given a process that swaps a folder or a file for a link all the time, reads never give what is
    outside, and writes never reach it."""
    cwd = tmp_path / "work"
    (cwd / "sub").mkdir(parents=True)
    (cwd / "sub/a.txt").write_text("ours\n")
    # Permission was given for the real one: the rules saw a path inside.
    target = paths.resolve(cwd / "sub/a.txt")
    done = refused = 0
    with swapping(cwd / swapped, outside if swapped == "sub" else outside / "a.txt"):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                assert files.read_text(target).text != "private\n"
                files.write_atomic(target, b"ours\n")
                done += 1
            except (OSError, files.Unreadable, files.ChangedOnDisk):
                refused += 1
    assert (outside / "a.txt").read_text() == "private\n"
    assert [entry.name for entry in outside.iterdir()] == ["a.txt"]
    assert done
    assert refused


@pytest.mark.parametrize("swapped", ["sub", "sub/a.txt"])
async def test_a_search_gives_nothing_of_what_is_swapped_in(
    tmp_path: Path, outside: Path, swapped: str
) -> None:
    """Given a process that swaps a folder or a file for a link all the time, no search finds what is
    outside, by content or by name."""
    context = tool_context(tmp_path)
    (context.cwd / "sub").mkdir()
    (context.cwd / "sub/a.txt").write_text("ours\n")
    (outside / "hidden.txt").write_text("private\n")
    with swapping(context.cwd / swapped, outside if swapped == "sub" else outside / "a.txt"):
        for mode in ("content", "files_with_matches", "count") * 2:
            found = await call(Grep(), context, pattern="private", output_mode=mode)
            assert found.text.startswith("No matches found"), found.text
            assert "hidden" not in (await call(Glob(), context, pattern="**/*.txt")).text


async def test_new_folders_are_made_below_what_was_decided(tmp_path: Path, outside: Path) -> None:
    """Given a folder that a link took the place of, no folder is made in what the link leads to."""
    context = tool_context(tmp_path)
    (context.cwd / "sub").mkdir()
    parsed = WriteInput(file_path="sub/new/a.txt", content="x")
    Write().subject(parsed, context)
    (context.cwd / "sub").rmdir()
    (context.cwd / "sub").symlink_to(outside)
    with pytest.raises(ToolError, match="leads elsewhere"):
        async for _ in Write().run(parsed, context):
            pass
    assert [entry.name for entry in outside.iterdir()] == ["a.txt"]


def test_a_path_that_is_not_resolved_is_refused(tmp_path: Path, outside: Path) -> None:
    """Given a link, a path over it is not opened: the caller has to resolve it, and to ask."""
    (tmp_path / "link").symlink_to(outside)
    with pytest.raises(files.Redirected), files.pinned_folder(tmp_path / "link"):
        pass
    with pytest.raises(files.Unreadable) as caught:
        files.read_text(tmp_path / "link/a.txt")
    assert caught.value.reason == "redirected"
    assert files.kind(tmp_path / "link") == "redirected"
    assert files.read_text(paths.resolve(tmp_path / "link/a.txt")).text == "private\n"
    with pytest.raises(ValueError, match="not a resolved path"), files.pinned_folder(Path("a")):
        pass


_NAMES = st.sampled_from(
    [
        "a",
        "b",
        "..",
        ".",
        "",
        "in",
        "out",
        "up",
        "round",
        "root",
        "~",
        "deep/..",
        "file",
        "A",
        "a ",
        "a.",
    ]
)


@given(parts=st.lists(_NAMES, min_size=1, max_size=7), lead=st.sampled_from(["", "/", "./", "~/"]))
def test_nothing_that_leads_outside_counts_as_inside(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], lead: str
) -> None:
    """For any path expression, if the system finds the file outside, then so do we."""
    cwd, folder = _linked_tree(tmp_path_factory)
    policy = Policy(rules=(), mode="default", cwd=cwd, home=folder)
    path = paths.expand(lead + "/".join(parts), cwd)
    resolved = paths.resolve(path)
    try:
        state = path.stat()
    except OSError:
        return
    # The truth, from the system: a file's folder, by walking up with `..` from where it is.
    if policy.inside(resolved):
        assert _is_below(state, resolved, cwd)
        with files.pinned_folder(resolved if resolved.is_dir() else resolved.parent) as opened:
            real = Path(f"/proc/self/fd/{opened}").readlink()
        assert real.is_relative_to(cwd.resolve())


def _is_below(state: os.stat_result, resolved: Path, cwd: Path) -> bool:
    top = cwd.stat()
    if (state.st_dev, state.st_ino) == (top.st_dev, top.st_ino):
        return True
    at = str(resolved.parent)
    for _ in range(40):
        here = os.stat(at)  # noqa: PTH116 - `..` as the system walks it, not as pathlib folds it
        if (here.st_dev, here.st_ino) == (top.st_dev, top.st_ino):
            return True
        at += "/.."
    return False


_TREES: list[tuple[Path, Path]] = []


def _linked_tree(factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A working folder full of links, made once; and the folder around it."""
    if not _TREES:
        folder = factory.mktemp("linked").resolve()
        cwd, out = folder / "in", folder / "out"
        (cwd / "a/b").mkdir(parents=True)
        (out / "a/b").mkdir(parents=True)
        for top in (cwd, out, cwd / "a", out / "a", cwd / "a/b"):
            (top / "file").write_text("x")
        for place, target in (
            ("in/out", "../out"),
            ("in/up", ".."),
            ("in/round", "round"),
            ("in/root", "/"),
            ("in/a/up", "../up"),
            ("in/a/out", "../out/a"),
            ("out/in", "../in"),
            ("in/b", "a/b"),
            ("in/a/b/root", "../../root"),
        ):
            (folder / place).symlink_to(target)
        _TREES.append((cwd, folder))
    return _TREES[0]
