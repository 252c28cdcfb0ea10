"""What a shell command is made of, as values: simple commands, redirections, doubts."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from maia_kernel.permissions.words import Word

_OWN_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command; `folders` are all the places where it may run, first the likeliest.

    `moved`: a `cd` came before it. `calls`: it calls a function that is certain to be defined by then,
    and not from inside one.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    folders: tuple[Path, ...]
    moved: bool = False
    calls: bool = False

    @property
    def name(self) -> str:
        """The command word's value, as far as it is known."""
        return self.words[0].guess if self.words else ""

    @property
    def raw(self) -> str:
        """The words as written, single blanks between them."""
        return " ".join(word.raw for word in self.words)

    @property
    def decoded(self) -> str:
        """The words as bash would pass them, single blanks between them."""
        return " ".join(word.guess for word in self.words)

    def behind(self, words: tuple[Word, ...]) -> "Command":
        """The command that this one runs when it is a wrapper."""
        return Command(words, (), self.folders, self.moved)


@dataclass(frozen=True, slots=True)
class Redirection:
    """A redirection to or from a file."""

    target: Word
    write: bool
    folders: tuple[Path, ...]


@dataclass(slots=True)
class Script:
    """Everything found in a command text. `doubts` name what no allow rule covers, in order.

    `bodies` are the texts of here-documents and here-strings. `background`: a part of it may run on after the command is over.
    """

    source: str
    parses: bool = True
    lost: bool = False
    commands: list[Command] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    doubts: list[str] = field(default_factory=list)
    heredocs: bool = False
    bodies: list[str] = field(default_factory=list)
    background: bool = False

    def doubt(self, name: str) -> None:
        """Note a doubt once."""
        if name not in self.doubts:
            self.doubts.append(name)


def is_own_name(name: str) -> bool:
    """True for a variable that a script may set for itself: no program is known to read it."""
    return _OWN_NAME.fullmatch(name) is not None and not name.endswith("_proxy")
