"""The rule lists of one settings file: which rules count, and which wait for trust."""

import json
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from maia_kernel.paths import shown
from maia_kernel.permissions import (
    Behavior,
    Rule,
    RuleError,
    RuleSource,
    is_known,
    parse_rule,
    remark,
    whole_tool,
)
from maia_kernel.permissions.rules import KNOWN_TOOLS
from maia_kernel.settings.layers import Layer
from maia_kernel.settings.reading import Warn
from maia_kernel.texts import text

_BEHAVIORS: tuple[Behavior, ...] = ("deny", "ask", "allow")


def read_rule_lists(
    permissions: dict[str, Any], layer: Layer, *, counts: Callable[[Rule], bool], warn: Warn
) -> tuple[Rule, ...]:
    """The rules of `permissions` that count; `counts` is asked about each allow rule."""
    source = RuleSource(layer.kind, layer.path, layer.folder)
    rules: list[Rule] = []
    for behavior in _BEHAVIORS:
        for written in _list(permissions, behavior, layer, warn):
            rule = read_rule(written, behavior, source, shown(layer.path), warn)
            if rule is not None and (behavior != "allow" or counts(rule)):
                rules.append(rule)
    return tuple(rules)


def _list(permissions: dict[str, Any], behavior: str, layer: Layer, warn: Warn) -> list[str]:
    value = permissions.get(behavior, [])
    key, at = f"permissions.{behavior}", shown(layer.path)
    if isinstance(value, str) and behavior != "allow":
        # A deny written as one text is still a person's no.
        warn(text("settings.rule_text", file=at, setting=key, rule=value))
        value = [value]
    if not isinstance(value, list):
        expected = text("settings.kind.rules")
        warn(text("settings.bad_value", file=at, setting=key, expected=expected))
        return []
    for item in value:
        if not isinstance(item, str):
            cause = text("settings.rule_type")
            warn(text("settings.bad_rule", file=at, rule=json.dumps(item)[:80], cause=cause))
    return [item for item in value if isinstance(item, str)]


def read_rule(
    written: str, behavior: Behavior, source: RuleSource, at: str, warn: Warn
) -> Rule | None:
    """The rule that stands in `at`, a file or an option; what is wrong with it becomes a warning.

    A malformed deny denies its whole tool. None where there is no rule to speak of.
    """
    where = {"file": at, "rule": written}
    try:
        rule = parse_rule(written, behavior, source)
    except RuleError as error:
        broad = whole_tool(written, source) if behavior == "deny" else None
        if broad is None:
            warn(text("settings.bad_rule", cause=error, **where))
        else:
            warn(text("settings.bad_deny", cause=error, tool=broad.tool, **where))
        return broad
    if not is_known(rule):
        near = get_close_matches(rule.tool, KNOWN_TOOLS, n=1, cutoff=0.6) or [
            name for name in KNOWN_TOOLS if name.casefold() == rule.tool.casefold()
        ]
        if near:
            warn(text("settings.unknown_tool_near", tool=rule.tool, near=near[0], **where))
        else:
            warn(text("settings.unknown_tool", tool=rule.tool, **where))
    said = remark(written, rule)
    if said is not None:
        warn(text("settings.rule_remark", remark=said, **where))
    return rule
