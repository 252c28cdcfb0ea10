"""Text of a PDF that somebody else wrote: as much as time and room allow."""

import io
import time

import pypdf

SECONDS = 20.0
"""After these no further page is begun."""


class BadPdf(Exception):
    """It cannot be read; the message (English) says why."""


def pdf_text(data: bytes, *, most: int, seconds: float = SECONDS) -> tuple[str, int, int]:
    """The text, the number of pages in it, and how many there are.

    Pages are read until there are `most` characters or the time is over.

    Raises:
        BadPdf: damaged or encrypted.
    """
    ends = time.monotonic() + seconds
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        total = len(reader.pages)
        texts: list[str] = []
        length = 0
        for number, page in enumerate(reader.pages, 1):
            if texts and (length > most or time.monotonic() > ends):
                break
            texts.append(f"[page {number} of {total}]\n{page.extract_text().strip()}")
            length += len(texts[-1])
    except pypdf.errors.FileNotDecryptedError:
        raise BadPdf("the PDF is encrypted") from None
    except (pypdf.errors.PyPdfError, ValueError, KeyError, TypeError, OSError, RecursionError):
        raise BadPdf("the PDF is damaged") from None
    return "\n\n".join(texts), len(texts), total
