"""Permission rules: `Tool`, `Tool(specifier)`; what a tool name and a command pattern match.

The grammar is the one of the public settings format that people already write rules in.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from maia_kernel.permissions.patterns import pattern_fault
from maia_kernel.texts import text

Behavior = Literal["allow", "ask", "deny"]
SourceKind = Literal["managed", "user", "project", "local", "session", "flag"]

PATH_TOOLS = frozenset({"Read", "Edit", "Write", "Glob", "Grep", "NotebookEdit", "MultiEdit"})
KNOWN_TOOLS = (
    PATH_TOOLS
    | {"Bash", "Python", "Inspect", "NotebookRead", "TodoWrite", "WebFetch", "WebSearch"}
    | {"CurrentModel", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "EnterWorktree"}
    | {"ExitWorktree", "ToolSearch", "LSP", "Skill", "Agent", "SendMessage", "Mcp"}
    | {"TaskOutput", "TaskStop", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}
    | {"TeamCreate", "TeamDelete", "PowerShell", "Monitor", "ListMcpResources", "ReadMcpResource"}
)
ALIASES = {"Task": "Agent", "KillBash": "TaskStop", "KillShell": "TaskStop"} | {
    "BashOutput": "TaskOutput",
    "AgentOutput": "TaskOutput",
}

_NAME = re.compile(r"[A-Za-z_*][\w*.\-]*")
_ALLOW_GLOB = re.compile(r"mcp__[A-Za-z0-9.\-]+(?:_[A-Za-z0-9.\-]+)*__[\w*.\-]*")


class RuleError(ValueError):
    """A rule that is not well formed; `str(error)` says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class RuleSource:
    """Where a rule was written. `folder` is the anchor of its `/path` patterns."""

    kind: SourceKind
    file: Path | None
    folder: Path


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `specifier` is None where it speaks of the whole tool."""

    behavior: Behavior
    tool: str
    specifier: str | None
    source: RuleSource

    @property
    def text(self) -> str:
        """The rule as written: `Bash(git:*)`."""
        return self.tool if self.specifier is None else f"{self.tool}({self.specifier})"


def parse_rule(written: str, behavior: Behavior, source: RuleSource) -> Rule:
    """The rule that `written` says.

    Raises:
        RuleError: it is malformed; the message says how.
    """
    stripped = written.strip()
    name, bracket, rest = stripped.partition("(")
    if not _NAME.fullmatch(name):
        raise RuleError(text("permissions.rule.no_tool"))
    if behavior == "allow" and "*" in name and not _ALLOW_GLOB.fullmatch(name):
        raise RuleError(text("permissions.rule.allow_glob"))
    tool = ALIASES.get(name, name)
    if not bracket:
        return Rule(behavior, tool, None, source)
    if not rest.endswith(")"):
        raise RuleError(text("permissions.rule.no_bracket"))
    specifier = rest[:-1].strip()
    _check_specifier(tool, specifier)
    return Rule(behavior, tool, None if specifier == "*" else specifier, source)


def whole_tool(written: str, source: RuleSource) -> Rule | None:
    """The deny that a malformed deny is taken for: its whole tool; None where it names none."""
    name = re.match(r"\s*([A-Za-z_][\w.\-]*)", written)
    return Rule("deny", ALIASES.get(name[1], name[1]), None, source) if name else None


def is_known(rule: Rule) -> bool:
    """True when the rule names a tool that MAIA has or may get from elsewhere (MCP, globs)."""
    return rule.tool in KNOWN_TOOLS or "*" in rule.tool or "_" in rule.tool


def removed_tools(rules: tuple[Rule, ...]) -> frozenset[str]:
    """The tools that bare denies take out of the model's list; globs over the known names."""
    bare = [rule for rule in rules if rule.behavior == "deny" and rule.specifier is None]
    names = {rule.tool for rule in bare if "*" not in rule.tool}
    globs = [rule for rule in bare if "*" in rule.tool]
    return frozenset(
        names | {tool for tool in KNOWN_TOOLS if any(names_tool(rule, tool) for rule in globs)}
    )


def names_tool(rule: Rule, tool: str) -> bool:
    """True when the rule's tool part names `tool`: exactly, by glob, or as its MCP server."""
    if rule.tool.startswith("mcp__") and tool.startswith(f"{rule.tool}__"):
        return True
    return rule.tool == tool or ("*" in rule.tool and _glob(rule.tool).fullmatch(tool) is not None)


def matches_text(pattern: str, candidate: str) -> bool:
    """True when a specifier that is neither path nor command matches `candidate`."""
    return _glob(pattern).fullmatch(candidate) is not None


def matches_command(pattern: str, command: str) -> bool:
    r"""True when a Bash pattern matches `command`, one simple command.

    `*` spans anything; a final ` *` or `:*` stands at a word boundary, so that `ls:*` matches `ls`
    and `ls -l` but not `lsof`. `\*` is a literal star.
    """
    return _command_pattern(pattern).fullmatch(command) is not None


def is_exact(pattern: str) -> bool:
    """True when a Bash pattern can match one command only."""
    return "*" not in pattern.replace(r"\*", "")


@lru_cache(maxsize=1024)
def _command_pattern(pattern: str) -> re.Pattern[str]:
    for ending in (":*", " *"):
        if pattern.endswith(ending) and not pattern.endswith(rf"\{ending[-1]}"):
            return re.compile(_stars(pattern[: -len(ending)]) + r"(?:\s.*)?", re.DOTALL)
    return re.compile(_stars(pattern), re.DOTALL)


@lru_cache(maxsize=1024)
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(_stars(pattern), re.DOTALL)


def _stars(pattern: str) -> str:
    parts = re.split(r"(\\\*|\*)", pattern)
    return "".join({"*": ".*", r"\*": r"\*"}.get(part, re.escape(part)) for part in parts if part)


def _check_specifier(tool: str, specifier: str) -> None:
    if not specifier:
        raise RuleError(text("permissions.rule.empty"))
    if tool == "Bash" and specifier in (":*", "*:*"):
        raise RuleError(text("permissions.rule.no_prefix"))
    if any(ord(char) < 32 and char not in "\n\t" for char in specifier):
        raise RuleError(text("permissions.rule.control"))
    if tool in PATH_TOOLS and specifier != "*":
        fault = pattern_fault(specifier)
        if fault:
            raise RuleError(fault)
