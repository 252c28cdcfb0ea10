"""Denied Read paths as places on the disk: mounts and Landlock rules know no patterns."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from maia_kernel import paths
from maia_kernel.errors import SandboxError
from maia_kernel.paths import shown
from maia_kernel.permissions import Policy, Rule
from maia_kernel.permissions.patterns import anchored
from maia_kernel.permissions.reads import path_rules, rule_matches
from maia_kernel.texts import text

_ENTRIES = 200_000  # looked at for one pattern
_LEVELS = 64
_GLOB = frozenset("*?[\\")


def denied_places(policy: Policy) -> Iterator[Path]:
    """Every existing file and folder, resolved, that a deny rule for Read speaks of.

    A pattern that starts above the working folders and would take too long hides all it could mean.

    Raises:
        SandboxError: it would hide a working folder.
    """
    for rule in path_rules(policy, "deny", ("Read",)):
        if rule.specifier is not None:
            yield from _places(rule, policy)


def walk(
    base: Path, enters: Callable[["os.DirEntry[str]"], bool], limit: int, depth: int
) -> Iterator["os.DirEntry[str]"]:
    """At most `limit` entries below `base`, breadth first; links are entries and are not followed."""
    waiting = deque([(str(base), 1)])
    seen = 0
    while waiting:
        folder, level = waiting.popleft()
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError:  # gone meanwhile, or not ours to look into: nor is it the command's
            continue
        for entry in entries:
            seen += 1
            if seen > limit:
                return
            yield entry
            if level < depth and entry.is_dir(follow_symlinks=False) and enters(entry):
                waiting.append((entry.path, level + 1))


def _places(rule: Rule, policy: Policy) -> Iterator[Path]:
    base, rest = _start(rule, policy)
    if not rest or rest.strip("/") == "**":
        if os.path.lexists(base):
            yield policy.resolve(base)
        return

    def matches(entry: "os.DirEntry[str]") -> bool:
        path = Path(entry.path)
        return rule_matches(rule, path, path, policy)

    looked_at = 0
    for entry in walk(base, lambda entry: not matches(entry), _ENTRIES, _LEVELS):
        looked_at += 1
        if matches(entry):
            yield policy.resolve(Path(entry.path))
    if looked_at >= _ENTRIES:
        if any(paths.resolve(folder) == policy.resolve(base) for folder in policy.folders):
            fault = text("sandbox.too_many_files", rule=rule.text, folder=shown(base))
            raise SandboxError(fault)
        yield policy.resolve(base)


def _start(rule: Rule, policy: Policy) -> tuple[Path, str]:
    """The folder below which the pattern matches, and what is left of the pattern."""
    assert rule.specifier is not None
    pattern = anchored(
        rule.specifier, wide=True, source=rule.source.folder, cwd=policy.cwd, home=policy.home
    )
    if "/" not in pattern.glob.rstrip("/"):
        return pattern.folder, pattern.glob  # at any depth
    parts = pattern.glob.strip("/").split("/")
    base = pattern.folder
    while parts and not set(parts[0]) & _GLOB:
        base /= parts.pop(0)
    return base, "/".join(parts)
