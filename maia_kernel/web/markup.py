"""HTML as Markdown: the content of a page without what stands around it.

The page is read by libxml2's events, never as its tree: that one stops at a depth of 2,048 and drops
the rest. Elements deeper than `DEPTH` are left out while their text stays, because everything after
works by recursion.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urljoin

import lxml.html
from bs4 import BeautifulSoup
from lxml import etree
from lxml.html import HtmlElement
from markdownify import MarkdownConverter

DEPTH = 100
_OVERHEAD = 6  # characters of cleaned HTML to one of text, at most, but for pages made to be slow
_LEAST_MARKUP = 100_000
_ENOUGH = 200  # characters in <main> that make it the content, whatever else there is
_HIDDEN = re.compile(r"(display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?:^|\s)(?:lang|language|highlight-source|highlight)-([\w+#.-]+)")
_KEPT = ("href", "src", "alt", "class", "start")
_READ = (*_KEPT, "id", "role", "style", "hidden", "aria-hidden")


def markdown(page: str, address: str, *, most: int) -> tuple[str, str, bool]:
    """Title, content as Markdown, and whether all of it was converted. Links become absolute.

    Where there are more than `most` characters, at least these are converted, and not all the rest.
    """
    root = _tree(page)
    title = " ".join(root.findtext(".//title", "").split())
    base = root.find(".//base[@href]")
    if base is not None:
        address = _absolute(base.get("href", ""), address) or address
    _drop_around(root)
    content = _content(root)
    _tidy(content, address)
    markup = lxml.html.tostring(content, encoding="unicode", with_tail=False)
    limit = _LEAST_MARKUP + _OVERHEAD * most
    # The parser of the second reading closes what is open at the cut.
    soup = BeautifulSoup(f"<html><body>{markup[:limit]}", "lxml")
    text = MarkdownConverter(**_OPTIONS).convert_soup(soup)
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE))
    return title, text.strip(), len(markup) <= limit


class _Shallow:
    """A target of the parser's events that builds a tree of at most `DEPTH` levels."""

    def __init__(self) -> None:
        self._builder = etree.TreeBuilder(element_factory=lxml.html.html_parser.makeelement)
        self._builder.start("html", {})
        self._depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth <= DEPTH:
            # By name: a tag can have a hundred thousand of them, and some are no XML.
            kept = {name: attributes[name] for name in _READ if name in attributes}
            self._builder.start(tag, kept)

    def end(self, tag: str) -> None:
        if self._depth <= DEPTH:
            self._builder.end(tag)
        self._depth -= 1

    def data(self, text: str) -> None:
        self._builder.data(text)

    def comment(self, text: str) -> None:
        """Not content."""

    def pi(self, target: str, data: str | None = None) -> None:
        """Not content."""

    def close(self) -> HtmlElement:
        self._builder.end("html")
        root: HtmlElement = self._builder.close()
        return root


def _tree(page: str) -> HtmlElement:
    parser: Any = etree.HTMLParser(target=_Shallow(), huge_tree=True, encoding="utf-8")
    # libxml2 ends at a NUL; it is no character of HTML.
    parser.feed(page.replace("\0", "").encode("utf-8", "replace") or b" ")
    root: HtmlElement = parser.close()
    return root


def _drop_around(root: HtmlElement) -> None:
    data = _data()
    frame, content = data["dropped_outside_content"], data["content"]
    for element in list(root.iter(*data["dropped"])):
        element.drop_tree()
    for element in list(root.iter(*frame)):
        if not any(True for _ in element.iterancestors(*content)):
            element.drop_tree()
    _drop_forms(root)
    most = _length(root) / 2
    for element in list(root.iter(etree.Element)):
        if element.getparent() is not None and _is_around(element) and _length(element) <= most:
            element.drop_tree()


def _drop_forms(root: HtmlElement) -> None:
    """A search box is a form; so are, with some servers, whole pages."""
    most = _length(root) / 2
    for form in list(root.iter("form")):
        if form.getparent() is not None and _length(form) <= most:
            form.drop_tree()


def _is_around(element: HtmlElement) -> bool:
    if not element.attrib or element.tag in ("html", "body", *_data()["content"]):
        return False
    if element.get("hidden") is not None or element.get("aria-hidden", "").lower() == "true":
        return True
    if _HIDDEN.search(element.get("style", "")):
        return True
    if element.get("role", "").lower() in _data()["roles"]:
        return True
    named = f"{element.get('id', '')} {element.get('class', '')}".lower()
    return _banners().search(named) is not None


def _content(root: HtmlElement) -> HtmlElement:
    body = root.find(".//body")
    whole = body if body is not None else root
    mains = [*root.iter("main"), *root.iterfind(".//*[@role='main']")]
    if not mains:
        articles = list(root.iter("article"))
        mains = articles if len(articles) == 1 else []
    best = max(mains, key=_length, default=whole)
    enough = _length(best) >= min(_ENOUGH, _length(whole) / 2)
    return best if enough else whole


def _tidy(content: HtmlElement, address: str) -> None:
    """Links absolute, those to nowhere only their text; no pictures without words; few attributes."""
    permalinks = set(_data()["permalinks"])
    for link in list(content.iter("a")):
        target = _absolute(link.get("href", ""), address)
        if permalinks.intersection(link.get("class", "").split()):
            link.drop_tree()
        elif target is None:
            link.drop_tag()
        else:
            link.set("href", target)
    for image in list(content.iter("img")):
        source = _absolute(image.get("src", ""), address)
        if source is None or not image.get("alt", "").strip():
            image.drop_tree()
        else:
            image.set("src", source)
    for element in content.iter(etree.Element):
        for name in set(element.attrib) - set(_KEPT):
            del element.attrib[name]


def _absolute(target: str, address: str) -> str | None:
    """`target` as an absolute web or mail address; None for places in the page, scripts and data."""
    stripped = target.strip()
    if not stripped or stripped.startswith("#"):
        return None
    try:
        found = urljoin(address, stripped)
    except ValueError:
        return None
    return found if found.startswith(("http://", "https://", "mailto:")) else None


def _length(element: HtmlElement) -> int:
    return sum(len(text.strip()) for text in element.itertext())


def _code_language(element: Any) -> str:
    """The language of a <pre>, from the classes that highlighters give it, its code or its frame."""
    for one in _near(element):
        match = _LANGUAGE.search(" ".join(one.get("class") or ()))
        if match:
            return match[1]
    return ""


def _near(element: Any) -> Iterator[Any]:
    yield element
    if element.code is not None:
        yield element.code
    for parent, _ in zip(element.parents, range(2), strict=False):
        yield parent


# Nothing is escaped: a model reads `snake_case` and `2 * 3` as they are.
_OPTIONS: dict[str, Any] = {
    "heading_style": "ATX",
    "bullets": "-",
    "autolinks": True,
    "escape_asterisks": False,
    "escape_underscores": False,
    "code_language_callback": _code_language,
    "table_infer_header": True,
}


@cache
def _data() -> dict[str, Any]:
    source = files("maia_kernel.web") / "boilerplate.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


@cache
def _banners() -> re.Pattern[str]:
    return re.compile("|".join(_data()["banners"]))
