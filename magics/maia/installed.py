"""What MAIA needs is imported as it was installed, whatever lies in the working folder.

A kernel looks for modules in the working folder before it looks among the installed ones. A project
that brings along an `anthropic.py` would have it run inside the agent at the first prompt.
"""

import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_DISTRIBUTION = "maia-kernel"
_OWN = ("maia", "maia_kernel", "maia_widgets")
_NAME = re.compile(r"[A-Za-z0-9][\w.\-]*")
_EXTRA = re.compile(r";.*\bextra\s*==")


class InstalledFirst(MetaPathFinder):
    """Finds a module of MAIA's dependencies where it is installed, though the folder has its like.

    Other names are found as ever: a person's own `utils.py` stays the first.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder`; None leaves the name to the others."""
        if path is not None:
            return None
        here = [entry for entry in sys.path if _is_working_folder(entry)]
        if not here or PathFinder.find_spec(fullname, here) is None:
            return None
        installed = PathFinder.find_spec(
            fullname, [entry for entry in sys.path if entry not in here]
        )
        if installed is None or installed.loader is None or fullname not in _needed():
            return None
        return installed


def install() -> None:
    """Look among the installed modules first from now on. Safe to call again."""
    if not any(isinstance(finder, InstalledFirst) for finder in sys.meta_path):
        sys.meta_path.insert(0, InstalledFirst())


def remove() -> None:
    """Undo `install`."""
    sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, InstalledFirst)]


def _is_working_folder(entry: str) -> bool:
    if entry == "":
        return True
    try:
        return os.path.samefile(entry, ".")  # noqa: PTH121 - the folder may be gone, the entry no path
    except (OSError, ValueError):
        return False


@cache
def _needed() -> frozenset[str]:
    """The top-level modules of MAIA's distribution and of all that it requires."""
    import importlib.metadata  # slow: only where the working folder has a name that is installed too

    waiting, found = [_DISTRIBUTION], set[str]()
    while waiting:
        name = _normal(waiting.pop())
        if name in found:
            continue
        found.add(name)
        try:
            required = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        waiting += [
            match[0] for row in required if not _EXTRA.search(row) and (match := _NAME.match(row))
        ]
    by_module = importlib.metadata.packages_distributions()
    return frozenset(_OWN) | frozenset(
        module for module, names in by_module.items() if found & {_normal(name) for name in names}
    )


def _normal(name: str) -> str:
    """A distribution's name in the one form that pypi.org knows it by."""
    return re.sub(r"[-_.]+", "-", name).lower()
