"""Allow rules that are too broad for the mode auto."""

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from maia_kernel.permissions.commands import lists
from maia_kernel.permissions.rules import Rule, is_exact


def is_broad(rule: Rule) -> bool:
    """True for an allow rule that lets run what nobody has looked at: `Bash`, `Bash(python:*)`."""
    tools, prefixes = _data()
    if rule.specifier is None or rule.tool == "Mcp":
        return rule.tool in tools
    if rule.tool != "Bash" or is_exact(rule.specifier):
        return False
    words = rule.specifier.replace(":*", " *").split()
    fixed = words[: next(at for at, word in enumerate(words) if "*" in word)]
    if not fixed or fixed[0] in lists().wrappers or "=" in fixed[0]:
        return True
    name = PurePosixPath(fixed[0]).name
    interprets = {name, name.rstrip("0123456789.")} & lists().interpreters
    if interprets and all(word.startswith("-") for word in fixed[1:]):
        return True
    return " ".join([name, *fixed[1:]]) in prefixes


@cache
def _data() -> tuple[frozenset[str], frozenset[str]]:
    source = files("maia_kernel.permissions") / "auto.toml"
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    return frozenset(data["tools"]), frozenset(data["prefixes"])
