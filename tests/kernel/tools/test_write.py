"""Write: new files, read-before-replace, what is kept, and the diff."""

import stat

import pytest

from maia_kernel.display import DiffDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.read import Read
from maia_kernel.tools.write import Write, WriteInput
from tests.support.tools import call


async def test_a_new_file_with_its_folders(context: ToolContext) -> None:
    """Given a path in folders that do not exist, they are made and the card shows the whole file."""
    parsed = WriteInput(file_path="a/b/c.txt", content="one\ntwo\n")
    assert Write().displays(parsed, context) == (
        DiffDisplay("a/b/c.txt", "@@ -0,0 +1,2 @@\n+one\n+two", new_file=True),
    )
    assert not (context.cwd / "a").exists()
    done = await call(Write(), context, file_path="a/b/c.txt", content="one\ntwo\n")
    assert (context.cwd / "a/b/c.txt").read_bytes() == b"one\ntwo\n"
    assert "Created a/b/c.txt (+2 -0 lines)" in done.text
    assert context.changed_files == [context.cwd / "a/b/c.txt"]
    await call(
        Write(), context, file_path="a/b/c.txt", content="three\n"
    )  # its own file counts as read


async def test_an_existing_file_must_have_been_read_and_be_unchanged(context: ToolContext) -> None:
    """Unread, read in part, or changed since: refused before anybody is asked, and left as it is."""
    path = context.cwd / "a.txt"
    path.write_text("1\n2\n3\n")
    with pytest.raises(ToolRetry, match="Read it first"):
        Write().validate(WriteInput(file_path="a.txt", content="x"), context)
    await call(Read(), context, file_path="a.txt", limit=1)
    with pytest.raises(ToolRetry, match="only a part"):
        Write().validate(WriteInput(file_path="a.txt", content="x"), context)
    await call(Read(), context, file_path="a.txt")
    path.write_text("1\n2\n4\n")
    with pytest.raises(ToolRetry, match="changed on disk"):
        Write().validate(WriteInput(file_path="a.txt", content="x"), context)
    assert path.read_text() == "1\n2\n4\n"
    await call(Read(), context, file_path="a.txt")
    done = await call(Write(), context, file_path="a.txt", content="1\n2\n5\n")
    assert path.read_text() == "1\n2\n5\n"
    assert done.output.displays == (DiffDisplay("a.txt", "@@ -1,3 +1,3 @@\n 1\n 2\n-4\n+5"),)


async def test_a_touched_file_with_the_same_bytes_is_unchanged(context: ToolContext) -> None:
    """Given another mtime but the same content, the file counts as unchanged."""
    path = context.cwd / "a.txt"
    path.write_text("1\n")
    await call(Read(), context, file_path="a.txt")
    path.unlink()
    path.write_text("1\n")
    await call(Write(), context, file_path="a.txt", content="2\n")
    assert path.read_text() == "2\n"


async def test_mode_encoding_mark_and_line_ends_are_kept(context: ToolContext) -> None:
    """Given a marked UTF-16 file with Windows line ends, the new content is written the same way."""
    path = context.cwd / "a.txt"
    path.write_bytes(b"\xff\xfe" + "é\r\nb\r\n".encode("utf-16-le"))
    path.chmod(0o755)
    await call(Read(), context, file_path="a.txt")
    await call(Write(), context, file_path="a.txt", content="è\nc\n")
    assert path.read_bytes() == b"\xff\xfe" + "è\r\nc\r\n".encode("utf-16-le")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


async def test_a_character_that_the_encoding_lacks(context: ToolContext) -> None:
    """Given a Western file, a character it cannot hold is an error that names it."""
    path = context.cwd / "a.txt"
    path.write_bytes("déjà vu\n".encode("cp1252"))
    await call(Read(), context, file_path="a.txt")
    with pytest.raises(ToolFailed, match=r"cp1252.*U\+4E16"):
        await call(Write(), context, file_path="a.txt", content="\u4e16")
    assert path.read_bytes() == "déjà vu\n".encode("cp1252")


async def test_through_a_symlink(context: ToolContext) -> None:
    """Writing through a symlink changes its target, and the subject names both."""
    target = context.cwd / "real.txt"
    target.write_text("old\n")
    link = context.cwd / "link.txt"
    link.symlink_to(target)
    await call(Read(), context, file_path="link.txt")
    await call(Write(), context, file_path="link.txt", content="new\n")
    assert link.is_symlink()
    assert target.read_text() == "new\n"
    (access,) = Write().subject(WriteInput(file_path="link.txt", content=""), context).paths
    assert (access.path, access.resolved, access.write) == (link, target, True)


async def test_where_nothing_can_be_written(context: ToolContext) -> None:
    """A folder, a name below a file, and the same content once more."""
    (context.cwd / "folder").mkdir()
    with pytest.raises(ToolFailed, match="is a folder"):
        await call(Write(), context, file_path="folder", content="x")
    (context.cwd / "file").write_text("x")
    with pytest.raises(ToolFailed, match="file is a file"):
        await call(Write(), context, file_path="file/a", content="x")
    await call(Read(), context, file_path="file")
    assert (
        "nothing was written" in (await call(Write(), context, file_path="file", content="x")).text
    )


async def test_a_large_change_is_quick_and_its_diff_is_whole(context: ToolContext) -> None:
    """Given 20,000 lines that all change, the diff is made without comparing them all, and holds each
    of them; that of the new file has the head of a new file."""
    path = context.cwd / "a.txt"
    made = await call(
        Write(), context, file_path="a.txt", content="".join(f"old {n}\n" for n in range(20_000))
    )
    (diff,) = made.output.displays
    assert isinstance(diff, DiffDisplay)
    assert diff.diff.startswith("@@ -0,0 +1,20000 @@\n+old 0\n")
    new = "".join(f"new {n}\n" for n in range(20_000))
    done = await call(Write(), context, file_path="a.txt", content=new)
    assert "(+20000 -20000 lines)" in done.text
    (diff,) = done.output.displays
    assert isinstance(diff, DiffDisplay)
    assert len(diff.diff.splitlines()) == 40_001
    assert diff.diff.endswith("+new 19999")
    assert path.read_text() == new
