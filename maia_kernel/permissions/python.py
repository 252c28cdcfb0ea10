"""What a piece of Python would do, as far as its text says: commands, files, addresses, hidden code.

It serves the card, which says what is in the code, and deny and ask rules, which speak of commands,
paths and hosts also where Python code reaches them. It is a help and no wall: whatever another cell
defined, and whatever is put together at run time, it cannot know. Nothing is allowed by it.
"""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, get_args

from maia_kernel.permissions.python_names import UNKNOWN, Names
from maia_kernel.permissions.python_source import Magic, read_source

Kind = Literal["shell", "code", "remove", "write", "read", "network", "machine", "unreadable"]

_DEEPEST = 3  # code within code
_MOST = 200  # findings of one cell
_WRITES = re.compile(r"[wax+]")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the code does. `what` is the command, path or address; empty where it is not known."""

    kind: Kind
    what: str = ""


@lru_cache(maxsize=16)
def findings(code: str) -> tuple[Finding, ...]:
    """What is found in `code`, each once, in the order of `Kind`; bounded, and never raises."""
    found = dict.fromkeys(_in_code(code, 0))
    order = get_args(Kind)
    kept = [one for one in found if not _is_known_better(one, found)]
    return tuple(sorted(kept, key=lambda one: order.index(one.kind))[:_MOST])


def _is_known_better(one: Finding, found: Mapping[Finding, None]) -> bool:
    """True for an unknown file or host beside a known one: the same call, seen twice."""
    named = any(other.kind == one.kind and other.what for other in found)
    return one.kind in ("read", "network") and not one.what and named


@dataclass(frozen=True, slots=True)
class _Look:
    """One tree that is looked at."""

    names: Names
    depth: int

    def node(self, node: ast.AST) -> Iterator[Finding]:
        match node:
            case ast.Call():
                yield from self._call(node)
            case ast.Import(names=names):
                machine = _data()["modules"]["machine"]
                if any(alias.name.partition(".")[0] in machine for alias in names):
                    yield Finding("machine")
            case ast.ImportFrom(module=str(module)):
                if module.partition(".")[0] in _data()["modules"]["machine"]:
                    yield Finding("machine")

    def _call(self, call: ast.Call) -> Iterator[Finding]:
        names = {_conventional(name) for name in self.names.dotted(call.func)}
        for name in names:
            yield from self._named(name, call)
        if isinstance(call.func, ast.Attribute):
            yield from self._method(call.func, call)
        yield from self._handed_on(call)

    def _named(self, name: str, call: ast.Call) -> Iterator[Finding]:
        data = _data()
        if name in data["shell"]:
            yield from self._commands(_argument(call, data["shell"][name]))
        if name in data["words"]:
            yield from self._words(call, data["words"][name][0])
        if name in data["code"]:
            yield from self._code(_argument(call, data["code"][name]))
        if name in data["magic"]:
            yield from self._magic(call)
        if name in data["opens"]:
            path = _argument(call, data["opens"][name])
            yield from self._opened(path, _argument(call, [1, "mode"]))
        for kind in ("read", "write", "remove"):
            if name in data[kind]:
                yield from self._files(kind, _argument(call, data[kind][name]))
        if _is_network(name):
            yield from self._hosts(call)
        if name in ("getattr", "builtins.getattr", "operator.attrgetter", "operator.methodcaller"):
            yield from self._hidden_attribute(call)

    def _commands(self, node: ast.expr | None) -> Iterator[Finding]:
        lines = self.names.words(node) if node is not None else frozenset()
        yield from (Finding("shell", line.strip()) for line in sorted(lines) or ("",))

    def _words(self, call: ast.Call, first: int) -> Iterator[Finding]:
        words = call.args[first:]
        if len(words) == 1 or (words and isinstance(words[-1], ast.List | ast.Tuple | ast.Dict)):
            lists = [word for word in words if isinstance(word, ast.List | ast.Tuple)]
            yield from self._commands(lists[0] if lists else words[0])
            return
        yield from self._commands(ast.List(words, ast.Load()))

    def _code(self, node: ast.expr | None) -> Iterator[Finding]:
        yield Finding("code")
        for inner in self.names.texts(node):
            if UNKNOWN not in inner:
                yield from _in_code(inner, self.depth + 1)

    def _magic(self, call: ast.Call) -> Iterator[Finding]:
        given = [sorted(self.names.texts(arg)) for arg in call.args[:3]]
        texts = [texts[0] if texts else UNKNOWN for texts in given]
        if not texts:
            return
        if len(texts) == 1:  # magic("sx ls")
            name, _, line = texts[0].partition(" ")
            texts = [name.lstrip("%"), line]
        cell = texts[2] if len(texts) > 2 else None
        yield from _of_magic(Magic(texts[0], texts[1], cell), self.depth)

    def _opened(self, path: ast.expr | None, mode: ast.expr | None) -> Iterator[Finding]:
        modes = self.names.texts(mode)
        writes = any(_WRITES.search(text) for text in modes) or (mode is not None and not modes)
        if writes:
            yield from self._files("write", path)
        if not modes or any("r" in text or "+" in text for text in modes):
            yield from self._files("read", path)

    def _files(self, kind: Kind, node: ast.expr | None) -> Iterator[Finding]:
        if isinstance(node, ast.List | ast.Tuple):
            for item in node.elts:
                yield from self._files(kind, item)
            return
        known = [text for text in sorted(self.names.texts(node)) if UNKNOWN not in text and text]
        for text in known:
            yield Finding("network", text) if _URL.match(text) else Finding(kind, text)
        if not known and kind != "read":
            yield Finding(kind)

    def _hosts(self, call: ast.Call) -> Iterator[Finding]:
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        texts = {text for value in values for text in self.names.texts(value)}
        urls = sorted(text for text in texts if _URL.match(text))
        yield from (Finding("network", url) for url in urls or ("",))

    def _hidden_attribute(self, call: ast.Call) -> Iterator[Finding]:
        """`getattr(os, name)`: which one is not to be seen."""
        if len(call.args) < 2:
            return
        risky = set(_data()["modules"]["star"])
        if self.names.dotted(call.args[0]) & risky and not self.names.texts(call.args[1]):
            yield Finding("code")

    def _method(self, func: ast.Attribute, call: ast.Call) -> Iterator[Finding]:
        data, attr = _data()["methods"], func.attr
        for kind in ("read", "write", "remove"):
            place = data[kind].get(attr)
            if place is None:
                continue
            target = (
                func.value if place == "self" else _argument(call, [place, "path_or_buf", "path"])
            )
            if target is not None or attr == "to_sql":
                yield from self._files(kind, target)
        if attr in data["path"] and self.names.is_path(func.value):
            if attr == "open":
                yield from self._opened(func.value, _argument(call, [0, "mode"]))
            else:
                yield from self._files("write", func.value)
                yield from self._files("write", _argument(call, [0, "target"]))

    def _handed_on(self, call: ast.Call) -> Iterator[Finding]:
        """`map(os.system, lines)`, `Thread(target=os.system, args=...)`: somebody else calls it."""
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        for value in values:
            if not isinstance(value, ast.Name | ast.Attribute):
                continue
            names = {_conventional(name) for name in self.names.dotted(value)}
            if names & (_data()["shell"].keys() | _data()["words"].keys()):
                lists = [v for v in values if isinstance(v, ast.List | ast.Tuple)]
                for item in (item for one in lists for item in one.elts):
                    yield from self._commands(item)
                if not lists:
                    yield Finding("shell")
            elif names & {"eval", "exec", "builtins.eval", "builtins.exec"}:
                yield Finding("code")


def _in_code(code: str, depth: int) -> Iterator[Finding]:
    if depth > _DEEPEST:
        yield Finding("code")
        return
    source = read_source(code)
    for magic in source.magics:
        yield from _of_magic(magic, depth)
    if source.tree is None:
        yield Finding("unreadable")
        return
    try:
        look = _Look(Names(source.tree), depth)
        for node in ast.walk(source.tree):
            yield from look.node(node)
        if look.names.exhausted:
            yield Finding("unreadable")
    except RecursionError:
        yield Finding("unreadable")


def _of_magic(magic: Magic, depth: int) -> Iterator[Finding]:
    known, name = _data()["magics"], magic.name
    body = magic.cell if magic.cell is not None else magic.line
    if name in known["shell"]:
        yield Finding("shell", body.strip())
    elif name in known["program"]:
        yield Finding("shell", f"{name} {magic.line}".strip())
    elif name in known["write"]:
        yield Finding("write", _last_word(magic.line))
    elif name in known["read"]:
        yield Finding("read", _last_word(magic.line))
    elif name in known["python"]:
        if magic.cell is None:
            yield from _in_code(re.sub(r"^(?:-\w+(?:\s+\d+)?\s+)+", "", magic.line), depth + 1)
    elif name in (",", ";", "/"):
        yield from _in_code(_auto_called(magic), depth + 1)
    elif name not in known["harmless"] and not name.startswith(("?", "maia")):
        # A magic may be anybody's: what it does with its line is not known.
        yield Finding("code")


def _auto_called(magic: Magic) -> str:
    """`,f a b` is `f("a", "b")`, `;f a b` is `f("a b")`, `/f a, b` is `f(a, b)`."""
    function, _, rest = magic.line.partition(" ")
    if magic.name == "/":
        return f"{function}({rest})"
    words = rest.split() if magic.name == "," else [rest]
    return f"{function}({', '.join(map(repr, words))})"


def _last_word(line: str) -> str:
    words = [word for word in line.split() if not word.startswith("-")]
    return words[-1].strip("'\"") if words else ""


def _argument(call: ast.Call, place: list[Any]) -> ast.expr | None:
    """The argument at a place, a number and names; the star of `f(*words)` is a list of words."""
    for keyword in call.keywords:
        if keyword.arg in place[1:]:
            return keyword.value
    at = place[0] if place else None
    if at is None or at >= len(call.args):
        return None
    found = call.args[at]
    return found.value if isinstance(found, ast.Starred) else found


def _conventional(name: str) -> str:
    first, dot, rest = name.partition(".")
    return f"{_data()['conventions'].get(first, first)}{dot}{rest}"


def _is_network(name: str) -> bool:
    network = _data()["network"]
    if any(name == entry or name.startswith(f"{entry}.") for entry in network["harmless"]):
        return False
    return name in network["calls"] or (
        "." in name and name.partition(".")[0] in network["modules"]
    )


@cache
def _data() -> Mapping[str, Any]:
    source = files("maia_kernel.permissions") / "python_calls.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))
