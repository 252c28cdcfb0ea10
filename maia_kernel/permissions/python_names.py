"""What the names and texts of a piece of Python may stand for, without running it.

Every assignment of the code counts wherever it stands: a name may mean each of the things that are
given to it anywhere. What another cell gave to a name is not known.
"""

import ast
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Final

UNKNOWN: Final = "${_}"
"""Stands for a part of a text that is not known before it runs; a shell would call it an expansion."""

_HOLE = re.compile(r"%\(?\w*\)?[\d.]*[sdrif]|\{[^{}]*\}")
_MOST = 16  # meanings of one expression
_DEEPEST = 40
_LOOKS = 200_000  # at expressions of one cell: assignments may refer to each other without end
_PATHS: Final = frozenset({"pathlib.Path", "pathlib.PosixPath", "pathlib.PurePath", "Path"})
_IMPORTS: Final = frozenset({"__import__", "importlib.import_module", "builtins.__import__"})
_JOINS: Final = frozenset({"os.path.join", "posixpath.join"})
_SAME: Final = frozenset(
    {"os.path.expanduser", "os.path.abspath", "os.path.realpath", "os.fspath", "str"}
)


class Names:
    """The meanings of names in one tree; `stars` are modules from which everything is imported."""

    def __init__(self, tree: ast.Module, stars: Iterable[str] = ()) -> None:
        self._meant: defaultdict[str, set[str]] = defaultdict(set)
        self._given: defaultdict[str, list[ast.expr]] = defaultdict(list)
        self._stars: set[str] = set(stars)
        self._looks = _LOOKS
        for node in ast.walk(tree):
            self._learn(node)

    def dotted(self, node: ast.expr, depth: int = 0) -> frozenset[str]:
        """The full names that an expression may be: `o.system` is `os.system` after `import os as o`."""
        if not self._may_look() or depth > _DEEPEST:
            return frozenset()
        return frozenset(islice(self._dotted(node, depth + 1), _MOST))

    def texts(self, node: ast.expr | None, depth: int = 0) -> frozenset[str]:
        """The texts that an expression may be, `UNKNOWN` for their unknown parts; none if no text."""
        if node is None or not self._may_look() or depth > _DEEPEST:
            return frozenset()
        return frozenset(islice(self._texts(node, depth + 1), _MOST))

    def words(self, node: ast.expr, depth: int = 0) -> frozenset[str]:
        """The command lines that a list of words, or a text, may be."""
        if isinstance(node, ast.List | ast.Tuple):
            choices = [self._word(item, depth) for item in node.elts]
            return frozenset(" ".join(line) for line in islice(product(*choices), _MOST))
        if isinstance(node, ast.Name) and depth < _DEEPEST:
            lists = [v for v in self._given.get(node.id, ()) if isinstance(v, ast.List | ast.Tuple)]
            found = {line for value in lists for line in self.words(value, depth + 1)}
            return self.texts(node) | found
        if isinstance(node, ast.Call) and "shlex.split" in self.dotted(node.func) and node.args:
            return self.texts(node.args[0])
        return self.texts(node)

    def is_path(self, node: ast.expr, depth: int = 0) -> bool:
        """True when the expression is certainly made by `pathlib`."""
        if depth > _DEEPEST:
            return False
        match node:
            case ast.Call(func=func):
                names = self.dotted(func)
                return any(name.rpartition(".Path.")[1] or name in _PATHS for name in names)
            case ast.BinOp(left=left, op=ast.Div()):
                return self.is_path(left, depth + 1)
            case ast.Attribute(value=value, attr="parent"):
                return self.is_path(value, depth + 1)
            case ast.Name(id=name):
                return any(self.is_path(value, depth + 1) for value in self._given.get(name, ()))
        return False

    @property
    def exhausted(self) -> bool:
        """True when the code was too tangled to be followed to its end."""
        return self._looks <= 0

    def _may_look(self) -> bool:
        self._looks -= 1
        return self._looks > 0

    # -- learning ----------------------------------------------------------------------------------

    def _learn(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    first = alias.name.partition(".")[0]
                    self._meant[alias.asname or first].add(alias.name if alias.asname else first)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                self._import_from(module, names)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._give(target, value)
            case ast.For(target=target, iter=ast.List(elts=elts) | ast.Tuple(elts=elts)):
                for value in elts:
                    self._give(target, value)
            case _:
                self._learn_one(node)

    def _learn_one(self, node: ast.AST) -> None:
        match node:
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._give(target, value)
            case ast.NamedExpr(target=target, value=value):
                self._give(target, value)
            case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
                self._give(target, value)

    def _import_from(self, module: str, names: list[ast.alias]) -> None:
        for alias in names:
            if alias.name == "*":
                self._stars.add(module)
            else:
                self._meant[alias.asname or alias.name].add(f"{module}.{alias.name}")

    def _give(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), _:
                self._given[name].append(value)
            case (
                ast.Tuple(elts=targets) | ast.List(elts=targets),
                ast.Tuple(elts=values) | ast.List(elts=values),
            ):
                for one, other in zip(targets, values, strict=False):
                    self._give(one, other)

    # -- names -------------------------------------------------------------------------------------

    def _dotted(self, node: ast.expr, depth: int) -> Iterator[str]:
        match node:
            case ast.Name(id=name):
                yield from self._name(name, depth)
            case ast.Attribute(value=value, attr=attr):
                yield from (f"{base}.{attr}" for base in self.dotted(value, depth))
            case ast.NamedExpr(value=value) | ast.Await(value=value):
                yield from self.dotted(value, depth)
            case ast.IfExp(body=body, orelse=other):
                yield from self.dotted(body, depth) | self.dotted(other, depth)
            case ast.BoolOp(values=values):
                for value in values:
                    yield from self.dotted(value, depth)
            case ast.Subscript(value=value, slice=key):
                yield from self._item(value, key, depth)
            case ast.Call(func=func, args=args):
                yield from self._called(func, args, depth)

    def _name(self, name: str, depth: int) -> Iterator[str]:
        yield from self._meant.get(name, ())
        for value in self._given.get(name, ()):
            yield from self.dotted(value, depth)
        if name not in self._meant:
            yield name
            yield from (f"{module}.{name}" for module in self._stars)

    def _item(self, value: ast.expr, key: ast.expr, depth: int) -> Iterator[str]:
        """`sys.modules["os"]`, `globals()["os"]`, `os.__dict__["system"]`, `vars(os)["system"]`."""
        for base in self.dotted(value, depth):
            for name in self.texts(key, depth):
                if base in ("sys.modules", "globals()", "locals()", "vars()"):
                    yield name
                elif base.endswith((".__dict__", "__builtins__")):
                    yield f"{base.removesuffix('.__dict__')}.{name}".removeprefix("__builtins__.")

    def _called(self, func: ast.expr, args: list[ast.expr], depth: int) -> Iterator[str]:
        for name in self.dotted(func, depth):
            if name in _IMPORTS and args:
                yield from self.texts(args[0], depth)
            elif name in ("getattr", "builtins.getattr") and len(args) > 1:
                attributes = self.texts(args[1], depth)
                yield from (f"{b}.{a}" for b in self.dotted(args[0], depth) for a in attributes)
            elif name == "vars" and args:
                yield from (f"{base}.__dict__" for base in self.dotted(args[0], depth))
            elif name in ("functools.partial", "partial") and args:
                yield from self.dotted(args[0], depth)
            else:
                yield f"{name}()"

    # -- texts -------------------------------------------------------------------------------------

    def _texts(self, node: ast.expr, depth: int) -> Iterator[str]:
        match node:
            case ast.Constant(value=str(value)):
                yield value
            case ast.Constant(value=bytes(data)):
                yield data.decode("utf-8", "replace")
            case ast.JoinedStr(values=values):
                yield from self._joined(values, "", depth)
            case ast.FormattedValue(value=value):
                yield from self.texts(value, depth) or (UNKNOWN,)
            case ast.BinOp(left=left, op=op, right=right):
                yield from self._computed(left, op, right, depth)
            case ast.Call(func=func, args=args):
                yield from self._method_text(func, args, depth)
                yield from self._call_text(func, args, depth)
            case _:
                for value in self._meanings(node):
                    yield from self.texts(value, depth)

    def _meanings(self, node: ast.expr) -> Iterator[ast.expr]:
        match node:
            case ast.Name(id=name):
                yield from self._given.get(name, ())
            case ast.IfExp(body=body, orelse=other):
                yield from (body, other)
            case ast.NamedExpr(value=value) | ast.Await(value=value):
                yield value

    def _computed(
        self, left: ast.expr, op: ast.operator, right: ast.expr, depth: int
    ) -> Iterator[str]:
        match op:
            case ast.Add():
                yield from self._joined([left, right], "", depth)
            case ast.Div():
                yield from self._joined([left, right], "/", depth)
            case ast.Mod():
                yield from (_filled(text) for text in self.texts(left, depth))

    def _joined(self, parts: list[ast.expr], between: str, depth: int) -> Iterator[str]:
        choices = [self.texts(part, depth) or frozenset({UNKNOWN}) for part in parts]
        if any(choice != {UNKNOWN} for choice in choices):
            yield from (between.join(line) for line in product(*choices))

    def _method_text(self, func: ast.expr, args: list[ast.expr], depth: int) -> Iterator[str]:
        """What a method of a text gives: `" ".join([...])`, `"rm {}".format(x)`."""
        match func:
            case ast.Attribute(attr="join", value=between):
                if args and isinstance(args[0], ast.List | ast.Tuple):
                    for text in self.texts(between, depth):
                        yield from self._joined(list(args[0].elts), text, depth)
            case ast.Attribute(attr="format", value=template):
                yield from (_filled(text) for text in self.texts(template, depth))
            case ast.Attribute(attr="strip" | "encode", value=value):
                yield from self.texts(value, depth)

    def _call_text(self, func: ast.expr, args: list[ast.expr], depth: int) -> Iterator[str]:
        """What a function gives that makes a path."""
        for name in self.dotted(func, depth):
            if name in _PATHS or name in _JOINS:
                yield from self._joined(args, "/", depth) if args else iter(("",))
            elif name in _SAME and args:
                yield from self.texts(args[0], depth)
            elif name.endswith("Path.home"):
                yield "~"
            elif name.endswith(("Path.cwd", "os.getcwd")):
                yield "."

    def _word(self, node: ast.expr, depth: int) -> frozenset[str]:
        found = self.texts(node, depth + 1)
        quoted = (word if UNKNOWN in word else shlex.quote(word) for word in found)
        return frozenset(quoted) or frozenset({UNKNOWN})


def _filled(template: str) -> str:
    """A template with its holes, `%s` and `{}`, unknown."""
    return _HOLE.sub(UNKNOWN, template)
