"""Files that hold keys, by their names: reading one is asked, also where reading is free."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import cache
from importlib.resources import files
from pathlib import Path

_WILD = re.compile(r"[*?\[]")
_SUFFIX = re.compile(r"\*[^*?\[]+")


@dataclass(frozen=True, slots=True)
class _KeyFiles:
    names: tuple[str, ...]
    exceptions: tuple[str, ...]
    places: tuple[tuple[str, ...], ...]


def is_key_file(*forms: Path) -> bool:
    """True when one of these forms of a path (as written, resolved) names a file for keys."""
    return any(_is_key_file(form) for form in forms)


def key_files_among(names: Iterable[str], folder: Path) -> Iterator[str]:
    """The names of key files among many, relative to `folder`; those that cannot be cost little."""
    lists = _lists()
    exact = frozenset(name for name in lists.names if not _WILD.search(name))
    suffixes = tuple(name[1:] for name in lists.names if _SUFFIX.fullmatch(name))
    rest = (name for name in lists.names if _WILD.search(name) and not _SUFFIX.fullmatch(name))
    other = _compiled(tuple(rest))
    places = {place[0] for place in lists.places}
    start = {part.casefold() for part in folder.parts} & places
    known: dict[str, bool] = {}
    for name in names:
        where, _, last = name.casefold().rpartition("/")
        if where not in known:
            known[where] = bool(start or places.intersection(where.split("/")))
        if (
            known[where] or last in exact or last.endswith(suffixes) or other.match(last)
        ) and is_key_file(folder / name):
            yield name


def _is_key_file(path: Path) -> bool:
    lists = _lists()
    parts = tuple(part.casefold() for part in path.parts)
    if not parts or _matches(parts[-1], lists.exceptions):
        return False
    return _matches(parts[-1], lists.names) or any(
        len(parts) >= len(place) and all(map(fnmatchcase, parts[len(parts) - len(place) :], place))
        for place in lists.places
    )


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return _compiled(patterns).match(name) is not None


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for all of them: a search asks for every file it found."""
    return re.compile("|".join(translate(pattern) for pattern in patterns))


@cache
def _lists() -> _KeyFiles:
    source = files("maia_kernel.permissions") / "key_files.toml"
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    return _KeyFiles(
        names=tuple(data["names"]),
        exceptions=tuple(data["exceptions"]),
        places=tuple(tuple(place) for place in data["places"]),
    )
