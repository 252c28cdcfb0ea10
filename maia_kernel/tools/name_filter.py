"""Globs as ripgrep takes them without losing what git ignores.

`rg --glob` wins over .gitignore: asked for `*.log`, it gives the logs that git ignores. An ignore file of
lowest rank that ignores everything but the pattern does not; and it says which folders need no walk.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

import pathspec

from maia_kernel.errors import ToolRetry

_ALTERNATIVES = 200
_INNERMOST = re.compile(r"(?<!\\)\{([^{}]*)\}")
_BRACE = re.compile(r"(?<!\\)[{}]")
_CLASS = re.compile(r"\\.|\[[!^]?\]?(?:\\.|[^\]\\])*\]")
_SPECIAL = re.compile(r"[*?\[\]\\{}]")
_EVERYTHING = frozenset({"*", "**", "**/*", "/**", "/**/*"})


@dataclass(frozen=True, slots=True)
class NameFilter:
    """Files below a folder that match one of some gitignore patterns."""

    patterns: tuple[str, ...]
    regexes: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, pattern: str) -> "NameFilter":
        """The filter of one glob with braces, relative to the folder; a bare name is of any folder.

        Raises:
            ToolRetry: it is unbalanced, or has too many alternatives.
        """
        if "\n" in pattern:
            raise ToolRetry("the glob holds a line end, which no pattern can.")
        patterns = tuple(dict.fromkeys(_literal_start(one) for one in expanded(pattern)))
        if any("[" in _CLASS.sub("", one) for one in patterns):
            raise ToolRetry(
                rf"the glob {pattern!r} has a [ without its ]; write \[ for the character."
            )
        spec = pathspec.GitIgnoreSpec.from_lines(patterns)
        regexes = [getattr(one, "regex", None) for one in spec.patterns]
        return cls(patterns, tuple(one for one in regexes if isinstance(one, re.Pattern)))

    @property
    def everything(self) -> bool:
        """Whether every file matches."""
        return any(pattern in _EVERYTHING for pattern in self.patterns)

    def kept(self, names: Iterable[str]) -> list[str]:
        """Those of the names, relative to the folder, that match."""
        if self.everything:
            return list(names)
        if len(self.regexes) == 1:
            match = self.regexes[0].match
            return [name for name in names if match(name)]
        return [name for name in names if any(regex.match(name) for regex in self.regexes)]

    def ignore_lines(self) -> list[str]:
        """The ignore file: everything, but not the matching files and the folders on the way there."""
        lines = ["*"]
        for pattern in self.patterns:
            lines += _kept(pattern)
        return lines


def expanded(pattern: str) -> list[str]:
    """Braces written out: `*.{ts,tsx}` is `*.ts` and `*.tsx`. Raises `ToolRetry` for too many."""
    done, todo = [], [pattern]
    while todo:
        one = todo.pop()
        match = _INNERMOST.search(one)
        if match is None:
            done.append(_BRACE.sub(r"\\\g<0>", one))
        else:
            before, after = one[: match.start()], one[match.end() :]
            todo += [f"{before}{choice}{after}" for choice in match[1].split(",")]
        if len(done) + len(todo) > _ALTERNATIVES:
            raise ToolRetry(f"the braces of the pattern give more than {_ALTERNATIVES} patterns.")
    return done


def _kept(pattern: str) -> Sequence[str]:
    inner = pattern.strip("/")
    if pattern.endswith("/") or not _SPECIAL.search(inner):
        # A name alone may be a folder's: its files are meant.
        deep = _kept(f"{pattern.rstrip('/')}/**")
        return deep if pattern.endswith("/") else [*deep, *_found(pattern)]
    return _found(pattern)


def _found(pattern: str) -> Sequence[str]:
    inner = pattern.lstrip("/")
    if pattern == inner and "/" not in inner:
        return ["!*/", f"!{inner}"]
    parts = inner.split("/")
    lines, at = [], ""
    for part in takewhile(lambda part: not _SPECIAL.search(part), parts[:-1]):
        at += f"/{part}"
        lines.append(f"!{at}/")
    rest = parts[at.count("/") :]
    if len(rest) > 1 or "**" in rest:
        lines.append(f"!{at}/**/" if at else "!*/")
    return [*lines, f"!/{inner}"]


def _literal_start(pattern: str) -> str:
    r"""`!` and `#` at the beginning mean something to gitignore."""
    return f"\\{pattern}" if pattern.startswith(("!", "#")) else pattern
