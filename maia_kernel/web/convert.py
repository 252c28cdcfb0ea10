"""What came from the web as text for a model: Markdown, JSON, plain text, the text of a PDF."""

import json
from dataclasses import dataclass

from maia_kernel import files
from maia_kernel.web.charsets import text_of
from maia_kernel.web.fetch import Page
from maia_kernel.web.markup import markdown
from maia_kernel.web.pdf import BadPdf, pdf_text

_HTML = ("text/html", "application/xhtml+xml")
_UNSTATED = ("", "application/octet-stream", "binary/octet-stream")
_NAMES = {"image": "a picture", "audio": "sound", "video": "a film", "font": "a font"}


class NoText(Exception):
    """There is no text in it; the message (English) says what it is."""


@dataclass(frozen=True, slots=True)
class Readable:
    """Text of a page, its title where it has one, and remarks on what is missing."""

    text: str
    title: str = ""
    notes: tuple[str, ...] = ()


def readable(page: Page, *, most: int) -> Readable:
    """The text of `page`; at least `most` characters of it where there are as many.

    Takes up to some seconds of processor time.

    Raises:
        NoText: it is binary, a broken PDF, or a compressed file.
    """
    if files.is_pdf(page.body[:1024].lstrip()):
        return _pdf(page, most)
    kind = page.media_type
    if kind.partition("/")[0] in _NAMES and kind != "image/svg+xml":
        raise NoText(f"it is {_NAMES[kind.partition('/')[0]]} ({kind}, {len(page.body):,} bytes)")
    text = text_of(page.body, page.charset, cut=bool(page.cut))
    if text is None:
        raise NoText(f"it is no text ({kind or 'of no stated type'}, {len(page.body):,} bytes)")
    if kind in _HTML or (kind in _UNSTATED and _begins_as_html(text)):
        return _html(text, page, most)
    if kind == "application/json" or kind.endswith("+json") or kind in _UNSTATED:
        text = _pretty(text)
    return Readable(text)


def _begins_as_html(text: str) -> bool:
    return text[:1_000].lstrip("\ufeff \t\r\n").lower().startswith(("<!doctype html", "<html"))


def _html(text: str, page: Page, most: int) -> Readable:
    title, content, whole = markdown(text, str(page.url), most=most)
    notes = () if whole else ("(the page is very long: only its beginning was converted)",)
    return Readable(content, title, notes)


def _pretty(text: str) -> str:
    """JSON with a line for each value; what is no JSON, or too deep, as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _pdf(page: Page, most: int) -> Readable:
    try:
        text, read, total = pdf_text(page.body, most=most)
    except BadPdf as error:
        cut = f"; {page.cut}" if page.cut else ""
        raise NoText(f"{error} ({len(page.body):,} bytes{cut})") from None
    notes = (f"(pages 1 to {read} of {total})",) if read < total else ()
    return Readable(text, "", notes)
