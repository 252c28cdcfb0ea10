"""One HTML tag of a model: harmless ones keep their name, those that fetch become a link."""

import re
from html import escape, unescape

_TAG = re.compile(
    r"<(/?)([A-Za-z][A-Za-z0-9-]*+)"
    r"((?:\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:[^\s\"'=<>`]++|'[^']*+'|\"[^\"]*+\"))?+)*+)\s*+/?>"
)
_ATTRIBUTE = re.compile(
    r"([A-Za-z_:][\w.:-]*+)(?:\s*+=\s*+(?:'([^']*+)'|\"([^\"]*+)\"|([^\s\"'=<>`]++)))?+"
)
_HARMLESS = re.compile(
    "a|b|blockquote|br|caption|cite|code|dd|del|details|dfn|div|dl|dt|em|h[1-6]|hr|i|ins|kbd|li|mark"
    "|ol|p|pre|q|s|samp|small|span|strike|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt"
    "|u|ul|var|wbr"
)
_LINKED = re.compile("audio|embed|form|i?frame|image|img|input|link|object|source|track|video")
_VALUES = {
    "align": re.compile("left|center|right"),
    "colspan": re.compile(r"\d{1,3}"),
    "rowspan": re.compile(r"\d{1,3}"),
    "open": re.compile("(?:open)?"),
}
_SOURCES = ("src", "href", "xlink:href", "data", "poster", "action", "formaction", "srcset")
_ADDRESS = re.compile(r"(?:https?://|mailto:|#)[^\s\"'<>`\\\x00-\x20]*+", re.IGNORECASE)


def tag(text: str, start: int) -> tuple[int, str] | None:
    """The end of the tag that begins at `start` and what to write instead; None if there is none.

    A tag that neither is harmless nor has an address is none: it is to be shown as text.
    """
    found = _TAG.match(text, start)
    if found is None:
        return None
    name = found[2].lower()
    harmless = _HARMLESS.fullmatch(name)
    if found[1]:
        known = harmless or _LINKED.fullmatch(name)
        return (found.end(), f"</{name}>" if harmless else "") if known else None
    attributes = _attributes(found[3])
    if harmless:
        return found.end(), f"<{' '.join((name, *_kept(name, attributes)))}>"
    address = next((a for s in _SOURCES if (a := _address(attributes.get(s, "")))), None)
    if address is None:
        return None
    label = attributes.get("alt") or attributes.get("title") or address
    return found.end(), f'<a href="{escape(address)}">{_label(label)}</a>'


def _attributes(written: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for name, single, double, bare in _ATTRIBUTE.findall(written):
        attributes.setdefault(name.lower(), unescape(single or double or bare))
    return attributes


def _kept(name: str, attributes: dict[str, str]) -> list[str]:
    kept = [
        f'{key}="{value}"' if value else key
        for key, value in attributes.items()
        if key in _VALUES and _VALUES[key].fullmatch(value)
    ]
    address = _address(attributes.get("href", "")) if name == "a" else None
    return [*kept, f'href="{escape(address)}"'] if address else kept


def _address(value: str) -> str | None:
    """What may be clicked, whole; of several addresses (`srcset`) the first."""
    words = value.split()
    address = words[0].rstrip(",") if words else ""
    address = f"https:{address}" if address.startswith("//") else address
    return address if _ADDRESS.fullmatch(address) else None


def _label(words: str) -> str:
    """Words that are neither Markdown nor HTML."""
    line = " ".join(words.split())
    return "".join(
        letter if letter.isalnum() or letter in " .,:/-?=" else f"&#{ord(letter)};"
        for letter in line
    )
