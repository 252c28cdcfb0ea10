"""The catalogues of user-facing texts agree with each other and with the source that uses them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

import pytest

from maia_kernel.texts import LANGUAGES, catalogue

ROOT = Path(__file__).parent.parent
SOURCES = sorted(
    file
    for package in ("maia_kernel", "magics/maia", "widgets/maia_widgets")
    for file in (ROOT / package).rglob("*.py")
)
ENGLISH = catalogue("en")
ROOMS = frozenset(key.split(".")[0] for key in ENGLISH)


@dataclass(frozen=True, slots=True)
class Call:
    """One `text(...)` in the source. `pattern` matches its key; `values` is None with `**values`."""

    place: str
    pattern: str
    values: frozenset[str] | None


def _placeholders(template: str) -> frozenset[str]:
    return frozenset(name.split(".")[0] for _, name, _, _ in Formatter().parse(template) if name)


def _pattern(key: ast.expr) -> str | None:
    """A regular expression for the keys that an expression may be, None when it does not say."""
    match key:
        case ast.Constant(value=str(value)):
            return re.escape(value)
        case ast.JoinedStr(values=parts):
            return "".join(_pattern(part) or r"[\w.]+" for part in parts)
        case _:
            return None


def _keys(key: ast.expr) -> Iterator[ast.expr]:
    if isinstance(key, ast.IfExp):
        yield from _keys(key.body)
        yield from _keys(key.orelse)
    else:
        yield key


def _calls(file: Path, tree: ast.Module) -> Iterator[Call]:
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "maia_kernel.texts"
        for alias in node.names
        if alias.name == "text"
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[first]) if name in names:
                given = [keyword.arg for keyword in node.keywords]
                values = None if None in given else frozenset(arg for arg in given if arg)
                place = f"{file.relative_to(ROOT)}:{node.lineno}"
                for key in _keys(first):
                    if (pattern := _pattern(key)) is not None:
                        yield Call(place, pattern, values)
            case _:
                pass


TREES = {file: ast.parse(file.read_text(encoding="utf-8")) for file in SOURCES}
CALLS = [call for file, tree in TREES.items() for call in _calls(file, tree)]


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_a_translation_has_the_keys_and_placeholders_of_the_english_catalogue(code: str) -> None:
    """Each English text has its twin, which fills in the same values."""
    translated = catalogue(code)
    assert sorted(translated) == sorted(ENGLISH)
    wanted = {key: _placeholders(template) for key, template in ENGLISH.items()}
    assert {key: _placeholders(template) for key, template in translated.items()} == wanted


def test_every_key_that_the_source_asks_for_is_in_the_catalogue() -> None:
    """No `text("...")` of the source can raise KeyError for its key."""
    assert len(CALLS) > 50
    missing = [
        f"{call.place}: {call.pattern}"
        for call in CALLS
        if not any(re.fullmatch(call.pattern, key) for key in ENGLISH)
    ]
    assert missing == []


def test_every_call_gives_the_values_that_its_text_has_places_for() -> None:
    """No `text("...", name=...)` of the source can raise KeyError for a placeholder."""
    needed = {re.escape(key): _placeholders(template) for key, template in ENGLISH.items()}
    lacking = [
        f"{call.place}: {call.pattern} needs {', '.join(sorted(needed[call.pattern] - call.values))}"
        for call in CALLS
        if call.values is not None and not needed.get(call.pattern, frozenset()) <= call.values
    ]
    assert lacking == []


def test_every_text_of_the_catalogue_is_used() -> None:
    """A text that nobody shows is not kept: the source has its key whole, as a pattern or a room."""
    written = {
        node.value
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    patterns = [
        re.compile(pattern)
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        if re.match(rf"({'|'.join(ROOMS)})\\?\.", pattern := _pattern(node) or "")
    ]
    rooms = tuple(prefix for prefix in written if re.fullmatch(r"(\w+\.){2,}", prefix))
    unused = [
        key
        for key in ENGLISH
        if key not in written
        if not key.startswith(rooms) and not any(pattern.fullmatch(key) for pattern in patterns)
    ]
    assert unused == []
