"""The file commands that the mode acceptEdits runs: only on paths inside the folders.

A closed list of commands and flags, as for read-only ones. `cp a b` also writes `b/a` where b is a
folder, and a relative link that is moved leads elsewhere afterwards: both are seen to here.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from maia_kernel.permissions.arguments import Arguments, read_arguments
from maia_kernel.permissions.behind import through
from maia_kernel.permissions.commands import Flags, lists
from maia_kernel.permissions.judge import is_harmless, is_let, reads_only
from maia_kernel.permissions.policy import Policy
from maia_kernel.permissions.protected import is_protected
from maia_kernel.permissions.reach import places
from maia_kernel.permissions.rules import Rule, RuleSource
from maia_kernel.permissions.script import Command, Script
from maia_kernel.permissions.words import Word

_ANY = (Rule("allow", "Bash", None, RuleSource("session", None, Path("/"))),)
_SUFFIX = re.compile(r"[\w.~-]*")


@dataclass(frozen=True, slots=True)
class _Form:
    """A command: `target`: the last operand is written to; `moves_links`: the flags with which it may."""

    flags: Flags
    target: bool = False
    moves_links: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    script: tuple[str, ...] = ()


def edits_inside(script: Script, policy: Policy) -> bool:
    """True when the script only reads, and makes, moves, changes and removes files in the folders."""
    unclear = script.doubts or script.lost or script.functions or script.background
    if unclear or script.heredocs or not script.parses:
        return False
    if not all(is_harmless(redirection, policy) for redirection in script.redirections):
        return False
    movers, others = 0, 0
    for command in script.commands:
        if reads_only(command, policy) and not policy.ask_reads:
            others += command.name not in _data()[1]
            continue
        inner = _innermost(command)
        form = _data()[0].get(inner.name)
        if form is None or not is_let(command, _ANY):
            return False
        arguments = read_arguments(inner.words[1:], form.flags)
        if not _stays_inside(arguments, form, inner, policy):
            return False
        moves = "*" in form.moves_links or set(form.moves_links) & set(arguments.flags)
        movers, others = movers + bool(moves), others + (not moves)
    # Where a link went, the paths of the other commands are not what they were when looked at.
    return movers == 0 or (movers == 1 and others == 0)


def _innermost(command: Command) -> Command:
    inner = through(command)
    return command if inner is None else _innermost(inner)


def _stays_inside(arguments: Arguments, form: _Form, command: Command, policy: Policy) -> bool:
    if arguments.unknown is not None or (form.needs and not set(form.needs) & set(arguments.flags)):
        return False
    operands = arguments.operands
    if form.script:
        operands = _after_script(arguments, form)
    if len(operands) < (2 if form.target else 1):
        return False
    if not all(word.literal for _, _, word in arguments.values):
        return False
    if not all(_is_inside(word, command, policy) for word in operands):
        return False
    return not form.target or _target_is_inside(arguments, form, command, policy)


def _after_script(arguments: Arguments, form: _Form) -> tuple[Word, ...]:
    """The files of a `sed`; none when its program is not on the list or its suffix names a place."""
    known = lists().read_only["sed"].first or ""
    given = [word for flag, _, word in arguments.values if flag in form.script]
    suffixes = [word for flag, _, word in arguments.values if flag in form.needs]
    operands = arguments.operands
    if not given:
        given, operands = list(operands[:1]), operands[1:]
    fits = all(word.literal and re.fullmatch(known, word.guess) for word in given)
    return operands if fits and all(_SUFFIX.fullmatch(word.guess) for word in suffixes) else ()


def _is_inside(word: Word, command: Command, policy: Policy) -> bool:
    found = places(word, command.folders, policy) if word.literal else None
    return bool(found) and all(_lies_inside(path, policy) for path in found or ())


def _lies_inside(path: Path, policy: Policy) -> bool:
    """Both where the path leads and where its own name lies: that is what `rm` removes."""
    own = policy.resolve(path.parent)
    return policy.inside(policy.resolve(path)) and policy.inside(own)


def _target_is_inside(arguments: Arguments, form: _Form, command: Command, policy: Policy) -> bool:
    *sources, target = arguments.operands
    recursive = "*" not in form.moves_links and set(form.moves_links) & set(arguments.flags)
    for folder in places(target, command.folders, policy) or ():
        if recursive and (set(str(folder)) & set("*?[") or policy.expand(str(folder)) != ()):
            return False  # copied into what is there: through its links
        for source in sources:
            name = Path(source.guess).name
            if name in ("", "..") or source.guess.endswith(("/.", "/")):
                return False
            written = folder / name
            if not _lies_inside(written, policy):
                return False
            if is_protected(written, policy.resolve(written)):
                return False
    return True


@cache
def _data() -> tuple[Mapping[str, _Form], frozenset[str]]:
    source = files("maia_kernel.permissions") / "edit_commands.toml"
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    forms = {
        name: _Form(
            Flags.of(row["flags"]),
            row.get("target", False),
            *(tuple(row.get(key, ())) for key in ("moves_links", "needs", "script")),
        )
        for name, row in data["commands"].items()
    }
    return forms, frozenset(data["beside"]["commands"])
