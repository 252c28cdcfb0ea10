"""The settings files of a working folder, highest first, each with what it may do."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from maia_kernel.paths import resolve
from maia_kernel.permissions.rules import SourceKind

MANAGED = Path("/etc/maia/settings.json")
_LEVELS = 40


@dataclass(frozen=True, slots=True)
class Layer:
    """One file. `folder` is the anchor of its `/path` rules; `foreign`: not one of MAIA's own."""

    path: Path
    kind: SourceKind
    form: Literal["config", "settings"]
    folder: Path
    foreign: bool = False

    @property
    def of_project(self) -> bool:
        """True for files that came with the project, or could have."""
        return self.kind in ("project", "local")


def layers(cwd: Path, home: Path, managed: Path, claude: Path | None = None) -> tuple[Layer, ...]:
    """Every file that may hold settings for `cwd`; the earlier one wins for single values.

    `claude` stands in for `~/.claude` (the variable `CLAUDE_CONFIG_DIR`).
    """
    folders = tuple(_project_folders(cwd, home))
    claude = claude or home / ".claude"
    return (
        Layer(managed, "managed", "settings", managed.parent),
        *(layer for folder in folders for layer in _own(folder)),
        Layer(home / ".maia" / "config.json", "user", "config", home / ".maia"),
        Layer(home / ".maia" / "settings.json", "user", "settings", home / ".maia"),
        *(layer for folder in folders for layer in _foreign(folder)),
        Layer(claude / "settings.json", "user", "settings", claude, True),
    )


def _own(folder: Path) -> Iterator[Layer]:
    base = folder / ".maia"
    yield Layer(base / "settings.local.json", "local", "settings", folder)
    yield Layer(base / "config.json", "project", "config", folder)
    yield Layer(base / "settings.json", "project", "settings", folder)


def _foreign(folder: Path) -> Iterator[Layer]:
    base = folder / ".claude"
    yield Layer(base / "settings.local.json", "local", "settings", folder, True)
    yield Layer(base / "settings.json", "project", "settings", folder, True)


def _project_folders(cwd: Path, home: Path) -> Iterator[Path]:
    """The working folder and its parents up to the git root, nearest first; never home itself."""
    chain = [cwd, *cwd.parents][:_LEVELS]
    root = next((at for at, folder in enumerate(chain) if (folder / ".git").exists()), 0)
    own = resolve(home)
    for folder in chain[: root + 1]:
        # Home's files are the person's: read as a project's they would lose their word.
        if resolve(folder) != own:
            yield folder
