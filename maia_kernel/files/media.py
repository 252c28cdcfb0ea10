"""Pictures and PDF files as content blocks, within what models take.

Limits are those of the public Messages API: 5 MB of base64 a picture on every host of it, sides of
1,568 pixels before it is scaled down anyway, 32 MB a request.
"""

import base64
import io
from pathlib import Path
from typing import Literal

from maia_kernel.messages import Document, Image

IMAGE_LIMIT = 5_000_000
"""Most characters of base64 of a picture."""
PDF_LIMIT = 20_000_000
"""Most bytes of a PDF sent as a document."""
_SIDE = 1_568
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


MediaFault = Literal[
    "not_an_image",
    "image_too_large",
    "broken_image",
    "pdf_too_large",
    "broken_pdf",
    "no_pypdf",
    "not_a_notebook",
]


class MediaError(Exception):
    """A picture, PDF or notebook that cannot be used: `fault` to branch on, the message in English."""

    def __init__(self, fault: MediaFault, message: str) -> None:
        super().__init__(message)
        self.fault: MediaFault = fault


def image_type(data: bytes) -> str | None:
    """The media type of a picture that models take, by its first bytes."""
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def is_pdf(data: bytes) -> bool:
    """Whether `data` begins as a PDF file."""
    return data.startswith(b"%PDF-")


def image_block(data: bytes) -> Image:
    """The picture as a block, made smaller where it is too large and Pillow is installed.

    Raises:
        MediaError: no picture of a known type, or too large and not to be made smaller.
    """
    media_type = image_type(data)
    if media_type is None:
        raise MediaError("not_an_image", "it is not a PNG, JPEG, GIF or WebP image")
    media_type, data = _fitted(media_type, data)
    encoded = base64.b64encode(data).decode("ascii")
    if len(encoded) > IMAGE_LIMIT:
        raise MediaError(
            "image_too_large",
            f"the image takes {len(encoded) / 1e6:.1f} MB as base64 and models take at most "
            f"{IMAGE_LIMIT / 1e6:.0f} MB; make it smaller (with the pillow package MAIA does)",
        )
    return Image(media_type, encoded)


def document_block(data: bytes, path: Path) -> Document:
    """The PDF as a document block.

    Raises:
        MediaError: larger than `PDF_LIMIT`.
    """
    if len(data) > PDF_LIMIT:
        raise MediaError(
            "pdf_too_large",
            f"the PDF has {len(data) / 1e6:.0f} MB; at most {PDF_LIMIT / 1e6:.0f} MB can be sent",
        )
    return Document("application/pdf", base64.b64encode(data).decode("ascii"), path.name)


def pdf_pages(data: bytes, first: int | None = None, last: int | None = None) -> tuple[int, bytes]:
    """The number of pages, and the PDF reduced to pages `first` to `last` (from 1) where given.

    Raises:
        MediaError: pypdf is not installed, or the file is broken or encrypted.
    """
    try:
        import pypdf  # optional and heavy
    except ImportError:
        raise MediaError(
            "no_pypdf", "reading pages of a PDF needs the pypdf package (pip install pypdf)"
        ) from None
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        total = len(reader.pages)
        if first is None or last is None:
            return total, data
        writer = pypdf.PdfWriter()
        for page in reader.pages[first - 1 : last]:
            writer.add_page(page)
        out = io.BytesIO()
        writer.write(out)
        writer.close()
    except (pypdf.errors.PyPdfError, ValueError, KeyError, TypeError, OSError) as fault:
        raise MediaError("broken_pdf", f"the PDF cannot be read: {fault}") from fault
    return total, out.getvalue()


def pdf_text(data: bytes) -> list[str]:
    """The text of each page.

    Raises:
        MediaError: pypdf is not installed, or the file is broken or encrypted.
    """
    try:
        import pypdf  # optional and heavy
    except ImportError:
        raise MediaError(
            "no_pypdf",
            "this model takes no PDF and its text cannot be extracted without the pypdf package "
            "(pip install pypdf)",
        ) from None
    try:
        return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages]
    except (pypdf.errors.PyPdfError, ValueError, KeyError, TypeError, OSError) as fault:
        raise MediaError("broken_pdf", f"the PDF cannot be read: {fault}") from fault


def _fitted(media_type: str, data: bytes) -> tuple[str, bytes]:
    try:
        import PIL.Image  # optional and heavy
    except ImportError:
        return media_type, data
    try:
        with PIL.Image.open(io.BytesIO(data)) as picture:
            too_heavy = len(data) * 4 / 3 > IMAGE_LIMIT
            if max(picture.size) <= _SIDE and not too_heavy:
                return media_type, data
            picture.thumbnail((_SIDE, _SIDE))
            out = io.BytesIO()
            if media_type == "image/jpeg" or too_heavy:
                picture.convert("RGB").save(out, "JPEG", quality=85)
                return "image/jpeg", out.getvalue()
            picture.save(out, "PNG")
            return "image/png", out.getvalue()
    except (OSError, ValueError, PIL.Image.DecompressionBombError) as fault:
        raise MediaError("broken_image", f"the image cannot be read: {fault}") from fault
