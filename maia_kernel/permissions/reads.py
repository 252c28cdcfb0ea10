"""Path rules at work: which rule speaks of a path that is read or written."""

import os
from collections.abc import Iterator
from pathlib import Path

from maia_kernel.permissions.patterns import Anchored, anchored, matches_path
from maia_kernel.permissions.policy import Policy
from maia_kernel.permissions.rules import PATH_TOOLS, Behavior, Rule


def rule_matches(rule: Rule, path: Path, resolved: Path, policy: Policy) -> bool:
    """True when the rule's path pattern matches: for allow both forms of the path, else either."""
    if rule.specifier is None:
        return True
    wide = rule.behavior != "allow"
    pattern = anchored(
        rule.specifier,
        wide=wide,
        source=rule.source.folder,
        cwd=policy.cwd,
        home=policy.home,
    )
    anchors = tuple(dict.fromkeys((pattern.folder, policy.resolve(pattern.folder))))
    hits = (matches_path(pattern, path, anchors), matches_path(pattern, resolved, anchors))
    return any(hits) if wide else all(hits)


def path_rules(policy: Policy, behavior: str, tools: tuple[str, ...]) -> Iterator[Rule]:
    """The path rules of one behaviour for these tool names."""
    for rule in policy.rules:
        if rule.behavior == behavior and rule.tool in tools:
            yield rule


def read_guarded(path: Path, policy: Policy) -> bool:
    """True when a deny or ask rule for reading speaks of `path`."""
    folded = Path(os.path.normpath(path))
    resolved = policy.resolve(path)
    return any(
        rule_matches(rule, folded, resolved, policy)
        for behavior in ("deny", "ask")
        for rule in path_rules(policy, behavior, ("Read",))
    )


def reads_are_ruled(policy: Policy) -> bool:
    """True when any deny or ask rule for reading exists."""
    return any(
        True for behavior in ("deny", "ask") for _ in path_rules(policy, behavior, ("Read",))
    )


def guarded_patterns(policy: Policy, behavior: Behavior) -> tuple[Anchored, ...]:
    """What Read rules of one behaviour, deny or ask, keep from a search of everything."""
    found: list[Anchored] = []
    for rule in path_rules(policy, behavior, ("Read",)):
        if rule.specifier is not None:
            folder = rule.source.folder
            pattern = anchored(
                rule.specifier, wide=True, source=folder, cwd=policy.cwd, home=policy.home
            )
            found.append(pattern)
        elif behavior == "deny":
            return (Anchored(Path("/"), "/**"),)
    return tuple(dict.fromkeys(found))


def is_path_rule(rule: Rule) -> bool:
    """True when the rule's specifier is a path pattern."""
    return rule.tool in PATH_TOOLS
