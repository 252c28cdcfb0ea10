"""May a tool call run? Rules, the shell judge and the decision; pure, no I/O of its own.

The judge is loaded with the first decision: reading settings needs only the rules.
"""

from typing import TYPE_CHECKING, Any

from maia_kernel.permissions.policy import MODES, Decision, Mode, Policy
from maia_kernel.permissions.reads import guarded_patterns
from maia_kernel.permissions.rules import (
    Behavior,
    Rule,
    RuleError,
    RuleSource,
    is_known,
    parse_rule,
    remark,
    removed_tools,
    whole_tool,
)
from maia_kernel.permissions.subject import PathAccess, Subject

if TYPE_CHECKING:
    from maia_kernel.permissions.decision import decide, read_only_command, would_allow

__all__ = [
    "MODES",
    "Behavior",
    "Decision",
    "Mode",
    "PathAccess",
    "Policy",
    "Rule",
    "RuleError",
    "RuleSource",
    "Subject",
    "decide",
    "guarded_patterns",
    "is_known",
    "parse_rule",
    "read_only_command",
    "remark",
    "removed_tools",
    "whole_tool",
    "would_allow",
]


def __getattr__(name: str) -> Any:
    if name in ("decide", "read_only_command", "would_allow"):
        # The judge and its lists: a third of what reading the settings would otherwise import.
        from maia_kernel.permissions import decision

        return getattr(decision, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
