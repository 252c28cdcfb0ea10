"""What the sources said so far: single values by rank, lists that add up, warnings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maia_kernel.paths import shown
from maia_kernel.permissions import Rule
from maia_kernel.settings.items import Kind as ItemKind
from maia_kernel.settings.items import make_item
from maia_kernel.settings.kinds import Kind
from maia_kernel.settings.layers import Layer
from maia_kernel.settings.trust import Gate
from maia_kernel.settings.values import LoadedFile
from maia_kernel.texts import text

# Lower ranks win. Files other than the managed one start at 100, in the order of `layers`.
MANAGED, FLAG, ENVIRONMENT, FILES, LAST = 0, 1, 2, 100, 1000
_MERGED = ("aliases",)


@dataclass(slots=True)
class Collected:
    """A mutable heap of values while settings are loaded; `value` and `origin` read it."""

    cwd: Path
    home: Path
    environ: Mapping[str, str]
    bare: bool
    gate: Gate
    rules: list[Rule] = field(default_factory=list)
    additional: list[Path] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    dotenv: dict[str, str] = field(default_factory=dict)
    sandbox: dict[str, list[Any]] = field(default_factory=dict)
    files: list[LoadedFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    no_bypass: bool = False
    no_auto: bool = False
    managed_rules_only: bool = False
    _ranked: dict[str, dict[int, tuple[Any, str]]] = field(default_factory=dict)

    def warn(self, line: str) -> None:
        """Add a line for the person, once."""
        if line not in self.warnings:
            self.warnings.append(line)

    def put(self, name: str, value: Any, *, rank: int, origin: str) -> None:
        """A value for a field; at the same rank the first one stays."""
        self._ranked.setdefault(name, {}).setdefault(rank, (value, origin))

    def check(self, name: str, value: Any, kind: Kind, *, rank: int, origin: str, key: str) -> None:
        """Put a value if it is of its kind, else warn."""
        try:
            self.put(name, kind(value), rank=rank, origin=origin)
        except ValueError as error:
            self.warn(text("settings.bad_value", file=origin, setting=key, expected=error))

    def passes(
        self, layer: Layer, kind: ItemKind, name: str, content: Any, detail: str = ""
    ) -> bool:
        """True when this part of a file counts: the person's own, or trusted."""
        if not layer.of_project:
            return True
        try:
            item = make_item(
                kind, name, content, file=layer.path, folder=layer.folder, detail=detail
            )
        except ValueError as error:
            self.warn(text("settings.unreadable", file=shown(layer.path), cause=error))
            return False
        return self.gate.passes(item)

    def value(self, name: str, default: Any = None) -> Any:
        """The value of the best rank; objects of several sources are merged key by key."""
        ranks = self._ranked.get(name)
        if not ranks:
            return default
        if name in _MERGED:
            merged: dict[str, Any] = {}
            for rank in sorted(ranks, reverse=True):
                merged |= ranks[rank][0]
            return merged
        return ranks[min(ranks)][0]

    def drop(self, name: str) -> None:
        """Forget every value of a field: its default counts."""
        self._ranked.pop(name, None)

    def origins(self) -> dict[str, str]:
        """For each field that was set, where its value came from."""
        return {name: ranks[min(ranks)][1] for name, ranks in self._ranked.items() if ranks}
