"""A model's Markdown with nothing in it that a page would fetch by itself.

Whoever writes into what a model reads could have it show a picture whose address carries what it has
read. So pictures from elsewhere become links, HTML keeps harmless tags without attributes, formulas no
styles, and a diagram that could fetch is shown as its code. Code stays as it is. Only a text with
something suspicious in it is parsed.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from maia_widgets.tags import tag

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_Kind = Literal["code", "diagram", "html", "text"]

# Commands with which a formula sets styles or loads something (MathJax, KaTeX).
_STYLING = r"\\(?:style|bbox|mmlToken|require|includegraphics|html[A-Za-z]*)(?![A-Za-z])"
_SUSPICIOUS = re.compile(rf"!\[|<[A-Za-z/!?]|mermaid|{_STYLING}", re.IGNORECASE)
_PASSES = 5

# A backslash counts for backticks and itself only: where it would not escape (within HTML), `\<` must
# not hide a tag.
_PLACE = re.compile(rf"\\[\\`]|`+|<(?=[A-Za-z/!?])|!+\[|{_STYLING}")
_AUTOLINK = re.compile(r"<(?:https?://|mailto:)[^\s<>\"'`]*+>|<[\w.+-]++@[\w.-]++>")

# A picture that comes with the notebook, or lies beside it.
_HERE = (
    r"(?:data:image/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/]++={0,2}"
    r"|attachment:[\w.-]++"
    r"|(?:\.{1,2}/)*+[\w-][\w.-]*+(?:/[\w.-]++)*+)"
)
_PICTURE = re.compile(rf"!\[[^\[\]\n`<]*+\]\({_HERE}(?: \"[^\"\n\\<&`]*+\")?+\)")
_UNNAMED = re.compile(r"!+\[\s*+\]\(\s*+<?([^\s()<>\[\]`]++)")

# JupyterLab draws these fences, in the page: pictures, styles and HTML in them would be fetched.
_FETCHING = re.compile(
    r"//|\\|@\{|url|import|%%\{|^\s*---|config|&|#\w+;|<(?!br\s*/?>)[A-Za-z/!?]",
    re.IGNORECASE | re.MULTILINE,
)

# JupyterLab takes formulas out before it reads the Markdown, and with them the fences and backticks
# between two of their marks. It hides the dollars of most code from that, but not of all.
_FORMULA = re.compile(r"\\?\$|\\(?=(?:begin|end)\{)|\\\\(?=[()\[\]])")
_HIDING = (
    re.compile(r"^(`{3,}+|~{3,}+)[^`\n]*\n[\s\S]*?^\1`*$", re.MULTILINE),
    re.compile(r"(?<!\\)(`++)[^\n]*?[^`\n]\1(?!`)"),
)


def inert(markdown: str) -> str:
    """`markdown` without what a page would fetch from elsewhere; the same text where there is none."""
    if not _SUSPICIOUS.search(markdown):
        return markdown
    safe = markdown.replace("\r\n", "\n").replace("\r", "\n")
    # A tag that is gone can make other text code, or code other text.
    for _ in range(_PASSES):
        before, safe = safe, _once(safe)
        if safe == before:
            return _without_swallowed_code(safe)
    return _once(safe, spare_code=False)


def _once(markdown: str, *, spare_code: bool = True) -> str:
    parts = []
    formulas = _FORMULA.search(markdown) is not None
    for kind, text in _spans(markdown):
        if kind == "diagram":
            text = _as_code(text)
        if kind in ("text", "html") or not spare_code:
            text = _without_places(text, html=kind == "html", formulas=formulas)
        parts.append(text)
    return "".join(parts)


def _without_swallowed_code(safe: str) -> str:
    """Where code holds what is not allowed outside of it, no formula may swallow the marks around it."""
    if safe == _once(safe, spare_code=False):
        return safe
    spelled = "".join(
        text if kind in ("code", "diagram") else _FORMULA.sub(_spelled, text)
        for kind, text in _spans(safe)
    )
    left = spelled
    for hiding in _HIDING:
        left = hiding.sub(lambda match: match[0].replace("$", ""), left)
    return _once(spelled, spare_code=False) if _FORMULA.search(left) else spelled


def _spelled(mark: re.Match[str]) -> str:
    """A mark of a formula as a letter of the text."""
    return "&#36;" if mark[0].endswith("$") else "&#92;" * len(mark[0])


def _as_code(diagram: str) -> str:
    head, newline, body = diagram.partition("\n")
    if not _FETCHING.search(body):
        return diagram
    return re.sub("mermaid", "text", head, count=1, flags=re.IGNORECASE) + newline + body


# -- places in text --------------------------------------------------------------------------------


def _without_places(text: str, *, html: bool, formulas: bool) -> str:
    parts, done = [], 0
    while found := _PLACE.search(text, done):
        parts.append(text[done : found.start()])
        done, instead = _instead(text, found, html=html, formulas=formulas)
        parts.append(instead)
    return "".join((*parts, text[done:]))


def _instead(text: str, found: re.Match[str], *, html: bool, formulas: bool) -> tuple[int, str]:
    """Where the place ends, and what stands there instead."""
    start, end, mark = found.start(), found.end(), found[0]
    if mark[0] == "`" or mark in ("\\\\", "\\`"):
        return end, mark
    if mark[0] == "\\":
        return end, f"\\ {mark[1:]}"
    if mark[0] == "!":
        return _picture(text, start, end)
    link = None if html else _AUTOLINK.match(text, start)
    if link:
        return link.end(), link[0]
    known = tag(text, start)
    if known is not None:
        return known
    # In a formula `a<b` must stay one; elsewhere it may look as it did.
    spaced = formulas or text[:start].endswith("\\")
    return end, "< " if spaced else "&lt;"


def _picture(text: str, start: int, end: int) -> tuple[int, str]:
    picture = _PICTURE.match(text, end - 2)
    if picture:
        return picture.end(), text[start : picture.end()]
    unnamed = _UNNAMED.match(text, start)
    # The address is the link's text where the picture had none.
    return (end, f"[{unnamed[1]}") if unnamed else (end, "[")


# -- code and text ---------------------------------------------------------------------------------


def _spans(markdown: str) -> Iterator[tuple[_Kind, str]]:
    """The text in order, in pieces of one kind."""
    lines = markdown.split("\n")
    labels = _labels(markdown, len(lines))
    # Cells of a table end a code span.
    table = any("-" in line and not line.strip(" \t>|:*+-") for line in lines)
    end = 0
    for (kind, _), group in groupby(labels):
        start, end = end, end + sum(1 for _ in group)
        text = "\n".join(lines[start:end]) + ("\n" if end < len(lines) else "")
        if kind == "text":
            yield from _inline(text, table=table)
        else:
            yield kind, text


def _labels(markdown: str, count: int) -> list[tuple[_Kind, int]]:
    """For each line its kind and the block it is in; lines without a block are as strict as HTML."""
    labels: list[tuple[_Kind, int]] = [("html", 0)] * count
    for number, token in enumerate(_parser().parse(markdown), 1):
        if token.map is None:
            continue
        kind: _Kind
        match token.type:
            case "fence":
                kind = "diagram" if token.info.strip().lower().startswith("mermaid") else "code"
            case "code_block":
                kind = "code"
            case "inline" | "tr_open":
                kind = "text"
            case _:
                continue
        first, last = token.map
        labels[first:last] = [(kind, number)] * (min(last, count) - first)
    return labels


def _inline(text: str, *, table: bool) -> Iterator[tuple[_Kind, str]]:
    """Code spans (CommonMark 6.1) and what is between them."""
    begun = place = 0
    while found := _PLACE.search(text, place):
        place = found.end()
        if found[0] == "<":
            link = _AUTOLINK.match(text, found.start())
            known = tag(text, found.start())
            place = link.end() if link else known[0] if known else place
        elif found[0][0] == "`":
            close = re.compile(rf"(?<!`)`{{{len(found[0])}}}(?!`)").search(text, place)
            if close and not (table and "|" in text[place : close.start()]):
                yield "text", text[begun : found.start()]
                yield "code", text[found.start() : close.end()]
                begun = place = close.end()
    yield "text", text[begun:]


@cache
def _parser() -> "MarkdownIt":
    """Reads blocks only: what is inline is found here, with its place in the source."""
    from markdown_it import MarkdownIt  # heavy: only where something suspicious was said

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
