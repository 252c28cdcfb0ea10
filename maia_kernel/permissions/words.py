"""Words of a shell command: what bash would pass, as far as that is known without running it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maia_kernel.permissions.grammar import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = re.compile(r"[A-Za-z0-9_./+%@:,=\-]+")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_SPREAD = 64
_TILDE = re.compile(r"(?:^|[=:])~")
_DOUBLE_ESCAPES = re.compile(r"\\([$`\"\\])|\\\n")
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ANSI_LETTERS = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
} | {
    "f": "\f",
    "v": "\v",
}
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*|[0-9?#$!@*-])\}?")
_QUOTED = ("raw_string", "ansi_c_string", "string")


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `raw` is the source; `guess` the best idea of its value, for deny and ask rules.

    `literal`: `guess` is what bash passes, for certain. `plain`: literal without any quoting.
    `glob`: an unquoted `*` or `?`, the only thing that is not literal. `doubt` names a construct that
    no allow rule covers. `variables` are the names it expands, where that is all that is unknown.
    """

    raw: str
    guess: str
    literal: bool = True
    plain: bool = False
    glob: bool = False
    quoted: bool = False
    doubt: str = ""
    variables: tuple[str, ...] = ()
    leads: bool = False
    """Begins with a variable: a path right under it is wherever the variable points."""
    bound: "tuple[Word, ...]" = ()
    """What a loop puts in its place, for `"$f"` and nothing else: one of these words' values."""


def literal_word(value: str) -> Word:
    """The word of a known string, as in the commands that `find -exec` or `env -S` hold."""
    return Word(value, value, plain=_PLAIN.fullmatch(value) is not None)


def read_word(node: "Node", known: Mapping[str, str]) -> Word:
    """The word that `node` writes; `known` are variables whose value the script itself set."""
    raw = _source(node)
    parts = [_part(piece, known) for piece in _pieces(node)]
    guess = "".join(part.guess for part in parts)
    doubt = next((part.doubt for part in parts if part.doubt), "")
    bare = "".join("_" * len(part.guess) if part.quoted else part.raw for part in parts)
    if not doubt and _ambiguous(bare):
        doubt = "expansion"
    glob = any(part.glob for part in parts)
    return Word(
        raw,
        guess,
        literal=not doubt and not glob and all(part.literal for part in parts),
        plain=len(parts) == 1 and parts[0].plain and not doubt,
        glob=glob and not doubt and all(part.literal or part.glob for part in parts),
        quoted=any(part.quoted for part in parts),
        doubt=doubt,
        variables=tuple(name for part in parts for name in part.variables),
        leads=parts[0].leads if parts else False,
    )


def tilde(word: Word) -> bool:
    """True when bash expands a `~` of this word."""
    return _TILDE.search(word.raw) is not None


def spread(word: Word) -> tuple[str, ...]:
    """The words that bash makes of one: a brace expansion is several. Guesses, the first `_SPREAD`."""
    if word.doubt != "expansion" or "{" not in word.guess:
        return (word.guess,)
    done = [word.guess]
    while len(done) < _SPREAD:
        at = next((place for place, text in enumerate(done) if _BRACES.search(text)), None)
        found = None if at is None else _BRACES.search(done[at])
        if at is None or found is None:
            break
        inner = found[0][1:-1]
        # A range is not counted out: its two ends stand for it.
        pieces = inner.split(",") if "," in inner else inner.split("..")
        before, after = done[at][: found.start()], done[at][found.end() :]
        done[at : at + 1] = [before + piece + after for piece in pieces]
    return tuple(done)


def _ambiguous(bare: str) -> bool:
    # `[` opens a character class and `{a,b}` makes several words: neither is judged, both are asked.
    return ("[" in bare and len(bare) > 1) or _BRACES.search(bare) is not None


def _pieces(node: "Node") -> list["Node"]:
    if node.type == "concatenation":
        return [piece for child in node.children for piece in _pieces(child)]
    return [node]


def _part(node: "Node", known: Mapping[str, str]) -> Word:
    raw = _source(node)
    match node.type:
        case "word" | "number" | "test_operator" | "extglob_pattern" | "regex" | "variable_name":
            return _bare(raw) if node.type in ("word", "number", "test_operator") else _odd(raw)
        case "raw_string":
            return Word(raw, raw[1:-1], quoted=True)
        case "ansi_c_string":
            return Word(raw, _ansi(raw[2:-1]), quoted=True)
        case "string":
            return _string(node, known)
        case "simple_expansion" | "expansion":
            return _expansion(node, known)
        case "command_substitution" | "process_substitution":
            return Word(raw, raw, literal=False, doubt="substitution")
        case "brace_expression" | "arithmetic_expansion" | "translated_string":
            return Word(raw, raw, literal=False, doubt="expansion")
        case _:
            return _odd(raw)


def _odd(raw: str) -> Word:
    return Word(raw, raw, literal=False, doubt="construct")


def _bare(raw: str) -> Word:
    value = re.sub(r"\\\n", "", raw)
    escaped = "\\" in value
    glob = re.search(r"(?<!\\)[*?]", value) is not None
    value = re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL)
    doubt = "construct" if raw.startswith("#") or re.search(r"(?<!\\)[()<>&;|`$]", raw) else ""
    return Word(
        raw,
        value,
        literal=not glob,
        plain=not escaped and _PLAIN.fullmatch(raw) is not None,
        glob=glob,
        # An escaped glob next to a live one cannot be told apart once the escapes are gone.
        quoted=escaped,
        doubt=doubt,
    )


def _string(node: "Node", known: Mapping[str, str]) -> Word:
    raw = _source(node)
    inner = [child for child in node.children if child.type not in ('"', "string_content")]
    if not inner:
        return Word(raw, _unescape(raw[1:-1]), quoted=True)
    parts = [_part(child, known) for child in inner]
    guess = raw[1:-1]
    for part in parts:
        guess = guess.replace(part.raw, part.guess, 1)
    return Word(
        raw,
        _unescape(guess),
        literal=all(part.literal for part in parts),
        quoted=True,
        doubt=next((part.doubt for part in parts if part.doubt), ""),
        variables=tuple(name for part in parts for name in part.variables),
        leads=parts[0].leads and raw[1:].startswith(parts[0].raw),
    )


def _expansion(node: "Node", known: Mapping[str, str]) -> Word:
    raw = _source(node)
    simple = _VARIABLE.fullmatch(raw)
    if simple:
        name = simple[1]
        return Word(raw, known.get(name, raw), literal=False, variables=(name,), leads=True)
    fallback = re.search(r":?[-=+](.*)\}$", raw, re.DOTALL)
    name = re.sub(r"\W.*", "", raw[2:], flags=re.DOTALL)
    guess = known.get(name) or (fallback[1].strip("'\"") if fallback else raw)
    doubt = "substitution" if "$(" in raw or "`" in raw else "expansion"
    return Word(raw, guess, literal=False, doubt=doubt, variables=(name,), leads=True)


def _unescape(text: str) -> str:
    return _DOUBLE_ESCAPES.sub(lambda found: found[1] or "", text)


def _ansi(text: str) -> str:
    def decode(found: re.Match[str]) -> str:
        hexadecimal = found[1] or found[2] or found[3]
        if hexadecimal:
            number = int(hexadecimal, 16)
            return chr(number) if number < 0x110000 else "\ufffd"
        if found[4]:
            return chr(int(found[4], 8) & 0xFF)
        if found[5]:
            return chr(ord(found[5]) & 0x1F)
        return _ANSI_LETTERS.get(found[6], found[6])

    return _ANSI_ESCAPE.sub(decode, text)


def _source(node: "Node") -> str:
    return text_of(node).decode("utf-8", "replace")
