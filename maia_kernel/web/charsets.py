"""The text of an answer's body: which encoding it is in, from what says so best."""

import codecs
import re
from collections.abc import Iterator

from maia_kernel import files

_META = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})|^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_HEAD = 4_096
# As browsers take these names (https://encoding.spec.whatwg.org/#names-and-labels).
_WEB_NAMES = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"} | {
    "iso8859-9": "cp1254",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}
_SINGLE_BYTE = ("cp1252", "cp1254")
_TAIL = 3  # bytes of a character that a cut can leave


def text_of(body: bytes, charset: str, *, cut: bool = False) -> str | None:
    """The text of `body`; None when it is none.

    A byte order mark says most, then the header's `charset`, the page's own word, UTF-8, statistics. A
    word that the bytes contradict does not count. `cut` bodies may end inside a character.
    """
    for claimed in _claims(body, charset):
        text = _strict(body, claimed, cut=cut)
        if text is not None:
            return text
    found = files.decode(body) or (files.decode(body[:-_TAIL]) if cut else None)
    if found is not None:
        return found[0]
    return None if b"\0" in body else body.decode(_known(charset) or "utf-8", "replace")


def _claims(body: bytes, charset: str) -> Iterator[str]:
    if body.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield "utf-8-sig" if body.startswith(codecs.BOM_UTF8) else "utf-16"
    match = _META.search(body[:_HEAD])
    page = match and (match[1] or match[2]).decode("ascii", "replace")
    for word in (charset, page or ""):
        name = _known(word)
        if name in _SINGLE_BYTE:
            # Any bytes are text in these: the default of many servers, for pages in UTF-8 as well.
            yield "utf-8"
        if name:
            yield name


def _known(name: str) -> str:
    """The codec that a name on the web means; empty for none, and for codecs that are no charset."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    if not codec._is_text_encoding or codec.name in ("idna", "punycode", "unicode_escape", "utf-7"):
        return ""
    return _WEB_NAMES.get(codec.name, codec.name)


def _strict(body: bytes, encoding: str, *, cut: bool) -> str | None:
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(body, final=not cut)
    except UnicodeError:
        return None
    return None if "\0" in text else text
