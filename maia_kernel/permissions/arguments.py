"""Options and operands of a simple command, against a closed list of flags."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from maia_kernel.permissions.commands import Flags, Takes
from maia_kernel.permissions.words import Word, literal_word


@dataclass(frozen=True, slots=True)
class Arguments:
    """What the words after a command name are. `unknown` is the first flag that is not listed.

    `values` are the options' values with what each option takes.
    """

    flags: tuple[str, ...]
    values: tuple[tuple[str, Takes, Word], ...]
    operands: tuple[Word, ...]
    unknown: str | None = None


def read_arguments(words: Sequence[Word], flags: Flags, syntax: Sequence[str] = ()) -> Arguments:
    """The words sorted into options, their values and operands, as GNU programs read them."""
    found: list[str] = []
    values: list[tuple[str, Takes, Word]] = []
    operands: list[Word] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        written = word.guess
        if written == "--" and not flags.single_dash:
            operands += waiting
            break
        if written in syntax and word.literal:
            continue
        if not _is_option(written):
            operands.append(word)
            continue
        if not word.literal and not _is_pattern_value(word):
            return Arguments(tuple(found), tuple(values), tuple(operands), written)
        parsed = _option(written, flags)
        if parsed is None:
            return Arguments(tuple(found), tuple(values), tuple(operands), written)
        names, takes, attached = parsed
        found += names
        if takes in ("text", "path") and attached is None:
            if not waiting:
                return Arguments(tuple(found), tuple(values), tuple(operands), written)
            values.append((names[-1], takes, waiting.pop(0)))
        elif attached is not None:
            values.append((names[-1], takes, literal_word(attached)))
    return Arguments(tuple(found), tuple(values), tuple(operands))


def _is_pattern_value(word: Word) -> bool:
    """`--include=*.py`: files that the shell might put in its place have the same option in front."""
    return word.glob and not word.quoted and re.match(r"--[a-z-]+=", word.raw) is not None


def _is_option(written: str) -> bool:
    return written.startswith("-") and written != "-"


def _option(written: str, flags: Flags) -> tuple[list[str], Takes, str | None] | None:
    """The option names in one word, what the last takes, and a value attached to it."""
    if flags.number and re.fullmatch(r"-\d+", written):
        return ["-#"], "nothing", None
    if written.startswith("--") or flags.single_dash:
        return _long(written, flags)
    names: list[str] = []
    for place in range(1, len(written)):
        name = f"-{written[place]}"
        takes = flags.takes.get(name)
        if takes is None:
            return None
        names.append(name)
        if takes != "nothing":
            return names, takes, written[place + 1 :] or None
    return names, "nothing", None


def _long(written: str, flags: Flags) -> tuple[list[str], Takes, str | None] | None:
    name, equals, value = written.partition("=")
    takes = flags.takes.get(name if not flags.single_dash else written)
    if takes is None:
        return None
    if flags.single_dash:
        return [written], takes, None
    if equals and takes == "nothing":
        return None
    return [name], takes, value if equals else None
