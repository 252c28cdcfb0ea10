"""The names of files that a search found: in order, and as a person would write them."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from maia_kernel import paths
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.file_access import Target


def newest_first(names: Sequence[str], folder: Path) -> list[str]:
    """File names below `folder` by modification time, the newest first; files gone meanwhile last."""

    def age(name: str) -> tuple[int, str]:
        try:
            return (-os.stat(f"{folder}/{name}", follow_symlinks=False).st_mtime_ns, name)  # noqa: PTH116
        except OSError:
            return (0, name)

    return sorted(names, key=age)


def name_shower(target: Target, context: ToolContext) -> Callable[[str], str]:
    """What shows files below `target` as a person would write them, each on one line."""
    base = target.shown(context)
    around = context.cwd != target.path and context.cwd.is_relative_to(target.path)
    prefix = "" if base == "." else f"{base.rstrip('/')}/"

    def show(name: str) -> str:
        if not name:
            shown = base
        elif around:  # some of the names are of the working folder
            shown = paths.shown(target.path / name, context.cwd)
        else:
            shown = prefix + name
        if shown.isprintable():
            return shown
        clean = shown.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return clean.replace("\n", "\\n").replace("\r", "\\r")

    return show
