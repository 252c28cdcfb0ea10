"""Commands behind commands: wrappers, `bash -c`, `eval`, `find -exec`, `env -S`."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from maia_kernel.permissions.commands import Wrapper, lists
from maia_kernel.permissions.script import Command
from maia_kernel.permissions.words import Word

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


def inner_commands(command: Command) -> Iterator[Command]:
    """The commands in the arguments of a wrapper or of `find`, and the command without options."""
    name = program(command)
    wrapper = lists().wrappers.get(name)
    if wrapper is not None:
        words = command.words[1:]
        for start in _starts(words, wrapper):
            if start < len(words):
                yield command.behind(words[start:])
    if name == "find":
        yield from _executed(command)
    if name == "coproc":
        named = [at for at, word in enumerate(command.words) if word.guess == "{"]
        yield from (command.behind(command.words[at + 1 :]) for at in named)
    options = lists().global_options.get(name)
    if options is not None:
        start = max(_starts(command.words[1:], options)) + 1
        if 1 < start < len(command.words):
            # `git -C x push` for a rule that says `git push`.
            yield command.behind((command.words[0], *command.words[start:]))


def inner_texts(command: Command) -> Iterator[str]:
    """The arguments of a command that are command texts themselves."""
    name, words = program(command), command.words[1:]
    wrapper = lists().wrappers.get(name)
    if wrapper is not None:
        for start in _starts(words, wrapper):
            if start < len(words) and " " in words[start].guess.strip():
                # `watch 'rm x'`, `parallel 'rm {}'`: one word that is a command text.
                yield words[start].guess
        yield from _split_strings(words, wrapper)
    if name in lists().shells or name == "eval":
        yield from _texts(name, words)
    known = lists().texts.get(name)
    if known is not None:
        yield from _marked(words, known)
    if not command.words[0].literal and len(command.words[0].guess.split()) > 1:
        # An unquoted variable as the command word is split: `$x` may hold `rm -rf y`.
        yield command.decoded


def _marked(words: tuple[Word, ...], marks: tuple[str, ...]) -> Iterator[str]:
    """What follows a mark; `*` marks every word, and what follows its `=`."""
    for place, word in enumerate(words):
        before, equals, after = word.guess.partition("=")
        if "*" in marks:
            yield after if equals else word.guess
        elif word.guess in marks:
            yield words[place + 1].guess if place + 1 < len(words) else ""
            yield " ".join(later.guess for later in words[place + 1 :])
        elif equals and before in marks:
            yield after
        elif equals and place and words[place - 1].guess in marks:
            yield after.removeprefix("!")


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
