"""What a shell command is to the rules: its parts, what it reaches, whether it is read-only."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from maia_kernel.permissions.behind import program
from maia_kernel.permissions.commands import lists
from maia_kernel.permissions.judge import (
    is_covered,
    is_harmless,
    is_let,
    is_read_only,
    reads_only,
    shows_no_content,
)
from maia_kernel.permissions.policy import Policy
from maia_kernel.permissions.protected import critical_removal
from maia_kernel.permissions.reach import command_guesses, guesses
from maia_kernel.permissions.rules import Rule, matches_command
from maia_kernel.permissions.script import Command, Script
from maia_kernel.permissions.shell import read_script
from maia_kernel.permissions.subject import PathAccess, Subject
from maia_kernel.permissions.unfolded import Unfolded, unfold
from maia_kernel.permissions.words import spread
from maia_kernel.texts import text

_SEPARATORS = re.compile(r"&&|\|\||[;&|\n(){}`]|\$\(")
_REMOVES = re.compile(r"\b(?:rm|rmdir|clean|delete)\b")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A shell command, judged once for all rules.

    `unfolded` is all that it is seen to run, `forms` are the texts that deny and ask patterns are tried on, `accesses` the files that it may
    read or write, `removal` a critical target, `reason` why it is not run unasked.
    """

    script: Script
    unfolded: Unfolded
    forms: frozenset[str]
    accesses: tuple[PathAccess, ...]
    removal: str | None
    read_only: bool
    reason: str


def judge(subject: Subject, policy: Policy) -> Judgement:
    """Look at the command of `subject`; only `Policy.resolve` and `Policy.expand` touch the disk."""
    command = subject.command or ""
    script = read_script(command, subject.folder or policy.cwd, policy.home)
    unfolded = unfold(script, policy.home)
    read_only = is_read_only(script, policy)
    return Judgement(
        script=script,
        unfolded=unfolded,
        forms=frozenset(_forms(script, unfolded, policy)),
        accesses=tuple(dict.fromkeys(_accesses(unfolded, policy))),
        removal=_removal(script, unfolded, policy),
        read_only=read_only,
        reason=_reason(script, read_only=read_only),
    )


def is_matched(pattern: str, judgement: Judgement) -> bool:
    """True when a deny or ask pattern matches the command or any part of it."""
    return any(matches_command(pattern, form) for form in judgement.forms)


def covering_rule(rules: tuple[Rule, ...], judgement: Judgement, policy: Policy) -> Rule | None:
    """An allow rule, when the rules together cover the whole command.

    A bare `Bash` covers whatever is understood; rules with a pattern only what is in no doubt.
    """
    script = judgement.script
    if not script.parses or set(script.doubts) & {"control", "long"}:
        return None
    bare = next((rule for rule in rules if rule.specifier is None), None)
    if bare is not None:
        return bare
    if not rules or script.doubts or not _are_harmless(script, policy) or _feeds(judgement):
        return None
    if not all(is_covered(command, script, rules, policy) for command in script.commands):
        return None
    # Nothing but reading needs no rule, and then none is named.
    return next(
        (r for r in rules if any(is_let(command, (r,)) for command in script.commands)), None
    )


def uncovered(
    judgement: Judgement, rules: tuple[Rule, ...], policy: Policy
) -> tuple[Command, ...] | None:
    """The simple commands that no rule covers yet; None when no rule could help the whole."""
    script = judgement.script
    if script.doubts or not _are_harmless(script, policy) or _feeds(judgement):
        return None
    return tuple(
        command for command in script.commands if not is_covered(command, script, rules, policy)
    )


def _are_harmless(script: Script, policy: Policy) -> bool:
    return all(is_harmless(redirection, policy) for redirection in script.redirections)


def _feeds(judgement: Judgement) -> bool:
    """True when a here-document may reach an interpreter, where it is a program."""
    return judgement.script.heredocs and any(
        program(layer) in lists().interpreters for layer in judgement.unfolded.commands
    )


def _forms(script: Script, unfolded: Unfolded, policy: Policy) -> Iterator[str]:
    yield script.source.strip()
    for command in unfolded.commands:
        if not command.words:
            continue
        words = [guess for word in command.words for guess in spread(word)]
        rest = " ".join(words[1:])
        yield command.raw
        yield command.decoded.strip()
        for name in _names(words[0], command, policy):
            yield f"{name} {rest}".strip()
    if not script.parses:
        # Best effort where the grammar gives up: the text between separators.
        for piece in _SEPARATORS.split(script.source):
            yield " ".join(piece.split())


def _names(written: str, command: Command, policy: Policy) -> Iterator[str]:
    """The programs that a command word may be: without its folder, and what a glob finds."""
    yield PurePosixPath(written).name
    if set(written) & set("*?[") and not command.words[0].literal and "/" in written:
        for path in policy.expand(str(command.folders[0] / written)) or ():
            yield path.name


def _accesses(unfolded: Unfolded, policy: Policy) -> Iterator[PathAccess]:
    for redirection in unfolded.redirections:
        for path in guesses(redirection.target, redirection.folders, policy):
            yield _access(path, policy, write=redirection.write)
    for command in unfolded.commands:
        if not command.words or shows_no_content(command):
            continue
        write = not reads_only(command, None)
        for path in command_guesses(command, policy):
            yield _access(path, policy, write=False)
            if write:
                yield _access(path, policy, write=True)


def _access(path: Path, policy: Policy, *, write: bool) -> PathAccess:
    return PathAccess(Path(os.path.normpath(path)), policy.resolve(path), write)


def _removal(script: Script, unfolded: Unfolded, policy: Policy) -> str | None:
    if not script.parses and _REMOVES.search(script.source):
        return text("permissions.reason.unreadable_target")
    return critical_removal(unfolded.commands, policy)


def _reason(script: Script, *, read_only: bool) -> str:
    if read_only:
        return text("permissions.reason.ask_reads")
    if script.background:
        return text("permissions.reason.background")
    if script.doubts:
        return text(f"permissions.doubt.{script.doubts[0]}")
    if any(redirection.write for redirection in script.redirections):
        return text("permissions.reason.redirection")
    return text("permissions.reason.command")
