"""What a project brings along that could run code or widen rights, one value each."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from maia_kernel.paths import resolve
from maia_kernel.texts import text

Kind = Literal[
    "hooks",
    "command",
    "mcp",
    "tool",
    "plugin",
    "skill",
    "slash",
    "agent",
    "allow",
    "mode",
    "folders",
    "sandbox",
    "setting",
    "config",
    "model",
    "env",
    "dotenv",
]
"""In the order in which a person sees them: what runs by itself first."""
State = Literal["trusted", "waiting", "refused"]

_KINDS: tuple[Kind, ...] = get_args(Kind)
_HEAD, _TAIL = 2_000, 500  # characters of a long detail; both ends are shown


@dataclass(frozen=True, slots=True)
class ProjectItem:
    """One thing of the project in `folder` that counts only after trust.

    `digest` is over kind, name and content, not over the file: a rule that moves from one settings
    file of the folder to another stays trusted. `detail` is for the person, as it stands in the file.
    """

    kind: Kind
    name: str
    detail: str
    file: Path
    folder: Path
    digest: str
    state: State = "waiting"

    def is_of(self, content: bytes) -> bool:
        """True when `content` is still the file that was looked at; for items of whole files."""
        return self.digest == digest_of(self.kind, self.name, hashlib.sha256(content).hexdigest())


def digest_of(kind: Kind, name: str, content: Any) -> str:
    """The sha256 of an item in canonical JSON, in hex.

    Raises:
        ValueError: `content` is nested too deep for JSON.
    """
    try:
        written = json.dumps([kind, name, content], sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise ValueError(text("trust.too_deep")) from None
    return hashlib.sha256(written.encode()).hexdigest()


def make_item(
    kind: Kind, name: str, content: Any, *, file: Path, folder: Path, detail: str = ""
) -> ProjectItem:
    """An item that waits for trust.

    Raises:
        ValueError: `content` is nested too deep for JSON.
    """
    digest = digest_of(kind, name, content)
    return ProjectItem(kind, name, _clipped(detail), file, resolve(folder), digest)


def rule_item(rule: str, *, file: Path, folder: Path) -> ProjectItem:
    """The item of an allow rule, `rule` as `Rule.text` writes it."""
    return make_item("allow", rule, None, file=file, folder=folder)


def file_item(kind: Kind, file: Path, content: bytes, *, folder: Path, detail: str) -> ProjectItem:
    """The item of a whole file; its name is the path from `folder`."""
    name = file.relative_to(folder).as_posix()
    hashed = hashlib.sha256(content).hexdigest()
    return make_item(kind, name, hashed, file=file, folder=folder, detail=detail)


def in_order(items: Iterable[ProjectItem]) -> tuple[ProjectItem, ...]:
    """`items` as a person sees them: what runs by itself first, each kind together."""
    return tuple(
        sorted(items, key=lambda item: (_KINDS.index(item.kind), str(item.file), item.name))
    )


def counted(items: Iterable[ProjectItem]) -> str:
    """How many items there are of each kind, as words: "hooks: 2, MCP servers: 1"."""
    numbers = Counter(item.kind for item in items)
    return ", ".join(f"{text(f'trust.kind.{kind}')}: {number}" for kind, number in numbers.items())


def _clipped(detail: str) -> str:
    left_out = len(detail) - _HEAD - _TAIL
    if left_out <= 0:
        return detail
    gap = text("trust.left_out", count=left_out)
    return f"{detail[:_HEAD]} {gap} {detail[-_TAIL:]}"
