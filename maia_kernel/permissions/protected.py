"""The two lists that are always asked: protected paths for writing, and critical removals."""

import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path

from maia_kernel.permissions.behind import find_starts, operands, program
from maia_kernel.permissions.policy import Policy
from maia_kernel.permissions.script import Command
from maia_kernel.permissions.words import Word, literal_word, spread

_GLOB_NAME = frozenset("*?.")
# `"$D"/*`, `$A/$B/` and `$(cat x)/*`: what is empty aims them at the root.
_UNDER_VARIABLE = re.compile(
    r"(?:/*(?:\$\{[^}]*\}|\$[\w@*#?-]+|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`))+/[*?./]*"
)


@dataclass(frozen=True, slots=True)
class _Protected:
    directories: frozenset[str]
    sequences: tuple[tuple[str, ...], ...]
    exceptions: tuple[tuple[str, ...], ...]
    files: frozenset[str]
    patterns: tuple[str, ...]
    removals: frozenset[str]
    homes: tuple[str, ...]
    heres: tuple[str, ...]


def is_protected(path: Path, resolved: Path) -> bool:
    """True when writing `path` is always asked; either form of it is enough."""
    return any(_is_protected(form) for form in (path, resolved))


def critical_removal(commands: Sequence[Command], policy: Policy) -> str | None:
    """What one of the commands would remove that is always asked; None when nothing is."""
    fed = any(program(c) == "xargs" and _runs_removal(c) for c in commands if c.words)
    for command in commands:
        for target in (*_targets(command), *(_named(command) if fed else ())):
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
        starts = find_starts(command)
        yield from starts
        if not starts or any(not word.literal and not word.quoted for word in starts):
            # Without a start, as when a variable is empty, it starts where it is.
            yield literal_word(".")
    elif name == "git" and "clean" in [word.guess for word in command.words[1:]]:
        yield from _cleaned(command)


def _named(command: Command) -> Iterator[Word]:
    """The places that a command may name to `xargs rm`."""
    if command.words and program(command) in ("echo", "printf", "ls", "find"):
        yield from (word for word in command.words[1:] if word.guess.startswith(("/", "~", "$")))


def _find_removes(command: Command) -> bool:
    words = [word.guess for word in command.words]
    executes = any(word.startswith(("-exec", "-ok")) for word in words)
    return "-delete" in words or (executes and _runs_removal(command))


def _runs_removal(command: Command) -> bool:
    pieces = (piece for word in command.words[1:] for piece in word.guess.split())
    return any(Path(piece).name in _lists().removals for piece in pieces)


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
    elsewhere = texts.index("-C") + 1 if "-C" in texts[:at] else 0
    if swept:
        yield from (literal_word(".") if word.guess.startswith(":") else word for word in swept)
    elif 0 < elsewhere < at and words[elsewhere].literal:
        yield words[elsewhere]
    else:
        yield literal_word(".")


def _critical(word: Word, command: Command, policy: Policy) -> str | None:
    if word.doubt == "construct":
        return word.raw  # not understood, so that it may be anything
    for guess in spread(word):
        written = _known(guess, word, command, policy)
        if not word.literal and _UNDER_VARIABLE.fullmatch(written):
            return word.raw
        for folder in command.folders:
            target = os.path.normpath(folder / _without_glob(written))
            if is_critical(Path(target), policy):
                return word.raw
    return None


def _known(written: str, word: Word, command: Command, policy: Policy) -> str:
    """The word with home and the working folder put in for `~`, `$HOME`, `$PWD` and `$(pwd)`."""
    home, here = str(policy.home), str(command.folders[0])
    for form in _lists().homes:
        if written == form or written.startswith(f"{form}/"):
            return home + written[len(form) :]
    for form in _lists().heres:
        if written == form or written.startswith(f"{form}/"):
            return here + written[len(form) :]
    if word.raw.startswith("~"):
        # Whose home it is does not matter; nor where `~-` leads.
        return home + written[len(written.partition("/")[0]) :]
    return written


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
        homes=tuple(data["removals"]["homes"]),
        heres=tuple(data["removals"]["heres"]),
    )
