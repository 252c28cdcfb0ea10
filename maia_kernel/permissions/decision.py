"""The decision: deny rules, ask rules, the always-asked lists, the mode, allow rules, defaults."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from maia_kernel import paths
from maia_kernel.permissions import bash
from maia_kernel.permissions.broad import is_broad
from maia_kernel.permissions.edits import edits_inside
from maia_kernel.permissions.key_files import is_key_file
from maia_kernel.permissions.offers import offers_for
from maia_kernel.permissions.policy import Decision, Policy
from maia_kernel.permissions.protected import is_critical, is_protected
from maia_kernel.permissions.reached import calls_within, explained
from maia_kernel.permissions.reads import rule_matches
from maia_kernel.permissions.rules import PATH_TOOLS, Behavior, Rule, names_tool
from maia_kernel.permissions.specifiers import matches_own, matches_parameter
from maia_kernel.permissions.subject import PathAccess, Subject
from maia_kernel.texts import text

_OPENERS = ("Read", "Grep", "NotebookRead")
_WRITERS = ("Edit", "Write", "NotebookEdit", "MultiEdit")


def decide(subject: Subject, policy: Policy, hook: Decision | None = None) -> Decision:
    """May this call run? The reason says which rule, list, hook, mode or default decided.

    `hook` is what hooks said of it. Their allow skips neither a deny nor an ask rule nor the two lists;
    their deny holds whatever would only ask.
    """
    shell = None if subject.command is None else bash.judge(subject, policy)
    within = tuple(_judged(inner, policy) for inner in calls_within(subject, policy))
    calls = ((subject, shell), *within)
    decision = _first(_by_rule("deny", *call, policy) for call in calls)
    if decision is None and hook is not None and hook.behavior == "deny":
        decision = hook
    if decision is None:
        decision = _first(_by_rule("ask", *call, policy) for call in calls)
        decision = decision or _first(_always_asked(*call, policy) for call in calls)
        decision = decision or _unruled(subject, policy, shell, hook)
    if policy.mode == "dontAsk" and decision.behavior == "ask":
        reason = text("permissions.reason.dont_ask", reason=decision.reason)
        return replace(decision, behavior="deny", reason=reason)
    return decision


def _judged(subject: Subject, policy: Policy) -> tuple[Subject, bash.Judgement | None]:
    return subject, None if subject.command is None else bash.judge(subject, policy)


def _first(decisions: Iterable[Decision | None]) -> Decision | None:
    return next((decision for decision in decisions if decision is not None), None)


def _unruled(
    subject: Subject, policy: Policy, shell: bash.Judgement | None, hook: Decision | None
) -> Decision:
    # Nobody but the person lets a command out of the sandbox.
    if hook is not None and not (hook.behavior == "allow" and subject.sandbox == "leaves"):
        return hook
    read_only = subject.read_only if shell is None else shell.read_only
    if policy.mode == "plan" and not read_only:
        return Decision("deny", text("permissions.reason.plan"), by="mode")
    if subject.sandbox == "leaves":
        return Decision("ask", text("permissions.reason.leaves_sandbox"), by="sandbox")
    allowed = _by_allow_rule(subject, policy, shell)
    if allowed is not None:
        return allowed
    if subject.sandbox == "inside" and _is_understood(shell) and _key_file(subject, shell) is None:
        return Decision("allow", text("permissions.reason.sandbox"), by="sandbox")
    return _by_default(subject, policy, shell, read_only=read_only)


def _by_default(
    subject: Subject, policy: Policy, shell: bash.Judgement | None, *, read_only: bool
) -> Decision:
    if policy.mode == "bypassPermissions":
        return Decision("allow", text("permissions.reason.bypass"), by="mode")
    inside = all(policy.inside(access.resolved) for access in subject.paths)
    ruled = policy.ask_reads and (subject.paths or shell is not None)
    free = inside and _key_file(subject, shell) is None
    if read_only and free and not ruled and not subject.outward:
        return Decision("allow", text("permissions.reason.read_only"), by="read_only")
    if policy.mode == "acceptEdits" and free and _is_edit(subject, policy, shell):
        return Decision("allow", text("permissions.reason.accept_edits"), by="mode")
    reason = _why_asked(subject, policy, shell, read_only=read_only, inside=inside)
    offers = offers_for(subject, policy, shell)
    if not _would_allow(offers, subject, policy, shell):
        offers = ()
    return Decision("ask", reason, offers=tuple(offer.text for offer in offers))


def _by_rule(
    behavior: Behavior, subject: Subject, shell: bash.Judgement | None, policy: Policy
) -> Decision | None:
    for rule in policy.rules:
        if rule.behavior == behavior and _speaks_of(rule, subject, policy, shell):
            reason = text(
                f"permissions.reason.{behavior}_rule", rule=rule.text, file=source_of(rule, policy)
            )
            return Decision(behavior, reason, rule, by="rule")
    return None


def _speaks_of(rule: Rule, subject: Subject, policy: Policy, shell: bash.Judgement | None) -> bool:
    """True when a deny or ask rule matches any part of the call."""
    if rule.parameter is not None:
        return names_tool(rule, subject.tool) and matches_parameter(rule, subject)
    if names_tool(rule, subject.tool):
        if rule.whole:
            return True
        if shell is not None and bash.is_matched(rule.specifier or "", shell):
            return True
        if not subject.paths and shell is None and rule.tool not in PATH_TOOLS:
            return matches_own(rule, subject)
    if rule.tool not in PATH_TOOLS:
        return False
    accesses = subject.paths if shell is None else shell.accesses
    return any(_reaches(rule, subject, access, policy) for access in accesses)


def _reaches(rule: Rule, subject: Subject, access: PathAccess, policy: Policy) -> bool:
    """True when a path rule of deny or ask speaks of this access."""
    if rule.tool == "Read":
        # What a person keeps from being read is kept from being replaced as well.
        counts = not access.write or rule.behavior == "deny"
        # A bare rule is about the tool, and about readers like it, not about every command.
        counts = counts and (rule.specifier is not None or not _runs(subject))
        counts = counts and (rule.specifier is not None or not access.write)
    elif rule.tool == "Edit":
        counts = access.write
    else:
        counts = rule.tool == subject.tool
    return counts and rule_matches(rule, access.path, access.resolved, policy)


def _runs(subject: Subject) -> bool:
    return subject.command is not None or subject.code is not None


def _always_asked(
    subject: Subject, shell: bash.Judgement | None, policy: Policy
) -> Decision | None:
    accesses = subject.paths if shell is None else shell.accesses
    for access in accesses:
        if access.write and is_protected(access.path, access.resolved):
            path = paths.shown(access.path, policy.cwd)
            return Decision("ask", text("permissions.reason.protected", path=path), by="list")
        if access.removes and is_critical(access.path, policy):
            target = paths.shown(access.path, policy.cwd)
            reason = text("permissions.reason.removal", target=target)
            return Decision("ask", reason, by="list")
    if shell is not None and shell.removal is not None:
        reason = text("permissions.reason.removal", target=shell.removal)
        return Decision("ask", reason, by="list")
    return None


def _by_allow_rule(
    subject: Subject, policy: Policy, shell: bash.Judgement | None
) -> Decision | None:
    rules = tuple(rule for rule in policy.rules if rule.behavior == "allow")
    if policy.mode == "auto":
        rules = tuple(rule for rule in rules if not is_broad(rule))
    rule = _allowing(rules, subject, policy, shell)
    if rule is None:
        return None
    reason = text("permissions.reason.allow_rule", rule=rule.text, file=source_of(rule, policy))
    return Decision("allow", reason, rule, by="rule")


def _allowing(
    rules: tuple[Rule, ...], subject: Subject, policy: Policy, shell: bash.Judgement | None
) -> Rule | None:
    """The first rule of those that together allow the whole call."""
    if shell is not None:
        named = tuple(rule for rule in rules if names_tool(rule, subject.tool))
        return bash.covering_rule(named, shell, policy)
    for rule in rules:
        if names_tool(rule, subject.tool) and (
            rule.whole or (not subject.paths and matches_own(rule, subject))
        ):
            return rule
    covering = [_covering(rules, subject, access, policy) for access in subject.paths]
    found = [rule for rule in covering if rule is not None]
    return found[0] if found and len(found) == len(covering) else None


def _covering(
    rules: tuple[Rule, ...], subject: Subject, access: PathAccess, policy: Policy
) -> Rule | None:
    """The rule that allows one access; a place where reading needs no rule is covered by any."""
    # A link in the folders may be read without a rule; what it leads to may need one.
    known = not access.write and not policy.ask_reads and policy.holds(access.path)
    path = access.resolved if known else access.path
    for rule in rules:
        if access.write:
            counts = rule.tool == "Edit" or (rule.tool == "Write" and subject.tool == "Write")
        else:
            counts = rule.tool in ("Read", "Edit") and subject.read_only
        if counts and rule_matches(rule, path, access.resolved, policy):
            return rule
    return None


def would_allow(rules: tuple[Rule, ...], subject: Subject, policy: Policy) -> bool:
    """True when allow `rules`, added to those in force, let the call run."""
    shell = None if subject.command is None else bash.judge(subject, policy)
    return _would_allow(rules, subject, policy, shell)


def _would_allow(
    added: tuple[Rule, ...], subject: Subject, policy: Policy, shell: bash.Judgement | None
) -> bool:
    rules = (*(rule for rule in policy.rules if rule.behavior == "allow"), *added)
    return bool(added) and _allowing(rules, subject, policy, shell) is not None


def _key_file(subject: Subject, shell: bash.Judgement | None) -> PathAccess | None:
    """A file for keys that the call reads. Its name is enough for a search, which opens none."""
    if shell is None and subject.tool not in _OPENERS:
        return None
    accesses = subject.paths if shell is None else shell.accesses
    return next((a for a in accesses if not a.write and is_key_file(a.path, a.resolved)), None)


def _is_understood(shell: bash.Judgement | None) -> bool:
    """True unless the rules that deny and ask could not be tried on every part of a command."""
    return shell is None or (shell.script.parses and "control" not in shell.script.doubts)


def _is_edit(subject: Subject, policy: Policy, shell: bash.Judgement | None) -> bool:
    if shell is not None:
        return edits_inside(shell.script, policy)
    return (
        subject.tool in _WRITERS
        and bool(subject.paths)
        and all(access.write for access in subject.paths)
    )


def _why_asked(
    subject: Subject,
    policy: Policy,
    shell: bash.Judgement | None,
    *,
    read_only: bool,
    inside: bool,
) -> str:
    key_file = _key_file(subject, shell)
    if key_file is not None:
        return text("permissions.reason.key_file", path=paths.shown(key_file.path, policy.cwd))
    if shell is not None:
        return shell.reason
    if not inside:
        outside = next(a for a in subject.paths if not policy.inside(a.resolved))
        path, target = (paths.shown(p, policy.cwd) for p in (outside.path, outside.resolved))
        if policy.holds(outside.path):
            return text("permissions.reason.outside_link", path=path, target=target)
        return text("permissions.reason.outside", path=path)
    if subject.outward:
        return text("permissions.reason.outward", tool=subject.tool)
    if read_only:
        return text("permissions.reason.ask_reads")
    reason = text("permissions.reason.default", tool=subject.tool)
    return reason if subject.code is None else f"{reason} {explained(subject.code)}".strip()


def source_of(rule: Rule, policy: Policy) -> str:
    """Where a rule comes from, for the person."""
    if rule.source.file is None:
        return text(f"permissions.source.{rule.source.kind}")
    return paths.shown(rule.source.file, policy.cwd)


def read_only_command(command: str, policy: Policy, *, folder: Path | None = None) -> bool:
    """True when a shell command started in `folder` (the working folder if None) changes nothing."""
    subject = Subject("Bash", read_only=False, command=command, folder=folder)
    return bash.judge(subject, policy).read_only
