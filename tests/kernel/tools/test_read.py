"""Read: numbered text, ranges, images, PDF files, notebooks, and clear errors."""

import base64
import io
import json
import os

import PIL.Image
import pypdf
import pytest

from maia_kernel import files
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.messages import Document, Image, Text
from maia_kernel.permissions.patterns import Anchored
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.read import Read, ReadInput
from tests.support.tools import call


async def test_text_has_line_numbers_and_is_recorded(context: ToolContext) -> None:
    """Lines come numbered from 1, and the file counts as read, whole, with its digest."""
    path = context.cwd / "a.py"
    path.write_bytes(b"one\n\n  three\n")
    done = await call(Read(), context, file_path="a.py")
    assert done.text == "     1\tone\n     2\t\n     3\t  three"
    seen = context.seen[path]
    assert (seen.whole, seen.digest) == (True, files.digest_of(path.read_bytes()))
    assert seen.mtime_ns == path.stat().st_mtime_ns


async def test_a_range_says_what_is_left_and_is_a_part(context: ToolContext) -> None:
    """Given offset and limit, those lines come with the count of the rest; the file is read in part."""
    (context.cwd / "a").write_text("".join(f"l{n}\n" for n in range(1, 101)))
    done = await call(Read(), context, file_path="a", offset=10, limit=3)
    assert done.text.splitlines()[:3] == ["    10\tl10", "    11\tl11", "    12\tl12"]
    assert "88 are left" in done.text
    assert "offset 13" in done.text
    assert not context.seen[context.cwd / "a"].whole
    await call(Read(), context, file_path="a")
    await call(Read(), context, file_path="a", offset=10, limit=3)
    assert context.seen[context.cwd / "a"].whole  # what was read whole stays so


async def test_two_thousand_lines_at_a_time_and_long_lines_cut(context: ToolContext) -> None:
    """Without a range 2,000 lines come; a line over 2,000 characters is cut and says so."""
    (context.cwd / "a").write_text("x" * 5_000 + "\n" + "y\n" * 2_999)
    done = await call(Read(), context, file_path="a")
    assert "x" * 2_000 + "… [3,000 more characters]" in done.text
    assert "lines 1-2000 of 3,000; 1,000 are left" in done.text
    assert not context.seen[context.cwd / "a"].whole


async def test_one_call_has_a_limit_of_characters(context: ToolContext) -> None:
    """Given many wide lines, as many come as fit, and the next offset gives the rest."""
    (context.cwd / "a").write_text(("z" * 1_000 + "\n") * 500)
    done = await call(Read(), context, file_path="a")
    shown = sum(line.endswith("z") for line in done.text.splitlines())
    assert len(done.text) < 101_000
    assert f"go on with offset {shown + 1}" in done.text


async def test_empty_and_past_the_end(context: ToolContext) -> None:
    """An empty file says so, and an offset past the end says how long the file is."""
    (context.cwd / "empty").touch()
    assert "empty" in (await call(Read(), context, file_path="empty")).text
    assert context.seen[context.cwd / "empty"].whole
    (context.cwd / "a").write_text("1\n2\n")
    assert "2 lines" in (await call(Read(), context, file_path="a", offset=9)).text


async def test_a_huge_file_only_by_range(context: ToolContext) -> None:
    """Given a file over 10 MB, the whole is refused and a range works."""
    (context.cwd / "big").write_bytes(b"abcdefghi\n" * 1_100_000)
    with pytest.raises(ToolRetry, match="offset and limit"):
        await call(Read(), context, file_path="big")
    done = await call(Read(), context, file_path="big", offset=1_099_999, limit=10)
    assert done.text == "1099999\tabcdefghi\n1100000\tabcdefghi"


async def test_what_cannot_be_read(context: ToolContext) -> None:
    """A missing file, a folder, a FIFO, a device and a binary are errors that say what to do."""
    (context.cwd / "config.toml").touch()
    (context.cwd / "folder").mkdir()
    os.mkfifo(context.cwd / "fifo")
    (context.cwd / "a.bin").write_bytes(b"\0\1\2" * 100)
    cases = {
        "confg.toml": r"does not exist. Did you mean config\.toml\?",
        "foldr/a.py": r"no folder foldr. Did you mean folder\?",
        "folder": "is a folder",
        "fifo": "not a regular file",
        "/dev/zero": "not a regular file",
        "a.bin": r"binary file \(300 bytes\)",
    }
    for written, message in cases.items():
        with pytest.raises(ToolFailed, match=message):
            await call(Read(), context, file_path=written)
    for written in ("", " ", "a\0b", "~nobody-of-that-name/x"):
        with pytest.raises(ToolRetry):
            await call(Read(), context, file_path=written)


async def test_paths_from_home_and_through_symlinks(context: ToolContext, home: object) -> None:
    """`~` is expanded, and the subject holds the path as written and as resolved."""
    target = context.cwd / "real.txt"
    target.write_text("x")
    (context.cwd / "link.txt").symlink_to(target)
    subject = Read().subject(ReadInput(file_path="link.txt"), context)
    assert [(a.path, a.resolved, a.write) for a in subject.paths] == [
        (context.cwd / "link.txt", target, False)
    ]
    assert subject.read_only
    await call(Read(), context, file_path="link.txt")
    assert target in context.seen
    outside = Read().subject(ReadInput(file_path="~/n.md"), context)
    assert str(outside.paths[0].path) == f"{home}/n.md"
    assert Read().summary(ReadInput(file_path="~/n.md", offset=3, limit=2), context) == "~/n.md:3-4"


async def test_an_image_is_an_image(context: ToolContext) -> None:
    """A picture comes as an image block, or as an error for a model that takes none."""
    PIL.Image.new("RGB", (3, 3)).save(context.cwd / "a.png")
    done = await call(Read(), context, file_path="a.png")
    assert done.output.content == (
        Image("image/png", base64.b64encode((context.cwd / "a.png").read_bytes()).decode()),
    )
    context.images = False
    with pytest.raises(ToolFailed, match="takes no images"):
        await call(Read(), context, file_path="a.png")


def pdf(pages: int) -> bytes:
    writer = pypdf.PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(100, 100)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


async def test_a_pdf_is_a_document_by_pages(context: ToolContext) -> None:
    """A short PDF comes whole, a long one by pages, and as text where the model takes none."""
    path = context.cwd / "a.pdf"
    path.write_bytes(pdf(3))
    (document,) = (await call(Read(), context, file_path="a.pdf")).output.content
    assert document == Document("application/pdf", base64.b64encode(pdf(3)).decode(), "a.pdf")
    path.write_bytes(pdf(30))
    with pytest.raises(ToolRetry, match="30 pages"):
        await call(Read(), context, file_path="a.pdf")
    (part,) = (await call(Read(), context, file_path="a.pdf", pages="2-5")).output.content
    assert isinstance(part, Document)
    assert len(pypdf.PdfReader(io.BytesIO(base64.b64decode(part.data))).pages) == 4
    for wrong in ("0", "5-2", "x", "1-21", "31"):
        with pytest.raises(ToolRetry):
            await call(Read(), context, file_path="a.pdf", pages=wrong)
    context.pdf = False
    assert "[page 2 of 30]" in (await call(Read(), context, file_path="a.pdf", pages="2")).text
    path.write_bytes(b"%PDF-1.4 broken")
    with pytest.raises(ToolFailed, match="cannot be read"):
        await call(Read(), context, file_path="a.pdf")


async def test_a_notebook_is_cells(context: ToolContext) -> None:
    """A notebook comes as cells with outputs; offset and limit count cells."""
    cells = [
        {
            "cell_type": "code",
            "id": f"c{n}",
            "metadata": {},
            "execution_count": n,
            "source": [f"x = {n}"],
            "outputs": [{"output_type": "stream", "name": "stdout", "text": ["out\n"]}],
        }
        for n in range(5)
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (context.cwd / "a.ipynb").write_text(json.dumps(notebook))
    done = await call(Read(), context, file_path="a.ipynb")
    assert done.text.count("<cell id=") == 5
    assert "<output>\nout\n</output>" in done.text
    part = await call(Read(), context, file_path="a.ipynb", offset=2, limit=2)
    assert 'id="c1"' in part.text
    assert "2 of 5 cells are left: go on with offset 4" in part.text
    (context.cwd / "bad.ipynb").write_text("{}")
    with pytest.raises(ToolFailed, match="notebook"):
        await call(Read(), context, file_path="bad.ipynb")


async def test_other_encodings(context: ToolContext) -> None:
    """UTF-16 and Western text are shown as text."""
    (context.cwd / "a").write_bytes(b"\xff\xfe" + "é\r\n".encode("utf-16-le"))
    (context.cwd / "b").write_bytes("déjà vu".encode("cp1252"))
    assert (await call(Read(), context, file_path="a")).output.content == (Text("     1\té"),)
    assert (await call(Read(), context, file_path="b")).text == "     1\tdéjà vu"


async def test_a_name_that_is_denied_is_not_offered(context: ToolContext) -> None:
    """Given a missing file whose like is denied, the answer does not name that."""
    for name in ("secret.txt", "secrets.txt"):
        (context.cwd / name).touch()
    context.read_denied = (Anchored(context.cwd, "secret.txt"),)
    with pytest.raises(ToolFailed, match=r"Did you mean secrets\.txt\?"):
        await call(Read(), context, file_path="secret.tx")


async def test_a_long_text_of_a_pdf_says_what_is_left_out(context: ToolContext) -> None:
    """Given more text than a call returns, its middle is counted, not dropped without a word."""
    pages = [f"page {n} " + "word " * 9_000 for n in range(12)]
    (context.cwd / "a.pdf").write_bytes(text_pdf(pages))
    context.pdf = False
    text = (await call(Read(), context, file_path="a.pdf")).text
    assert "characters left out" in text
    assert text.startswith("[page 1 of 12]\npage 0")


def text_pdf(pages: list[str]) -> bytes:
    """A PDF with these texts, one a page."""
    writer = pypdf.PdfWriter()
    for text in pages:
        page = writer.add_blank_page(500, 500)
        font = pypdf.generic.DictionaryObject(
            {
                pypdf.generic.NameObject("/Type"): pypdf.generic.NameObject("/Font"),
                pypdf.generic.NameObject("/Subtype"): pypdf.generic.NameObject("/Type1"),
                pypdf.generic.NameObject("/BaseFont"): pypdf.generic.NameObject("/Helvetica"),
            }
        )
        fonts = pypdf.generic.DictionaryObject({pypdf.generic.NameObject("/F1"): font})
        page[pypdf.generic.NameObject("/Resources")] = pypdf.generic.DictionaryObject(
            {pypdf.generic.NameObject("/Font"): fonts}
        )
        stream = pypdf.generic.DecodedStreamObject()
        stream.set_data(f"BT /F1 8 Tf 10 480 Td ({text}) Tj ET".encode())
        page[pypdf.generic.NameObject("/Contents")] = writer._add_object(stream)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
