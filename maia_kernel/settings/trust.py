"""What a person granted to a project: `~/.maia/trust.json`, by resolved folder and digest of each item.

    {"folders": {"/path/of/project": {"trusted": {"<sha256>": "hooks: PreToolUse"}, "refused": {}}}}

The words beside a digest are for a person who reads the file; they never hold a value.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from maia_kernel.neutral import line
from maia_kernel.paths import resolve
from maia_kernel.settings.items import ProjectItem, State
from maia_kernel.settings.reading import Warn, read_object

Verdict = Literal["trusted", "refused"]
_VERDICTS: tuple[Verdict, ...] = ("trusted", "refused")
_MOST = 1_000
"""Items that a person could still be shown; what comes after them never counts."""
_NAME = 200  # characters of an item's name beside its digest


def trust_file(home: Path) -> Path:
    """Where grants are kept."""
    return home / ".maia" / "trust.json"


@dataclass(slots=True)
class Gate:
    """Says for each item of the project whether it counts, and keeps them all.

    `everything` is the word of the start (`MAIA_TRUST`, `--trust`), `session` the digests that the
    person trusts for this session only.
    """

    grants: Mapping[str, Any]
    home: Path
    everything: bool = False
    session: frozenset[str] = frozenset()
    items: dict[tuple[Path, str], ProjectItem] = field(default_factory=dict)
    overfull: bool = False

    def passes(self, item: ProjectItem) -> bool:
        """True when `item` is trusted."""
        if len(self.items) >= _MOST:
            self.overfull = True
            return False
        state = self._state(item)
        self.items.setdefault((item.file, item.digest), replace(item, state=state))
        return state == "trusted"

    def _state(self, item: ProjectItem) -> State:
        if self.everything or item.digest in self.session:
            return "trusted"
        if is_home(item.folder, self.home):
            return "waiting"
        given = _folder(self.grants, item.folder)
        return next((verdict for verdict in _VERDICTS if item.digest in given[verdict]), "waiting")


def open_gate(home: Path, warn: Warn, *, everything: bool, session: frozenset[str]) -> Gate:
    """The gate with what was granted; a broken file is warned of and grants nothing."""
    return Gate(read_object(trust_file(home), warn) or {}, home, everything, session)


def is_home(folder: Path, home: Path) -> bool:
    """True for the home folder itself: what it holds is trusted for a session only."""
    return resolve(folder) == resolve(home)


def with_verdict(
    data: dict[str, Any], items: Iterable[ProjectItem], verdict: Verdict
) -> dict[str, Any]:
    """`data` of a trust file with a verdict on `items`; the latest word on an item counts."""
    folders = _folders(data)
    for item in items:
        given = _folder({"folders": folders}, item.folder)
        for other in _VERDICTS:
            given[other].pop(item.digest, None)
        given[verdict][item.digest] = line(f"{item.kind}: {item.name}")[:_NAME]
        folders[str(item.folder)] = given
    return {**data, "folders": folders}


def without_folders(data: dict[str, Any], gone: Iterable[Path]) -> dict[str, Any]:
    """`data` of a trust file in which nothing was ever said about the folders `gone`."""
    keys = {str(resolve(folder)) for folder in gone}
    kept = {folder: given for folder, given in _folders(data).items() if folder not in keys}
    return {**data, "folders": kept}


def _folders(data: Mapping[str, Any]) -> dict[str, Any]:
    folders = data.get("folders")
    return dict(folders) if isinstance(folders, dict) else {}


def _folder(data: Mapping[str, Any], folder: Path) -> dict[str, dict[str, Any]]:
    entry = _folders(data).get(str(resolve(folder)))
    entry = entry if isinstance(entry, dict) else {}
    return {
        verdict: dict(entry[verdict]) if isinstance(entry.get(verdict), dict) else {}
        for verdict in _VERDICTS
    }
