"""What the start itself said into the heap."""

import re
from pathlib import Path

from maia_kernel.errors import UsageError
from maia_kernel.paths import shown
from maia_kernel.permissions import Behavior, RuleSource
from maia_kernel.settings.collect import FLAG, Collected
from maia_kernel.settings.rule_lists import read_rule
from maia_kernel.settings.values import Flags
from maia_kernel.texts import text

# Rules are separated by commas or blanks, but not inside brackets: `Bash(git log *), Edit`.
_RULE = re.compile(r"[^\s,(]+(?:\([^)]*\)?\)*)?")


def read_flags(flags: Flags, into: Collected) -> None:
    """Take the flags; a folder that is not there and a rule that says nothing are warned of.

    Raises:
        UsageError: a rule to deny from which not even a tool can be made out.
    """
    for name, value, origin in (
        ("model", flags.model, "--model"),
        ("max_turns", flags.max_turns, "--max-turns"),
        ("budget_tokens", flags.budget_tokens, "--budget"),
        ("budget_usd", flags.budget_usd, "--budget"),
    ):
        if value is not None:
            into.put(name, value, rank=FLAG, origin=origin)
    if flags.mode is not None:
        _read_mode(flags, into)
    _read_folders(flags.add_dirs, into)
    _read_rules("allow", flags.allowed_tools, "--allowed-tools", into)
    _read_rules("deny", flags.disallowed_tools, "--disallowed-tools", into)


def _read_mode(flags: Flags, into: Collected) -> None:
    if flags.mode == "bypassPermissions" and into.no_bypass:
        into.warn(text("settings.bypass_forbidden"))
        return
    into.put("mode", flags.mode, rank=FLAG, origin="--mode")


def _read_folders(folders: tuple[Path, ...], into: Collected) -> None:
    for folder in folders:
        if not folder.is_dir():
            into.warn(text("settings.no_folder", option="--add-dir", folder=shown(folder)))
        into.additional.append(folder)


def _read_rules(behavior: Behavior, entries: tuple[str, ...], option: str, into: Collected) -> None:
    source = RuleSource("flag", None, into.cwd)
    for entry in entries:
        for written in _RULE.findall(entry):
            rule = read_rule(written, behavior, source, option, into.warn)
            if rule is not None:
                into.rules.append(rule)
            elif behavior == "deny":
                # Going on without it would do what the person forbade.
                raise UsageError(text("settings.bad_flag", option=option, rule=written))
