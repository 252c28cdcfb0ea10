"""The settings files of a working folder, highest first, each with what it may do."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from maia_kernel.paths import resolve, shown
from maia_kernel.permissions.rules import SourceKind
from maia_kernel.settings.reading import Warn
from maia_kernel.texts import text

MANAGED = Path("/etc/maia/settings.json")
OWN, FOREIGN = ".maia", ".claude"
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
    folders = tuple(project_folders(cwd, home))
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
    base = folder / OWN
    yield Layer(base / "settings.local.json", "local", "settings", folder)
    yield Layer(base / "config.json", "project", "config", folder)
    yield Layer(base / "settings.json", "project", "settings", folder)


def _foreign(folder: Path) -> Iterator[Layer]:
    base = folder / FOREIGN
    yield Layer(base / "settings.local.json", "local", "settings", folder, True)
    yield Layer(base / "settings.json", "project", "settings", folder, True)


def project_folders(cwd: Path, home: Path) -> Iterator[Path]:
    """The working folder and its parents up to the git root, nearest first; never home itself."""
    chain = [cwd, *cwd.parents][:_LEVELS]
    root = next((at for at, folder in enumerate(chain) if (folder / ".git").exists()), 0)
    own = resolve(home)
    for folder in chain[: root + 1]:
        # Home's files are the person's: read as a project's they would lose their word.
        if resolve(folder) != own:
            yield folder


def leads_out(path: Path, folders: tuple[Path, ...]) -> bool:
    """True when a symlink takes `path` out of all `folders`, those of one project."""
    return not any(resolve(path).is_relative_to(resolve(folder)) for folder in folders)


def sound_bases(folders: tuple[Path, ...], warn: Warn) -> frozenset[Path]:
    """The `.maia` and `.claude` of the project that are folders of its own; a warning for the others."""
    sound = set()
    for base in (folder / name for folder in folders for name in (OWN, FOREIGN)):
        if leads_out(base, folders):
            warn(text("settings.leads_out", file=shown(base)))
        elif base.is_dir():
            sound.add(base)
        elif base.exists():
            warn(text("settings.not_folder", file=shown(base)))
    return frozenset(sound)
