"""The system call filter as a classic BPF program (seccomp(2), linux/filter.h), assembled here.

The wall is namespaces or Landlock; the filter takes away what would reach around it: other processes'
memory, mounts, sockets of other families, typing into a terminal.
"""

import errno
import platform
import struct
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Walls = Literal["namespaces", "landlock"]

_LOAD, _JUMP_EQUAL, _JUMP_FROM, _JUMP_BITS, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000
_NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* that clone(2) takes
_TYPING = (0x5412, 0x541C, 0x541D, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD
_INET, _INET6, _NETLINK = 2, 10, 16
_DATAGRAM = 2  # of a socket's type, without its flags


@dataclass(frozen=True, slots=True)
class _Machine:
    audit: int
    x32: bool
    numbers: dict[str, int]


def is_known_machine(machine: str | None = None) -> bool:
    """True when the filter can be built for `machine` (this one if None), as uname(2) names it."""
    return (machine or platform.machine()) in _data()["machines"]


def program(walls: Walls, machine: str | None = None) -> bytes:
    """The filter, an array of struct sock_filter, for a process behind these walls.

    Behind namespaces a process has a network of its own with nothing in it, so that IP sockets are
    let; unix sockets are not, since a path of the file system leads to whoever listens there.

    Raises:
        KeyError: no numbers are known for this machine.
    """
    kind = _machine(machine or platform.machine())
    says = _data()["says"]
    lines = [_load(_ARCHITECTURE), *_unless(kind.audit, errno.ENOSYS), _load(_NUMBER)]
    if kind.x32:
        lines += [_line(_JUMP_FROM, _X32, 0, 1), _refuse(errno.ENOSYS)]
    rooms = ["processes", "namespaces", "kernel"]
    families: tuple[int, ...] = (_INET, _INET6, _NETLINK)
    if walls == "landlock":
        rooms += ["ipc", "metadata"]
        families = ()
    for room in rooms:
        lines += [line for name in says[room] for line in _refused(kind, name, errno.EPERM)]
    for name in says["missing"]:
        lines += _refused(kind, name, errno.ENOSYS)
    lines += _checked(kind, "socket", 0, _families(families))
    # One end of a pair of datagram sockets can be sent to any other socket; of a stream it cannot.
    pairs = [_line(_AND, 0xF), _line(_JUMP_EQUAL, _DATAGRAM, 0, 1), _refuse(errno.EPERM), _allow()]
    lines += _checked(kind, "socketpair", 1, pairs)
    lines += _checked(
        kind, "clone", 0, [_line(_JUMP_BITS, _NEW_NAMESPACES, 0, 1), _refuse(errno.EPERM), _allow()]
    )
    lines += _checked(kind, "ioctl", 1, [*_none_of(_TYPING), _allow()])
    if walls == "landlock":
        own = [_line(_JUMP_EQUAL, 0, 0, 1), _allow(), _refuse(errno.EPERM)]
        for name in says["self_first"]:
            lines += _checked(kind, name, 0, own)
        for name in says["self_second"]:
            lines += _checked(kind, name, 1, own)
    return b"".join([*lines, _allow()])


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _load(offset: int) -> bytes:
    return _line(_LOAD, offset)


def _allow() -> bytes:
    return _line(_RETURN, _ALLOW)


def _refuse(number: int) -> bytes:
    return _line(_RETURN, _ERRNO | number)


def _unless(value: int, number: int) -> list[bytes]:
    return [_line(_JUMP_EQUAL, value, 1, 0), _refuse(number)]


def _refused(kind: _Machine, name: str, number: int) -> list[bytes]:
    if name not in kind.numbers:
        return []
    return [_line(_JUMP_EQUAL, kind.numbers[name], 0, 1), _refuse(number)]


def _checked(kind: _Machine, name: str, argument: int, body: list[bytes]) -> list[bytes]:
    """`body` for one call, with the low half of an argument loaded; it must end in a return."""
    # An int argument: the kernel looks at no more than its low half either (little-endian machines).
    lines = [_load(_ARGUMENTS + 8 * argument), *body]
    return [_line(_JUMP_EQUAL, kind.numbers[name], 0, len(lines)), *lines]


def _families(families: tuple[int, ...]) -> list[bytes]:
    allowed = [line for family in families for line in (_line(_JUMP_EQUAL, family, 0, 1), _allow())]
    return [*allowed, _refuse(errno.EAFNOSUPPORT)]


def _none_of(values: tuple[int, ...]) -> list[bytes]:
    return [
        line for value in values for line in (_line(_JUMP_EQUAL, value, 0, 1), _refuse(errno.EPERM))
    ]


def _machine(name: str) -> _Machine:
    data = _data()
    kind = data["machines"][name]
    return _Machine(kind["audit"], kind["x32"], data["numbers"][name])


@cache
def _data() -> dict[str, Any]:
    source = files("maia_kernel.sandbox") / "syscalls.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))
