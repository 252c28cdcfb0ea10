"""sandbox-exec of macOS: the profile, in its language (the system's own are in /System/Library/Sandbox).

The last rule that matches counts. Apple calls the program deprecated; there is no other for commands.
"""

from collections.abc import Iterator
from pathlib import Path

from maia_kernel.sandbox.places import within
from maia_kernel.sandbox.values import Bounds

_ALWAYS = """(version 1)
(deny default)
(allow process-exec process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow mach-priv-task-port (target same-sandbox))
(allow mach-lookup
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-read*)
(allow file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random")
  (literal "/dev/urandom") (literal "/dev/dtracehelper"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero"))"""


def seatbelt_profile(bounds: Bounds, *, proxy_port: int | None = None) -> str:
    """The profile for `bounds`; the network is off but for the proxy's port on the loopback."""
    return "\n".join([_ALWAYS, *_rules(bounds, proxy_port)]) + "\n"


def _rules(bounds: Bounds, proxy_port: int | None) -> Iterator[str]:
    inside = [place for place in bounds.unreadable if within(place, bounds.writable)]
    around = [place for place in bounds.unreadable if place not in inside]
    if around:
        yield f"(deny file-read* {_subpaths(around)})"
    if bounds.readable:
        yield f"(allow file-read* {_subpaths(bounds.readable)})"
    yield f"(allow file-read* file-write* {_subpaths(bounds.writable)})"
    if bounds.readonly:
        yield f"(deny file-write* {_subpaths(bounds.readonly)})"
    if bounds.anchors:
        # Not the folder itself: neither renamed nor removed, nor another one put in its place.
        yield f"(deny file-write-unlink {_literals(bounds.anchors)})"
    if inside:
        yield f"(deny file-read* file-write* {_subpaths(inside)})"
    if proxy_port is not None:
        yield f'(allow network-outbound (remote ip "localhost:{proxy_port}"))'


def _subpaths(places: tuple[Path, ...] | list[Path]) -> str:
    return " ".join(f"(subpath {_quoted(place)})" for place in places)


def _literals(places: tuple[Path, ...]) -> str:
    return " ".join(f"(literal {_quoted(place)})" for place in places)


def _quoted(place: Path) -> str:
    return '"' + str(place).replace("\\", "\\\\").replace('"', '\\"') + '"'
