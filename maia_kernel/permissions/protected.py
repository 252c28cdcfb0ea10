"""The two lists that are always asked: protected paths for writing, and critical removals."""

import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path

from maia_kernel.permissions.behind import all_commands, find_starts, operands, program
from maia_kernel.permissions.policy import Policy
from maia_kernel.permissions.script import Command, Script
from maia_kernel.permissions.words import Word, literal_word

_GLOB_NAME = frozenset("*?.")
_VARIABLES = ("$", "`")


@dataclass(frozen=True, slots=True)
class _Protected:
    directories: frozenset[str]
    sequences: tuple[tuple[str, ...], ...]
    exceptions: tuple[tuple[str, ...], ...]
    files: frozenset[str]
    patterns: tuple[str, ...]
    removals: frozenset[str]


def is_protected(path: Path, resolved: Path) -> bool:
    """True when writing `path` is always asked; either form of it is enough."""
    return any(_is_protected(form) for form in (path, resolved))


def critical_removal(script: Script, policy: Policy) -> str | None:
    """What a command of the script would remove that is always asked; None when nothing is."""
    for command in all_commands(script, policy.home):
        for target in _targets(command):
            aim = _critical(target, command, policy)
            if aim is not None:
                return aim
    return None


def _is_protected(path: Path) -> bool:
    lists = _lists()
    parts = tuple(part.casefold() for part in path.parts)
    if not parts:
        return False
    name = parts[-1]
    if name in lists.files or any(fnmatchcase(name, pattern) for pattern in lists.patterns):
        return True
    rest = _without_exceptions(parts, lists.exceptions)
    return any(part in lists.directories for part in rest) or any(
        _holds(rest, sequence) for sequence in lists.sequences
    )


def _without_exceptions(
    parts: tuple[str, ...], exceptions: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    for pair in exceptions:
        for at in range(len(parts) - len(pair)):
            if parts[at : at + len(pair)] == pair:
                return _without_exceptions(parts[:at] + parts[at + len(pair) :], exceptions)
    return parts


def _holds(parts: tuple[str, ...], sequence: tuple[str, ...]) -> bool:
    size = len(sequence)
    return any(parts[at : at + size] == sequence for at in range(len(parts) - size + 1))


def _targets(command: Command) -> Iterator[Word]:
    """The words that a removing command removes, or the folders that it sweeps."""
    name = program(command)
    if name in _lists().removals:
        yield from operands(command)
    elif name == "find" and _find_removes(command):
        yield from find_starts(command) or (literal_word("."),)
    elif name == "git" and "clean" in [word.guess for word in command.words[1:]]:
        yield from _cleaned(command)


def _find_removes(command: Command) -> bool:
    words = [word.guess for word in command.words]
    runs = any(Path(word).name in _lists().removals for word in words[1:])
    return "-delete" in words or (runs and any(word.startswith(("-exec", "-ok")) for word in words))


def _cleaned(command: Command) -> Iterator[Word]:
    words = list(command.words[1:])
    texts = [word.guess for word in words]
    at = texts.index("clean")
    flags = texts[at + 1 :]
    if "--dry-run" in flags or any(
        flag.startswith("-") and not flag.startswith("--") and "n" in flag for flag in flags
    ):
        return
    swept = [word for word in words[at + 1 :] if not word.guess.startswith("-")]
    if swept:
        yield from swept
    elif "-C" in texts[:at]:
        yield words[min(texts.index("-C") + 1, len(words) - 1)]
    else:
        yield literal_word(".")


def _critical(word: Word, command: Command, policy: Policy) -> str | None:
    written = _known(word, command, policy)
    if _under_variable(word, written):
        return word.raw
    for folder in command.folders:
        target = os.path.normpath(folder / _without_glob(written))
        if is_critical(Path(target), policy):
            return word.raw
    return None


def _known(word: Word, command: Command, policy: Policy) -> str:
    """The word with home and the working folder put in for `~`, `$HOME` and `$PWD`."""
    written = word.guess
    for name, value in (("HOME", policy.home), ("PWD", command.folders[0])):
        for form in (f"${{{name}}}", f"${name}"):
            if written == form or written.startswith(f"{form}/"):
                return f"{value}{written[len(form) :]}"
    if written == "~" or written.startswith("~/"):
        return f"{policy.home}{written[1:]}"
    return written


def _under_variable(word: Word, written: str) -> bool:
    """`"$D"/*` and `$D/`: an empty variable would aim them at the root."""
    if not word.leads or word.literal or not written.startswith(_VARIABLES):
        return False
    rest = written.partition("/")[2]
    return "/" in written and not rest.strip("*?./")


def _without_glob(written: str) -> str:
    """The folder whose whole content a last `*` names; the word itself otherwise."""
    folder, _, name = written.rstrip("/").rpartition("/")
    if name and set(name) <= _GLOB_NAME and set(name) & set("*?"):
        return folder or ("/" if written.startswith("/") else ".")
    return written


def is_critical(target: Path, policy: Policy) -> bool:
    """True for the root, what stands right below it, home, a working folder, and their parents."""
    for form in dict.fromkeys((target, policy.resolve(target))):
        if len(form.parts) <= 2:
            return True
        for kept in (policy.home, *policy.folders):
            for folder in (kept, policy.resolve(kept)):
                if folder.is_relative_to(form):
                    return True
    return False


@cache
def _lists() -> _Protected:
    source = files("maia_kernel.permissions") / "protected.toml"
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    folded = {
        key: tuple(tuple(part.casefold() for part in row) for row in data[key])
        for key in ("sequences", "exceptions")
    }
    return _Protected(
        directories=frozenset(name.casefold() for name in data["directories"]),
        sequences=folded["sequences"],
        exceptions=folded["exceptions"],
        files=frozenset(name.casefold() for name in data["files"]),
        patterns=tuple(pattern.casefold() for pattern in data["patterns"]),
        removals=frozenset(data["removals"]["commands"]),
    )
