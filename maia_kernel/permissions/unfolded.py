"""Everything that a script is seen to run: commands behind commands, and texts that are commands.

For deny and ask rules and the always-asked lists, so a guess is enough; allow rules never look here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from maia_kernel.permissions.behind import inner_commands, inner_texts, program
from maia_kernel.permissions.commands import lists
from maia_kernel.permissions.script import Command, Redirection, Script
from maia_kernel.permissions.shell import read_script

_DEPTH = 8
_LIMIT = 2_000
_WORDS = 20_000
_TEXTS = 200
"""Commands or texts, and words, that are looked at: what holds more is asked for being so."""

_BACKTICKS = re.compile(r"`([^`]*)`")
_SHOWS = ("echo", "printf")


@dataclass(slots=True)
class Unfolded:
    """The commands and redirections of a script, and of all that it is seen to run."""

    commands: list[Command] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


def unfold(script: Script, home: Path) -> Unfolded:
    """What runs when `script` runs, as far as it can be seen; within limits.

    A script that goes beyond them gets the doubt `long`.
    """
    found = Unfolded()
    seen = {script.source}
    waiting = [(script, 0)]
    words = 0
    while waiting:
        current, depth = waiting.pop(0)
        found.redirections += current.redirections
        layers: list[Command] = []
        for layer in (layer for command in current.commands for layer in _layers(command)):
            words += len(layer.words)
            if words > _WORDS or len(found.commands) + len(layers) > _LIMIT:
                script.doubt("long")
                break
            layers.append(layer)
        found.commands += layers
        for text, folder in _texts(current, layers):
            if text in seen:
                continue
            if depth >= _DEPTH or len(seen) >= _TEXTS:
                script.doubt("long")
                break
            seen.add(text)
            if text:
                waiting.append((read_script(text, folder, home), depth + 1))
    return found


def _layers(command: Command) -> Iterator[Command]:
    waiting = [command]
    while waiting:
        current = waiting.pop()
        yield current
        if current.words:
            waiting += inner_commands(current)


def _texts(script: Script, layers: list[Command]) -> Iterator[tuple[str, Path]]:
    for layer in layers:
        if not layer.words:
            continue
        for text in (*inner_texts(layer), *_evaluated(layer)):
            yield text, layer.folders[0]
        if "substitution" in script.doubts:
            # The grammar does not find all of them.
            for word in layer.words:
                yield from ((text, layer.folders[0]) for text in _BACKTICKS.findall(word.raw))
    if any(program(layer) in lists().shells for layer in layers if layer.words):
        yield from ((body, script.commands[0].folders[0]) for body in script.bodies)
        for layer in layers:
            if program(layer) in _SHOWS:
                yield " ".join(word.guess for word in layer.words[1:]), layer.folders[0]


def _evaluated(command: Command) -> Iterator[str]:
    """Substitutions in the arguments of builtins that expand them a second time."""
    if program(command) in lists().evaluating:
        for word in command.words[1:]:
            if "$(" in word.guess or "`" in word.guess:
                quoted = word.guess.replace('"', " ")
                yield f': "{quoted}"'
