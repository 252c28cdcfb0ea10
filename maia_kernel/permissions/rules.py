"""Permission rules: `Tool`, `Tool(specifier)`; what a tool name and a command pattern match.

The grammar is the one of the public settings format that people already write rules in.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from maia_kernel.permissions.domains import domain_fault
from maia_kernel.permissions.parameters import Parameter, is_content, read_parameter
from maia_kernel.permissions.patterns import pattern_fault
from maia_kernel.texts import text

Behavior = Literal["allow", "ask", "deny"]
SourceKind = Literal["managed", "user", "project", "local", "session", "flag"]

PATH_TOOLS = frozenset(
    {"Read", "Edit", "Write", "Glob", "Grep", "NotebookEdit", "NotebookRead", "MultiEdit"}
)
KNOWN_TOOLS = (
    (PATH_TOOLS - {"MultiEdit"})
    | {"Bash", "Python", "Inspect", "TodoWrite", "WebFetch", "WebSearch"}
    | {"CurrentModel", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "EnterWorktree"}
    | {"ExitWorktree", "ToolSearch", "LSP", "Skill", "Agent", "SendMessage", "Mcp"}
    | {"TaskOutput", "TaskStop", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}
    | {"TeamCreate", "TeamDelete", "PowerShell", "Monitor", "ListMcpResources", "ReadMcpResource"}
)
ALIASES = {
    "Task": "Agent",
    "KillBash": "TaskStop",
    "KillShell": "TaskStop",
    "BashOutput": "TaskOutput",
    "BashOutputTool": "TaskOutput",
    "AgentOutput": "TaskOutput",
    "AgentOutputTool": "TaskOutput",
    "ListMcpResourcesTool": "ListMcpResources",
    "ReadMcpResourceTool": "ReadMcpResource",
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
    """One rule; `specifier` is None where it speaks of the whole tool.

    `parameter` is set where the specifier speaks of a field of the input.
    """

    behavior: Behavior
    tool: str
    specifier: str | None
    source: RuleSource
    parameter: Parameter | None = None

    @property
    def whole(self) -> bool:
        """True when it speaks of every call of the tools that it names; `Mcp(x)` names its server."""
        return self.specifier is None or self.tool == "Mcp"

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
    tool = _today(name, behavior)
    if not bracket or rest.removesuffix(")").strip() == "*":
        if bracket and not rest.endswith(")"):
            raise RuleError(text("permissions.rule.no_bracket"))
        if behavior == "allow" and tool == "Mcp":
            raise RuleError(text("permissions.rule.allow_glob"))
        return Rule(behavior, tool, None, source)
    if not rest.endswith(")"):
        raise RuleError(text("permissions.rule.no_bracket"))
    specifier = rest[:-1].strip()
    _check_specifier(tool, specifier, behavior)
    return Rule(behavior, tool, specifier, source, read_parameter(tool, specifier))


def whole_tool(written: str, source: RuleSource) -> Rule | None:
    """The deny that a malformed deny is taken for: its whole tool; None where it names none."""
    name = re.match(r"\s*([A-Za-z_][\w.\-]*)", written)
    return Rule("deny", _today(name[1], "deny"), None, source) if name else None


def is_known(rule: Rule) -> bool:
    """True when the rule names a tool that MAIA has or may get from elsewhere (MCP, globs)."""
    return rule.tool in KNOWN_TOOLS | {"MultiEdit"} or "*" in rule.tool or "_" in rule.tool


def remark(written: str, rule: Rule) -> str | None:
    """A line on a rule that is well formed and yet not what its writer may think; None for others."""
    if written.strip().startswith("MultiEdit"):
        return text("permissions.rule.multi_edit")
    if rule.parameter is not None or rule.specifier is None:
        return None
    if rule.tool in ("Glob", "Grep", "NotebookRead", "NotebookEdit"):
        better = "Edit" if rule.tool == "NotebookEdit" else "Read"
        kind = "never_allows" if rule.behavior == "allow" else "one_tool"
        return text(f"permissions.rule.{kind}", tool=rule.tool, better=better)
    return None


def removed_tools(rules: tuple[Rule, ...], names: Iterable[str]) -> frozenset[str]:
    """Which of the tools called `names` bare denies take out of the model's list."""
    bare = [rule for rule in rules if rule.behavior == "deny" and rule.whole]
    return frozenset(name for name in names if any(names_tool(rule, name) for rule in bare))


def names_tool(rule: Rule, tool: str) -> bool:
    """True when the rule's tool part names `tool`: exactly, by glob, or as its MCP server."""
    if rule.tool == "Mcp":
        return _is_of_server(tool, rule)
    if rule.tool.startswith("mcp__") and tool.startswith(f"{rule.tool}__"):
        return True
    if "*" not in rule.tool:
        return rule.tool == tool
    # A glob that denies old names means the tools of today.
    names = (tool, *(old for old, new in ALIASES.items() if new == tool))
    return any(_glob(rule.tool).fullmatch(name) is not None for name in names)


def _is_of_server(tool: str, rule: Rule) -> bool:
    if rule.specifier is None:
        return tool.startswith("mcp__")
    server = re.sub(r"[^A-Za-z0-9_*-]", "_", rule.specifier)
    return _glob(f"mcp__{server}__*").fullmatch(tool) is not None


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


def _today(name: str, behavior: Behavior) -> str:
    """The tool that `name` means today. What MultiEdit was allowed, Edit is not."""
    if name == "MultiEdit" and behavior != "allow":
        return "Edit"
    return ALIASES.get(name, name)


def _check_specifier(tool: str, specifier: str, behavior: Behavior) -> None:
    if not specifier:
        raise RuleError(text("permissions.rule.empty"))
    if any(ord(char) < 32 and char not in "\n\t" for char in specifier):
        raise RuleError(text("permissions.rule.control"))
    if is_content(tool, specifier):
        raise RuleError(text("permissions.rule.content", field=specifier.partition(":")[0].strip()))
    if read_parameter(tool, specifier) is not None:
        if behavior == "allow":
            raise RuleError(text("permissions.rule.allow_parameter"))
        return
    fault = _own_fault(tool, specifier, behavior)
    if fault:
        raise RuleError(fault)


def _own_fault(tool: str, specifier: str, behavior: Behavior) -> str | None:
    """What is wrong with a specifier of the tool's own kind, in one line; None when nothing is."""
    if tool == "Bash" and specifier in (":*", "*:*"):
        return text("permissions.rule.no_prefix")
    if tool in PATH_TOOLS:
        return pattern_fault(specifier)
    if tool == "WebFetch":
        return domain_fault(specifier)
    if tool == "Mcp":
        starred = behavior == "allow" and "*" in specifier
        return text("permissions.rule.allow_glob") if starred else None
    if tool.startswith("mcp__"):
        return text("permissions.rule.mcp_specifier")
    return None
