"""Where the words of a command lead: the files that a word may name, in every folder it may run in."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

from maia_kernel.permissions.behind import program
from maia_kernel.permissions.commands import lists
from maia_kernel.permissions.policy import Policy
from maia_kernel.permissions.script import Command
from maia_kernel.permissions.words import Word, spread, tilde

_MARKS = 16
_ATTACHED = re.compile(r"-[A-Za-z]+(?=[^A-Za-z])")
_NAMED = re.compile(r"[\w./~@+-]*[./][\w./~@+-]*")
_BLOB = re.compile(r"(?::[0-3]|[\w.@/~^-]*(?:@\{\d+\})?):(?![/!^(:])[\w.@+%,/ -]+")


def places(word: Word, folders: tuple[Path, ...], policy: Policy) -> tuple[Path, ...] | None:
    """The paths that a word names, not normalised; None when that is not known before it runs.

    A glob is expanded to the files that are there now.
    """
    if word.bound:
        each = [places(value, folders, policy) for value in word.bound]
        return None if None in each else tuple(path for some in each for path in some or ())
    if not word.literal and not word.glob:
        return None
    if word.glob and word.quoted:
        return None
    written = _at_home(word, policy.home)
    if written is None or (word.glob and _may_climb(written)):
        return None
    found: list[Path] = []
    for folder in folders:
        here = folder / written
        if not word.glob:
            found.append(here)
            continue
        expanded = policy.expand(str(here))
        if expanded is None or any(_looks_like_option(path, word) for path in expanded):
            return None
        found += [*expanded, _before_glob(here)]
    return tuple(found)


def is_folder(word: Word, folders: tuple[Path, ...], policy: Policy) -> bool:
    """True when a word names a folder now."""
    found = places(word, folders, policy) or ()
    return any(policy.expand(f"{escape(str(path))}/") for path in found)


def guesses(word: Word, folders: tuple[Path, ...], policy: Policy) -> Iterator[Path]:
    """The paths that a word may name, for deny and ask rules: a guess is enough here."""
    known = places(word, folders, policy) if word.glob or word.bound else None
    if known:
        yield from known
    for written in spread(word):
        yield from _guessed(written, word, folders, policy)


def _guessed(written: str, word: Word, folders: tuple[Path, ...], policy: Policy) -> Iterator[Path]:
    for name, value in (("HOME", policy.home), ("PWD", folders[0])):
        for form in (f"${name}", f"${{{name}}}"):
            if written == form or written.startswith(f"{form}/"):
                written = f"{value}{written[len(form) :]}"
    for part in dict.fromkeys((written, *_suffixes(written))):
        if not part or "\x00" in part or len(part) > 4096:
            continue
        if part == "~" or part.startswith("~/"):
            yield policy.home / part[2:]
            continue
        yield from (folder / part for folder in folders)
        if "[" in part and not word.literal:
            yield from policy.expand(str(folders[0] / part)) or ()


def revision_paths(word: Word, folders: tuple[Path, ...], policy: Policy) -> Iterator[Path]:
    """The files that a word of git may name behind a revision, as `HEAD:x`, `:0:x` or `:(top)x`.

    They are written from the repository's top, or from the folder with `./`.
    """
    bases = _with_top(folders, policy)
    for part in _suffixes(word.guess):
        yield from (base / part for base in bases)


def names_a_blob(word: Word) -> bool:
    """True for `REVISION:file`: one file at one revision, and nothing else."""
    return word.literal and _BLOB.fullmatch(word.guess) is not None


def command_guesses(command: Command, policy: Policy) -> Iterator[Path]:
    """Every path that the words after the command name may be."""
    folders = command.folders
    if program(command) == "git":
        folders = _with_top(folders, policy)
    scripting = program(command) in lists().scripting
    for word in command.words[1:]:
        yield from guesses(word, folders, policy)
        if scripting:
            # A file named in a program: `sed -n 'w x'`, `awk '{print > "x"}'`.
            for name in _NAMED.findall(word.guess)[:_MARKS]:
                yield from (folder / name.removeprefix("w") for folder in folders)
                yield from (folder / name for folder in folders)


def _with_top(folders: tuple[Path, ...], policy: Policy) -> tuple[Path, ...]:
    repository = policy.repository(policy.cwd)
    return folders if repository is None else tuple(dict.fromkeys((*folders, repository.root)))


def _suffixes(written: str) -> Iterator[str]:
    """What follows each mark behind which a file may be named: `HEAD:x`, `-L1,2:x`, `--a=x`."""
    found = [written[at + 1 :] for at, mark in enumerate(written) if mark in "=:)"]
    attached = _ATTACHED.match(written)
    if attached:
        # `-ofile`, `-uofile`
        found += [written[2:], written[attached.end() :]]
    # A long text is no path; the last marks are those that count.
    yield from (part for part in found[-_MARKS:] if part)


def _at_home(word: Word, home: Path) -> str | None:
    if not tilde(word):
        return word.guess
    if word.raw == "~" or word.raw.startswith("~/"):
        return str(home) + word.guess[1:]
    return None


def _before_glob(path: Path) -> Path:
    parts = path.parts
    first = next(at for at, part in enumerate(parts) if "*" in part or "?" in part)
    return Path(*parts[:first])


def _may_climb(written: str) -> bool:
    """`.*` names `..` as well, before bash 5.2."""
    return any(
        part.startswith(".") and set(part) & set("*?") and fnmatchcase("..", part)
        for part in written.split("/")
    )


def _looks_like_option(path: Path, word: Word) -> bool:
    return word.guess[0] in "*?" and "/" not in word.guess and path.name.startswith("-")
