"""Path rules at work: which rule speaks of a path that is read or written."""

import os
from collections.abc import Iterator
from pathlib import Path

from maia_kernel.permissions.patterns import anchored, below, matches_path
from maia_kernel.permissions.policy import Policy
from maia_kernel.permissions.rules import PATH_TOOLS, Rule


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


def read_denied_globs(policy: Policy) -> tuple[str, ...]:
    """Gitignore globs, relative to the working folder, of what Read denies keep from every reader.

    A search leaves them out (`rg --glob '!GLOB'`).
    """
    globs: list[str] = []
    for rule in path_rules(policy, "deny", ("Read",)):
        if rule.specifier is None:
            return ("**",)
        pattern = anchored(
            rule.specifier,
            wide=True,
            source=rule.source.folder,
            cwd=policy.cwd,
            home=policy.home,
        )
        inner = below(pattern, policy.cwd)
        if inner is not None:
            globs.append(inner)
    return tuple(dict.fromkeys(globs))


def is_path_rule(rule: Rule) -> bool:
    """True when the rule's specifier is a path pattern."""
    return rule.tool in PATH_TOOLS
