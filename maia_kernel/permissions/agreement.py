"""Where the grammar and bash may read a text differently: bash is right, so such a text is asked.

The quotes are found a second time, by a small scanner with bash's own rules, and must be where the
grammar has them.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTES = ("string", "raw_string", "ansi_c_string")
_VERBATIM = ("raw_string", "ansi_c_string", "comment")
_RUNS = re.compile(rb"(?<!\\)(?:\\\\)*(?:`|\$\(|\$\[|[<>]\()")
_DELIMITER = re.compile(
    r"""<<(-?)[ \t]*(?:([A-Za-z_]\w*)|'([A-Za-z_]\w*)'|"([A-Za-z_]\w*)")(?=[\s;&|>])"""
)
_WORD_START = frozenset(b" \t\n;&|()")


def disagreements(source: str, root: "Node") -> Iterator[str]:
    """The doubts that the bare text raises."""
    text = bytearray(source.encode("utf-8", "surrogatepass"))
    for node in nodes(root, ("heredoc_body",)):
        text[node.start_byte : node.end_byte] = b"." * (node.end_byte - node.start_byte)
    masked = bytes(text)
    quoted = sorted(_outermost_quotes(root))
    if sorted(_scan_quotes(masked)) != quoted or b"\x00" in masked:
        yield "control"
    outside = bytearray(masked)
    for start, end in quoted:
        outside[start:end] = b"." * (end - start)
    if re.search(rb"(?<![ \t])\\\n", outside) or any(map(_is_stray, _decoded(outside))):
        yield "control"
    running = bytearray(masked)
    for node in nodes(root, _VERBATIM):
        running[node.start_byte : node.end_byte] = b"." * (node.end_byte - node.start_byte)
    if _RUNS.search(running):
        yield "substitution"


def heredoc_faults(source: str, node: "Node") -> Iterator[str]:
    """The doubts of one here-document: where it ends, and what bash expands in it."""
    text = source.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    openings = list(_DELIMITER.finditer(text))
    if len(openings) != 1 or len(re.findall(r"<<(?!<)", text)) != 1:
        yield "construct"
        return
    tabs, plain = openings[0][1], openings[0][2]
    delimiter = plain or openings[0][3] or openings[0][4]
    lines = text[openings[0].end() :].split("\n")
    body: list[str] = []
    for line in lines[1:]:
        if (line.lstrip("\t") if tabs else line) == delimiter:
            break
        body.append(line)
    else:
        yield "construct"
        return
    found = next((c for c in node.children if c.type == "heredoc_end"), None)
    first = text[: openings[0].start()].count("\n")
    if found is None or found.start_point.row != first + len(body) + 1:
        yield "construct"
    if plain and any(char in "\n".join(body) for char in "$`\\"):
        yield "expansion"


def nodes(root: "Node", types: tuple[str, ...]) -> Iterator["Node"]:
    """The nodes of these types, but none below another."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in types:
            yield node
        else:
            waiting.extend(node.children)


def every(root: "Node", types: tuple[str, ...]) -> Iterator["Node"]:
    """The nodes of these types, also those below another."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in types:
            yield node
        waiting.extend(node.children)


def _outermost_quotes(root: "Node") -> Iterator[tuple[int, int]]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in _QUOTES:
            yield node.start_byte, node.end_byte
        elif node.type != "heredoc_start":
            waiting.extend(node.children)


def _scan_quotes(text: bytes) -> Iterator[tuple[int, int]]:
    """Where quoted parts stand, by bash's rules; a quote that never ends makes a part to the end."""
    place = 0
    while place < len(text):
        char = text[place : place + 1]
        if char == b"\\":
            place += 2
        elif char == b"#" and (place == 0 or text[place - 1] in _WORD_START):
            ends = text.find(b"\n", place)
            place = len(text) if ends < 0 else ends
        elif text[place : place + 2] == b"$'":
            end = _closing(text, place + 2, b"'", escapes=True)
            yield place, end
            place = end
        elif char in (b"'", b'"'):
            end = _closing(text, place + 1, char, escapes=char == b'"')
            if not _is_delimiter(text, place):
                yield place, end
            place = end
        else:
            place += 1


def _closing(text: bytes, place: int, quote: bytes, *, escapes: bool) -> int:
    while place < len(text):
        if escapes and text[place : place + 1] == b"\\":
            place += 2
        elif text[place : place + 1] == quote:
            return place + 1
        else:
            place += 1
    return len(text) + 1


def _is_delimiter(text: bytes, place: int) -> bool:
    """The quotes of `<<'EOF'` are part of the delimiter."""
    return re.search(rb"<<-?[ \t]*$", text[:place]) is not None


def _decoded(text: bytearray) -> str:
    return bytes(text).decode("utf-8", "replace")


def _is_stray(char: str) -> bool:
    if char in "\n\t ":
        return False
    category = unicodedata.category(char)
    return category[0] == "C" or category in ("Zs", "Zl", "Zp") or char == "\ufffd"
