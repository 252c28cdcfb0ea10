"""The reader and writer of files: encodings, line ends, what is not a file, atomic replacement."""

import base64
import io
import os
import socket
import stat
from pathlib import Path

import nbformat
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maia_kernel import files
from maia_kernel.paths import resolve


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"plain\n", "plain\n", "utf-8"),
        ("caf\u00e9 \u4e16\u754c\n".encode(), "caf\u00e9 \u4e16\u754c\n", "utf-8"),
        (b"\xef\xbb\xbfmarked\n", "marked\n", "utf-8"),
        (b"\xff\xfe" + "wide é\n".encode("utf-16-le"), "wide é\n", "utf-16-le"),
        (b"\xfe\xff" + "wide é\n".encode("utf-16-be"), "wide é\n", "utf-16-be"),
        ("no mark here\n".encode("utf-16-le"), "no mark here\n", "utf-16-le"),
        ("un café à Nîmes\n".encode("cp1252"), "un café à Nîmes\n", "cp1252"),
        ("\u201cnaïve\u201d \u20ac5".encode("cp1252"), "\u201cnaïve\u201d \u20ac5", "cp1252"),
        (
            "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440, \u043a\u0430\u043a \u0434\u0435\u043b\u0430\n".encode(
                "cp1251"
            ),
            "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440, \u043a\u0430\u043a \u0434\u0435\u043b\u0430\n",
            "cp1251",
        ),
        (b"", "", "utf-8"),
    ],
)
def test_encoding_is_found_and_kept(tmp_path: Path, data: bytes, text: str, encoding: str) -> None:
    """The text is read in its encoding and encodes back to the same bytes."""
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    file = files.read_text(path)
    assert (file.text, file.encoding) == (text, encoding)
    assert file.encode(file.text) == data


@given(st.binary(max_size=400))
def test_whatever_is_decoded_encodes_back(data: bytes) -> None:
    """For any bytes, either they are no text or the text gives the same bytes."""
    decoded = files.decode(data)
    if decoded is not None:
        text, encoding, mark = decoded
        assert mark + text.encode(encoding) == data


@pytest.mark.parametrize(
    ("text", "newline", "lines"),
    [
        ("a\nb\n", "\n", ["a", "b"]),
        ("a\r\nb\r\nc\n", "\r\n", ["a", "b", "c"]),
        ("a\rb\r", "\r", ["a", "b"]),
        ("a\n\nb", "\n", ["a", "", "b"]),
        ("page\x0cbreak\u2028here\n", "\n", ["page\x0cbreak\u2028here"]),
        ("", "\n", []),
    ],
)
def test_line_ends(tmp_path: Path, text: str, newline: str, lines: list[str]) -> None:
    """The line end that prevails is found, and only real line ends divide lines."""
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    file = files.read_text(path)
    assert file.newline == newline
    assert file.lines() == lines
    assert file.with_newlines("x\ny\r\nz") == newline.join("xyz")


def test_what_is_not_a_file(tmp_path: Path) -> None:
    """A folder, a FIFO, a device, a socket and a missing name are told apart, and nothing blocks."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    sock = tmp_path / "sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(sock))
    server.close()
    cases = {
        tmp_path: "folder",
        fifo: "special",
        sock: "special",
        Path("/dev/zero"): "special",
        tmp_path / "none": "missing",
        tmp_path / "bad\0name": "missing",
        tmp_path / ("x" * 300): "missing",
    }
    for path, reason in cases.items():
        with pytest.raises(files.Unreadable) as caught:
            files.read_text(path)
        assert caught.value.reason == reason, path


def test_binary_and_too_large(tmp_path: Path) -> None:
    """Binary data and files over the limit are refused with their size."""
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(range(256)) * 10)
    with pytest.raises(files.Unreadable) as caught:
        files.read_text(path)
    assert (caught.value.reason, caught.value.size) == ("binary", 2560)
    path.write_bytes(b"x" * 11)
    with pytest.raises(files.Unreadable) as caught:
        files.read_text(path, limit=10)
    assert (caught.value.reason, caught.value.size) == ("too_large", 11)


def test_a_large_file_is_read_by_range(tmp_path: Path) -> None:
    """Given a file over the whole limit, a range comes with the count of what is left."""
    path = tmp_path / "big.log"
    line = b"x" * 99 + b"\n"
    path.write_bytes(b"first\r\n" + line * 101_000 + b"y" * 3_000_000 + b"\nlast")
    part = files.read_excerpt(path, first=1, count=2)
    assert part.lines == ("first", "x" * 99)
    assert (part.total, part.left) == (101_003, 101_001)
    assert files.read_excerpt(path, first=101_003, count=5).lines == ("last",)
    assert part.digest == files.digest_of(path.read_bytes())


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    """The replacement keeps the mode, is another inode, and leaves no temporary file."""
    path = tmp_path / "run.sh"
    path.write_bytes(b"old")
    path.chmod(0o751)
    inode = path.stat().st_ino
    mtime = files.write_atomic(path, b"new", expected=files.digest_of(b"old"))
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert path.stat().st_ino != inode
    assert path.stat().st_mtime_ns == mtime
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.sh"]


def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path) -> None:
    """A new file gets what the umask leaves, or the mode that is asked for."""
    old = os.umask(0o027)
    try:
        files.write_atomic(tmp_path / "a", b"")
        files.write_atomic(tmp_path / "b", b"", mode=0o600)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600


def test_a_symlink_stays_and_its_target_changes(tmp_path: Path) -> None:
    """Given a link, its target is what is written once it is resolved; the link itself is refused."""
    target = tmp_path / "real.txt"
    target.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to("real.txt")
    with pytest.raises(files.ChangedOnDisk):
        files.write_atomic(link, b"new", expected="absent")
    files.write_atomic(resolve(link), b"new", expected=files.digest_of(b"old"))
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_change_in_between_is_not_overwritten(tmp_path: Path) -> None:
    """Given a file that is not as expected, nothing is written and no temporary file stays."""
    path = tmp_path / "a"
    path.write_bytes(b"theirs")
    for expected in (files.digest_of(b"mine"), "absent"):
        with pytest.raises(files.ChangedOnDisk):
            files.write_atomic(path, b"new", expected=expected)
    with pytest.raises(files.ChangedOnDisk):
        files.write_atomic(tmp_path / "gone", b"new", expected=files.digest_of(b"x"))
    assert path.read_bytes() == b"theirs"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]
    files.write_atomic(tmp_path / "fresh", b"new", expected="absent")
    assert (tmp_path / "fresh").read_bytes() == b"new"


def test_near_names(tmp_path: Path) -> None:
    """A missing name is answered with neighbours that look like it."""
    for name in ("README.md", "setup.py", "settings.toml", "data.csv"):
        (tmp_path / name).touch()
    assert files.near_names(tmp_path / "readme.txt") == (tmp_path / "README.md",)
    assert files.near_names(tmp_path / "setings.toml")[0] == tmp_path / "settings.toml"
    assert files.near_names(tmp_path / "zzz") == ()
    assert files.near_names(tmp_path / "none" / "zzz") == ()


def picture(size: tuple[int, int], form: str = "PNG") -> bytes:
    out = io.BytesIO()
    PIL.Image.new("RGB", size, "red").save(out, form)
    return out.getvalue()


def test_pictures_fit_the_model() -> None:
    """A small picture goes as it is, a large one is made smaller, a broken one is refused."""
    small = picture((20, 10))
    block = files.image_block(small)
    assert (block.media_type, base64.b64decode(block.data)) == ("image/png", small)
    large = files.image_block(picture((4000, 1000), "JPEG"))
    with PIL.Image.open(io.BytesIO(base64.b64decode(large.data))) as seen:
        assert (large.media_type, seen.size) == ("image/jpeg", (1568, 392))
    noise = PIL.Image.frombytes("RGB", (1500, 1500), os.urandom(1500 * 1500 * 3))
    out = io.BytesIO()
    noise.save(out, "PNG")
    assert len(files.image_block(out.getvalue()).data) <= files.IMAGE_LIMIT
    with pytest.raises(files.MediaError):
        files.image_block(b"\x89PNG\r\n\x1a\n broken")
    with pytest.raises(files.MediaError):
        files.image_block(b"no picture")


def test_a_notebook_is_cells_with_outputs() -> None:
    """Cells come with source, printed output, errors without colours, and figures."""
    v4 = nbformat.v4
    encoded = base64.b64encode(picture((2, 2))).decode()
    notebook = v4.new_notebook(
        cells=[
            v4.new_markdown_cell("# Title"),
            v4.new_code_cell(
                "plot()",
                execution_count=3,
                outputs=[
                    v4.new_output("stream", text="hello\n"),
                    v4.new_output("display_data", {"image/png": encoded, "text/plain": "<Figure>"}),
                    v4.new_output(
                        "error", ename="E", evalue="v", traceback=["\x1b[31mE: v\x1b[0m"]
                    ),
                ],
            ),
        ]
    )
    cells = files.notebook_cells(nbformat.writes(notebook), images=True)
    assert len(cells) == 2
    text, image = cells[1]
    assert 'type="code" execution_count="3"' in text.text  # type: ignore[union-attr]
    assert "hello" in text.text  # type: ignore[union-attr]
    assert "E: v" in text.text  # type: ignore[union-attr]
    assert "\x1b" not in text.text  # type: ignore[union-attr]
    assert image.data == encoded  # type: ignore[union-attr]
    plain = files.notebook_cells(nbformat.writes(notebook), images=False)
    assert "[image/png]" in plain[1][0].text  # type: ignore[union-attr]
    for bad in ("{", "[]", '{"cells": 3}'):
        with pytest.raises(files.MediaError):
            files.notebook_cells(bad, images=True)
