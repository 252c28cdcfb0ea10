"""The git repository of a folder, judged by reading a few of its files: git itself is not run.

A repository that came from elsewhere may name programs in its own configuration, and commands that
only read run them. Keys of a fixed name are overridden where such a command is run; drivers have
names of their own, so a repository that holds one is asked about. Keys after git-config(1) and
gitattributes(5).
"""

import re
from dataclasses import dataclass
from pathlib import Path

from maia_kernel.paths import resolve

_CONFIG_LIMIT = 1024 * 1024
_INDEX_LIMIT = 64 * 1024 * 1024
_GITLINK = b"\x00\x00\xe0\x00"  # the mode 0160000 in the index: an entry that is a repository
# A key begins a line or follows a section's bracket. Other sections may have keys of these names:
# then there is a question too many. `external` and the first line are programs, the second line
# makes git read other configurations, other folders, or fetch what is missing.
_RISKY_KEY = re.compile(
    r"(?:^|\])[^\S\n]*(?:textconv|command|external|clean|smudge|process"
    r"|worktree|partialclone|promisor)\b"
    r"|\[[^\S\n]*include",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Repository:
    """`root` is the top of the working tree. `risky`: even a command that reads may run something.

    `nested`: it holds other repositories, each with a configuration of its own.
    """

    root: Path
    risky: bool
    nested: bool


def find_repository(folder: Path) -> Repository | None:
    """The repository around `folder`; None when there is none.

    Git passes over a `.git` that is broken, so each one on the way up is looked at.
    """
    here = resolve(folder)
    found = [judged for root in (here, *here.parents) if (judged := _repository_at(root))]
    if not found:
        return None
    risky = any(repository.risky for repository in found)
    return Repository(found[0].root, risky, any(repository.nested for repository in found))


def _repository_at(root: Path) -> Repository | None:
    if _is_there(root / ".git"):
        return _judged(root, root / ".git")
    if _is_there(root / "HEAD") and _is_there(root / "objects"):
        # A bare repository, or one made to look so: files of the folder are its configuration.
        return Repository(root, risky=True, nested=True)
    return None


def _judged(root: Path, entry: Path) -> Repository:
    own = _own_folder(entry)
    if own is None:
        return Repository(root, risky=True, nested=True)
    common = _common_folder(own)
    configurations = (common / "config", common / "config.worktree", own / "config.worktree")
    risky = any(_is_risky(path) for path in configurations)
    return Repository(root, risky, _is_nested(own))


def _own_folder(entry: Path) -> Path | None:
    """Where git keeps the data of this working tree; None when that is anybody's guess."""
    if entry.is_dir():
        return None if entry.is_symlink() else entry
    written = _text(entry)
    if written is None or not written.startswith("gitdir:"):
        return None
    own = entry.parent / written.removeprefix("gitdir:").strip()
    back = _text(own / "gitdir")
    # A linked worktree is known to its repository; a file may point at anybody's.
    if not back or resolve(own / back.strip()) != resolve(entry):
        return None
    return own


def _common_folder(own: Path) -> Path:
    written = _text(own / "commondir")
    return own if not written else own / written.strip()


def _is_risky(path: Path) -> bool:
    if not _is_there(path):
        return False
    written = _text(path)
    return written is None or _RISKY_KEY.search(written) is not None


def _is_nested(own: Path) -> bool:
    if any(own.glob("sharedindex.*")):
        return True
    index = own / "index"
    data = _bytes(index, _INDEX_LIMIT)
    return _is_there(index) if data is None else _GITLINK in data


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError:
        return False
    return True


def _text(path: Path) -> str | None:
    data = _bytes(path, _CONFIG_LIMIT)
    return None if data is None else data.decode("utf-8", "replace").removeprefix("\ufeff")


def _bytes(path: Path, limit: int) -> bytes | None:
    """What a regular file holds; None when it is none, too large, or not to be read."""
    try:
        if not path.is_file() or path.stat().st_size > limit:
            return None
        return path.read_bytes()
    except (OSError, ValueError):
        return None
