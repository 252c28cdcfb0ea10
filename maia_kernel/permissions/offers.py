"""The narrow rules that "Always allow" would write for a call that is asked."""

import re
from pathlib import Path

from maia_kernel.permissions import bash
from maia_kernel.permissions.behind import through
from maia_kernel.permissions.commands import lists
from maia_kernel.permissions.patterns import escaped
from maia_kernel.permissions.policy import Policy
from maia_kernel.permissions.rules import Rule, RuleError, RuleSource, parse_rule
from maia_kernel.permissions.script import Command
from maia_kernel.permissions.subject import PathAccess, Subject

_SUB_COMMAND = re.compile(r"[a-z][a-z0-9:_-]*")
_LENGTH_LIMIT = 400
_MOST_RULES = 5
"""Rules offered for one command; a person does not read more of them."""


def offers_for(subject: Subject, policy: Policy, shell: bash.Judgement | None) -> tuple[Rule, ...]:
    """Rules that together may cover the call; the caller checks that they do."""
    source = RuleSource("local", None, policy.cwd)
    try:
        return tuple(
            parse_rule(written, "allow", source) for written in _written(subject, policy, shell)
        )
    except RuleError:
        return ()


def _written(subject: Subject, policy: Policy, shell: bash.Judgement | None) -> tuple[str, ...]:
    if shell is not None:
        return tuple(f"{subject.tool}({pattern})" for pattern in _for_command(shell, policy))
    if not subject.paths:
        outward = subject.outward and subject.text
        return (f"{subject.tool}({subject.text})" if outward else subject.tool,)
    needing = [
        access for access in subject.paths if access.write or not policy.inside(access.resolved)
    ] or list(subject.paths)
    tool = "Edit" if needing[0].write else "Read"
    patterns = {_for_path(access, subject, policy) for access in needing}
    return (f"{tool}({patterns.pop()})",) if len(patterns) == 1 else ()


def _for_command(shell: bash.Judgement, policy: Policy) -> tuple[str, ...]:
    """A pattern for each simple command that needs one; none if it would take too many."""
    rules = tuple(r for r in policy.rules if r.behavior == "allow" and r.tool == "Bash")
    missing = bash.uncovered(shell, rules, policy) or ()
    patterns = [_prefix(command) or _exact(command) for command in map(_innermost, missing)]
    known = tuple(dict.fromkeys(pattern for pattern in patterns if pattern is not None))
    return known if None not in patterns and len(known) <= _MOST_RULES else ()


def _innermost(command: Command) -> Command:
    inner = through(command)
    return command if inner is None else _innermost(inner)


def _prefix(command: Command) -> str | None:
    """`git push:*`: a program with sub-commands and the one that is used."""
    known = lists()
    words = [word.guess for word in command.words if word.plain]
    if len(words) < 2 or not all(word.plain for word in command.words[:2]):
        return None
    name, action = words[0], words[1]
    if name not in known.multi or not _SUB_COMMAND.fullmatch(action):
        return None
    if action in known.scripts.get(name, ()):
        third = command.words[2] if len(command.words) > 2 else None
        if third is None or not third.plain or third.guess.startswith("-"):
            return None
        return f"{name} {action} {third.guess}:*"
    return None if action in known.running else f"{name} {action}:*"


def _exact(command: Command) -> str | None:
    raw = command.raw
    if "\n" in raw or r"\*" in raw or len(raw) > _LENGTH_LIMIT:
        return None
    return raw.replace("*", r"\*")


def _for_path(access: PathAccess, subject: Subject, policy: Policy) -> str:
    searched = not access.write and subject.tool != "Read"
    # A link that leads out is in the way of no rule; where it leads to is.
    leads_out = (
        not access.write and policy.holds(access.path) and not policy.inside(access.resolved)
    )
    path = access.resolved if leads_out else access.path
    folder = path if searched else path.parent
    if path.is_relative_to(policy.cwd):
        if folder in (policy.cwd, policy.cwd.parent):
            return f"./{escaped(path.name)}" if folder == policy.cwd else "./**"
        return f"{_pattern(folder.relative_to(policy.cwd))}/**"
    if folder in (Path("/"), policy.home, policy.home.parent) and not searched:
        return f"/{_pattern(path)}"
    return f"/{_pattern(folder)}/**"


def _pattern(path: Path) -> str:
    return "/".join(escaped(part) if part != "/" else "" for part in path.parts)
