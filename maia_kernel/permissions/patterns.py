"""Path patterns of rules: gitignore syntax with anchors.

`//p` is the absolute `/p`, `~/p` is below home, `/p` below the folder of the rule's source, `p` and
`./p` below the working folder. A pattern never reaches above its anchor.
"""

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from maia_kernel.texts import text

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class Anchored:
    """A gitignore pattern and the folder it starts from; `glob` begins with `/` where it is rooted."""

    folder: Path
    glob: str


def pattern_fault(pattern: str) -> str | None:
    """What is wrong with a path pattern, in one line; None when nothing is."""
    if pattern.startswith("!"):
        return text("permissions.rule.negated")
    if ".." in pattern.split("/"):
        return text("permissions.rule.dots")
    try:
        _compiled(pattern.removeprefix("~").removeprefix("./"))
    except ValueError:
        return text("permissions.rule.bad_glob")
    return None


def anchored(pattern: str, *, wide: bool, source: Path, cwd: Path, home: Path) -> Anchored:
    """`pattern` with its anchor. `wide` is for deny and ask, which reach further than allow does."""
    if pattern.startswith("//"):
        return Anchored(Path("/"), pattern[1:])
    if pattern.startswith("~/"):
        return Anchored(home, pattern[1:])
    if pattern == "~":
        return Anchored(home, "/**")
    if pattern.startswith("/"):
        return Anchored(source, pattern)
    if pattern.startswith("./"):
        return Anchored(cwd, pattern[2:] if wide else pattern[1:])
    return Anchored(cwd, _floating(pattern) if wide else _fixed(pattern))


def matches_path(pattern: Anchored, path: Path, anchors: tuple[Path, ...]) -> bool:
    """True when `pattern` matches `path` below one of `anchors` (the anchor as written, resolved)."""
    for anchor in anchors:
        if path.is_relative_to(anchor):
            inner = path.relative_to(anchor).as_posix()
            if _matches(pattern.glob, "" if inner == "." else inner):
                return True
    return False


def below(pattern: Anchored, folder: Path) -> str | None:
    """`pattern` as a gitignore glob relative to `folder`; None when it can match nothing in it.

    Where a `**` of the pattern may stand for parts of `folder`, the answer matches rather too much.
    """
    if not folder.is_relative_to(pattern.folder):
        if pattern.folder.is_relative_to(folder):
            middle = pattern.folder.relative_to(folder).as_posix()
            rooted = pattern.glob if "/" in pattern.glob.rstrip("/") else f"/**/{pattern.glob}"
            return f"/{_escaped(middle)}/{rooted.lstrip('/')}"
        return None
    if "/" not in pattern.glob.rstrip("/"):
        return pattern.glob
    names = list(folder.relative_to(pattern.folder).parts)
    parts = pattern.glob.lstrip("/").split("/")
    while names:
        if not parts or parts == [""]:
            return "**"
        if parts[0] == "**":
            return "/".join(parts)
        if not fnmatchcase(names.pop(0), parts.pop(0)):
            return None
    if not parts or parts == [""]:
        return "**"
    return "/".join(parts) if parts[0] == "**" else "/" + "/".join(parts)


def escaped(name: str) -> str:
    """`name` as a literal gitignore pattern."""
    return _escaped(name)


def _matches(glob: str, inner: str) -> bool:
    if not inner:
        return glob.strip("/") in ("**", "*")
    if _compiled(glob).match_file(inner):
        return True
    if not glob.endswith("/**") or not glob.strip("/*"):
        return False
    # A folder named by a rule is what a search of it reaches: `src/**` speaks of `src` as well.
    whole = glob.removesuffix("/**")
    return _compiled(whole if "/" in whole else f"/{whole}").match_file(inner)


@lru_cache(maxsize=1024)
def _compiled(glob: str) -> "GitIgnoreSpec":
    # Its dozen modules are not needed where no rule has a path.
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([glob])


def _floating(pattern: str) -> str:
    folder, slash, rest = pattern.partition("/")
    if slash and rest == "**" and folder != "**":
        return f"**/{folder}/**"
    return pattern


def _fixed(pattern: str) -> str:
    folder, slash, rest = pattern.partition("/")
    return f"/{pattern}" if slash and not rest and folder != "**" else pattern


def _escaped(name: str) -> str:
    return "".join(f"\\{char}" if char in "\\*?[]!# " else char for char in os.fspath(name))
