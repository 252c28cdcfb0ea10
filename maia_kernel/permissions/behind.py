"""Commands behind commands: wrappers, `bash -c`, `eval`, `find -exec`, `env -S`."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from maia_kernel.permissions.commands import Wrapper, lists
from maia_kernel.permissions.script import Command, Script
from maia_kernel.permissions.shell import read_script
from maia_kernel.permissions.words import Word

_DEPTH = 8
_EXEC = ("-exec", "-execdir", "-ok", "-okdir")


def program(command: Command) -> str:
    """The name of the program without its folder: `rm` for `/bin/rm`."""
    return PurePosixPath(command.name).name


def through(command: Command) -> Command | None:
    """The command behind a wrapper that allow rules see through; None when it is not one.

    Only exact forms: a flag that is not listed hides the command.
    """
    wrapper = lists().wrappers.get(command.name)
    if wrapper is None or not wrapper.through or command.assignments:
        return None
    rest = list(command.words[1:])
    start = _exact_start(rest, wrapper)
    return None if start is None or start >= len(rest) else command.behind(tuple(rest[start:]))


def all_commands(script: Script, home: Path) -> Iterator[Command]:
    """Every simple command of the script and every one that they are seen to run."""
    for command in script.commands:
        yield from _unfold(command, home, 0)


def _unfold(command: Command, home: Path, depth: int) -> Iterator[Command]:
    yield command
    if depth >= _DEPTH or not command.words:
        return
    for inner in _inner(command, home):
        yield from _unfold(inner, home, depth + 1)


def _inner(command: Command, home: Path) -> Iterator[Command]:
    name = program(command)
    words = command.words[1:]
    wrapper = lists().wrappers.get(name)
    if wrapper is not None:
        yield from _wrapped(command, wrapper)
        for text in _split_strings(words, wrapper):
            yield from read_script(text, command.folders[0], home).commands
    if name in lists().shells or name == "eval":
        for text in _texts(name, words):
            yield from read_script(text, command.folders[0], home).commands
    if name == "find":
        yield from _executed(command)
    if not command.words[0].literal and len(command.words[0].guess.split()) > 1:
        # An unquoted variable as the command word is split: `$x` may hold `rm -rf y`.
        yield from read_script(command.decoded, command.folders[0], home).commands


def _wrapped(command: Command, wrapper: Wrapper) -> Iterator[Command]:
    words = command.words[1:]
    for start in _starts(words, wrapper):
        if start < len(words):
            yield command.behind(words[start:])
            if " " in words[start].guess.strip():
                # `watch 'rm x'`, `parallel 'rm {}'`: one word that is a command text.
                yield from read_script(words[start].guess, command.folders[0], Path("/")).commands


def _starts(words: tuple[Word, ...], wrapper: Wrapper) -> set[int]:
    """Where the inner command may begin; more than one place when a flag is not known."""
    place, skip = 0, wrapper.skip
    starts: set[int] = set()
    while place < len(words):
        written = words[place].guess
        if written == "--":
            place += 1
            starts.add(place + skip)
            return starts
        if written.startswith("-") and written != "-":
            taken = _taken(written, wrapper)
            if taken is None:
                starts.add(place + 2 + skip)
            place += 1 + (taken or 0)
        elif wrapper.assignments and "=" in written and written.partition("=")[0].isidentifier():
            place += 1
        else:
            break
    starts.add(place + skip)
    return starts


def _taken(flag: str, wrapper: Wrapper) -> int | None:
    """How many words after `flag` are its value; None when the flag is not known."""
    if flag.startswith("--"):
        name, equals, _ = flag.partition("=")
        takes = wrapper.flags.takes.get(name)
        return None if takes is None else int(takes in ("text", "path") and not equals)
    for place in range(1, len(flag)):
        takes = wrapper.flags.takes.get(f"-{flag[place]}")
        if takes is None:
            return 0 if wrapper.flags.number and flag[1:].isdigit() else None
        if takes != "nothing":
            return int(takes in ("text", "path") and place == len(flag) - 1)
    return 0


def _exact_start(words: list[Word], wrapper: Wrapper) -> int | None:
    place = 0
    while place < len(words) and words[place].guess.startswith("-"):
        if not words[place].literal:
            return None
        if words[place].guess == "--":
            place += 1
            break
        taken = _taken(words[place].guess, wrapper)
        if taken is None:
            return None
        place += 1 + taken
    skipped = words[place : place + wrapper.skip]
    return place + wrapper.skip if all(word.plain for word in skipped) else None


def _texts(name: str, words: tuple[Word, ...]) -> Iterator[str]:
    if name == "eval":
        yield " ".join(word.guess for word in words)
        return
    for place, word in enumerate(words):
        flag = word.guess
        if flag.startswith("-") and not flag.startswith("--") and "c" in flag:
            yield from (text.guess for text in words[place + 1 : place + 2])


def _split_strings(words: tuple[Word, ...], wrapper: Wrapper) -> Iterator[str]:
    for place, word in enumerate(words):
        for flag in wrapper.split:
            if word.guess == flag and place + 1 < len(words):
                yield words[place + 1].guess
            elif word.guess.startswith(f"{flag}="):
                yield word.guess[len(flag) + 1 :]
            elif not flag.startswith("--") and word.guess.startswith(flag):
                yield word.guess[len(flag) :]


def _executed(command: Command) -> Iterator[Command]:
    words = command.words
    for place, word in enumerate(words):
        if word.guess in _EXEC:
            end = next(
                (at for at in range(place + 1, len(words)) if words[at].guess in (";", "+")),
                len(words),
            )
            if end > place + 1:
                yield command.behind(words[place + 1 : end])


def find_starts(command: Command) -> tuple[Word, ...]:
    """The folders that a `find` starts from; none written means where it runs."""
    starts: list[Word] = []
    for word in command.words[1:]:
        if word.guess in ("-H", "-L", "-P"):
            continue
        if word.guess.startswith("-") or word.guess in ("(", "!"):
            break
        starts.append(word)
    return tuple(starts)


def operands(command: Command) -> tuple[Word, ...]:
    """The words that are no options, for commands whose options are not listed."""
    words = command.words[1:]
    ends = next((at for at, word in enumerate(words) if word.guess == "--"), len(words))
    before = tuple(word for word in words[:ends] if not word.guess.startswith("-"))
    return before + words[ends + 1 :]
