"""The grammar of the shell, as it may be used: it is native code, and not written for hostile text.

It looks every character up in tables of C that hold 256 (tree-sitter-bash 0.25, `isalpha` on code
points), and far beyond them the process ends. So it reads a copy in which every byte above 127 is a
dot: what stands where is the same, and to bash such bytes are ordinary parts of words.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_TAME = bytes(range(128)) + b"." * 128
_written: ContextVar[bytes] = ContextVar("written", default=b"")
_own = threading.local()


@contextmanager
def parsed(source: str) -> Iterator["Node"]:
    """The root of the syntax tree of `source`; inside, `text_of` gives what stands at its nodes."""
    written = source.encode("utf-8", "surrogatepass")
    token = _written.set(written)
    try:
        yield _parser().parse(written.translate(_TAME)).root_node
    finally:
        _written.reset(token)


def text_of(node: "Node") -> bytes:
    """What was written where `node` stands, in UTF-8."""
    return _written.get()[node.start_byte : node.end_byte]


def _parser() -> "Parser":
    """A parser of this thread's own: one keeps a state while it reads."""
    if not hasattr(_own, "parser"):
        # A native library that most turns never need.
        import tree_sitter
        import tree_sitter_bash

        language = tree_sitter.Language(tree_sitter_bash.language())
        _own.parser = tree_sitter.Parser(language)
    parser: Parser = _own.parser
    return parser
