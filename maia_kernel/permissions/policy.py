"""The values a decision is made from, and the decision."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from maia_kernel import paths
from maia_kernel.permissions.globbing import expand_glob
from maia_kernel.permissions.repository import Repository, find_repository
from maia_kernel.permissions.rules import Behavior, Rule

Mode = Literal["default", "acceptEdits", "plan", "dontAsk", "auto", "bubble", "bypassPermissions"]
By = Literal["rule", "list", "hook", "mode", "read_only", "sandbox", "default"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that decides besides the call itself.

    `additional` are further folders the person opened. `resolve` follows symlinks, also before a
    `..`; `expand` gives the files that a shell glob (an absolute pattern) names now, None when they
    are too many; `repository` is the git repository of a folder. They are here so that the judge
    itself touches no disk.
    """

    rules: tuple[Rule, ...]
    mode: Mode
    cwd: Path
    home: Path
    additional: tuple[Path, ...] = ()
    ask_reads: bool = False
    resolve: Callable[[Path], Path] = paths.resolve
    expand: Callable[[str], tuple[Path, ...] | None] = expand_glob
    repository: Callable[[Path], Repository | None] = find_repository

    @property
    def folders(self) -> tuple[Path, ...]:
        """The working folder and the additional ones."""
        return (self.cwd, *self.additional)

    def holds(self, path: Path) -> bool:
        """True when `path` as written lies in one of the folders, wherever its links lead."""
        return any(path.is_relative_to(folder) for folder in self.folders)

    def inside(self, resolved: Path) -> bool:
        """True when `resolved` lies in one of the folders, or is one."""
        return any(resolved.is_relative_to(self.resolve(folder)) for folder in self.folders)


@dataclass(frozen=True, slots=True)
class Decision:
    """Allow, ask or deny, with one line for the person.

    `offers` are the narrow rules that together would have allowed the call, none when no rule could.
    `by` is what decided: a rule, one of the always-asked lists, a hook, the mode, that it only reads, the
    sandbox, or the default.
    """

    behavior: Behavior
    reason: str
    rule: Rule | None = None
    offers: tuple[str, ...] = ()
    by: By = "default"
