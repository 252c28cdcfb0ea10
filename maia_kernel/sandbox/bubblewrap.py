"""Bubblewrap (bwrap(1)): the command in namespaces of its own, with its own view of the file system.

Inside, everything is read-only but the working folders and the temporary folder; processes, network,
IPC and devices are its own. When the command ends, everything that it started ends.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from maia_kernel.sandbox.places import depth, is_folder, is_real_folder, within
from maia_kernel.sandbox.values import Bounds

# Shared folders of temporary and run-time files: replaced, whatever is in them.
_PRIVATE = (Path("/tmp"), Path("/var/tmp"))
_EMPTY = (Path("/run/user"), Path("/run/screen"), Path("/run/tmux"))
_OWN = (Path("/dev"), Path("/proc"))
# The kernel's own switches: root could turn them, whatever bwrap covers by itself.
_SWITCHES = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr")


def bubblewrap_argv(
    program: str, argv: Sequence[str], folder: Path, bounds: Bounds, filter_fd: int
) -> tuple[str, ...]:
    """The command line that runs `argv` in `folder`; the filter is read from `filter_fd`.

    Later mounts lie over earlier ones, so that what is kept from the command comes after what is
    given to it.
    """
    return (
        program,
        *("--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *_mounts(bounds),
        *("--chdir", str(folder), "--seccomp", str(filter_fd), "--", *argv),
    )


def _mounts(bounds: Bounds) -> Iterator[str]:
    temp = str(bounds.temp)
    for place in (*_PRIVATE, *_EMPTY):
        if is_real_folder(place):
            yield from (
                ("--bind", temp, str(place)) if place in _PRIVATE else ("--tmpfs", str(place))
            )
    for name in _SWITCHES:
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    yield from _masks(_around(bounds))
    for place in sorted(bounds.readable, key=depth):
        if _hidden(place) or within(place, bounds.unreadable):
            yield from ("--ro-bind", str(place), str(place))
    for root in sorted(bounds.writable, key=depth):
        yield from ("--bind", str(root), str(root))
    # A folder that is itself mounted cannot be renamed, nor can one made in its place be taken for it.
    for place in sorted(bounds.anchors, key=depth):
        yield from ("--bind", str(place), str(place))
    for place in sorted(bounds.readonly, key=depth):
        if not place.is_symlink():
            yield from ("--ro-bind", str(place), str(place))
    yield from _masks(place for place in bounds.unreadable if within(place, bounds.writable))


def _around(bounds: Bounds) -> Iterator[Path]:
    """What is kept from being read outside the working folders, where it is there at all."""
    for place in bounds.unreadable:
        if not within(place, bounds.writable) and not _hidden(place):
            yield place


def _masks(places: Iterator[Path]) -> Iterator[str]:
    for place in places:
        if is_folder(place):
            yield from ("--perms", "0555", "--tmpfs", str(place))
        else:
            # A device on a mount without devices: to open it is refused.
            yield from ("--ro-bind", "/dev/null", str(place))


def _hidden(place: Path) -> bool:
    """Whether `place` lies in a folder that is replaced as a whole."""
    return within(place, (*_PRIVATE, *_EMPTY, *_OWN))
