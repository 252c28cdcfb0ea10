"""Enters the sandbox and becomes the command: run as a program of its own, with the standard library alone.

    python -I -S enter.py landlock PLAN_FD COMMAND...      behind Landlock and the filter
    python -I -S enter.py listen SOCKET_FD COMMAND...      in namespaces: a door to the proxy

The plan is JSON: `rules` (pairs of a path and its rights), `handled`, `network`, `scoped` (bit sets of
linux/landlock.h) and `filter` (the BPF program, base64). This program stays the command's parent: when
the command ends, it ends whatever the command left behind, and ends as the command did.
"""

import array
import base64
import contextlib
import ctypes
import json
import os
import signal
import socket
import struct
import sys
from pathlib import Path

CANNOT = 125
"""Exit code when the sandbox could not be entered; nothing was run."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every machine
_PATH_BENEATH = 1
_SET_PDEATHSIG, _SET_SECCOMP, _CAPBSET_DROP = 1, 22, 24
_SET_SECUREBITS, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 28, 36, 38
_NOROOT = 0x2F  # SECBIT_NOROOT, NO_SETUID_FIXUP, KEEP_CAPS off and their locks
_FILTER = 2  # SECCOMP_MODE_FILTER
_CAPABILITY_V3 = 0x20080522
_O_PATH = 0o10000000


def main(arguments: list[str]) -> int:
    """What the command line says; returns the exit code."""
    kind, descriptor, command = arguments[0], int(arguments[1]), arguments[2:]
    try:
        if kind == "listen":
            give_listener(descriptor)
            os.execvp(command[0], command)
        with os.fdopen(descriptor, "rb") as file:
            plan = json.loads(file.read())
        return supervise(command, plan)
    except OSError as fault:
        sys.stderr.write(f"sandbox: {fault}\n")
        return CANNOT


def give_listener(descriptor: int) -> None:
    """Listen on this network's loopback and hand the socket through the unix socket `descriptor`.

    Whoever accepts on it sits in another network: it is the only door of this one.
    """
    with socket.socket(fileno=descriptor) as door, socket.socket() as listener:
        listener.bind(("127.0.0.1", 3128))
        listener.listen(128)
        door.sendmsg(
            [b"l"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]))]
        )


def supervise(command: list[str], plan: dict[str, object]) -> int:
    """Run `command` behind the plan's walls; afterwards nothing that it started is left."""
    libc = ctypes.CDLL(None, use_errno=True)
    _prctl(libc, _SET_CHILD_SUBREAPER, 1)
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            _prctl(libc, _SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(CANNOT)
            confine(libc, plan)
            os.execvp(command[0], command)
        except OSError as fault:
            os.write(2, f"sandbox: {fault}\n".encode())
        finally:
            os._exit(CANNOT)
    for standard in (0, 1, 2):
        # Its output ends when the command's does, not when we do.
        os.close(standard)
    status = _wait_for(child)
    _end_rest()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError):  # KILL has no handler to be taken away
            signal.signal(number, signal.SIG_DFL)
        os.kill(parent, number)
    return os.waitstatus_to_exitcode(status)


def _wait_for(child: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _end_rest() -> None:
    """Kill what became our child because its own parent ended, until there is none."""
    own = os.getpid()
    while True:
        for pid in _children(own):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _children(parent: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - only the names, many
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                stat = Path(f"/proc/{name}/stat").read_text(encoding="utf-8", errors="replace")
                if int(stat[stat.rindex(")") + 2 :].split()[1]) == parent:
                    found.append(int(name))
    return found


def confine(libc: ctypes.CDLL, plan: dict[str, object]) -> None:
    """Put this process behind the plan's walls, for good.

    Raises:
        OSError: the kernel refuses one of them.
    """
    _drop_capabilities(libc)
    _prctl(libc, _SET_NO_NEW_PRIVS, 1)
    _landlock(libc, plan)
    program = base64.b64decode(str(plan["filter"]))
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    _prctl(libc, _SET_SECCOMP, _FILTER, ctypes.c_char_p(header))


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    for number in range(64):
        if libc.prctl(_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break  # past the last one, or nothing to drop
    libc.prctl(_SET_SECUREBITS, _NOROOT, 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITY_V3, 0)
    if libc.capset(header, bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _landlock(libc: ctypes.CDLL, plan: dict[str, object]) -> None:
    attributes = struct.pack("QQQ", plan["handled"], plan["network"], plan["scoped"])
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    rules = plan["rules"]
    assert isinstance(rules, list)
    for path, rights in rules:
        try:
            place = os.open(path, _O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # gone since it was looked for: nothing is given
        rule = struct.pack("=Qi", rights, place)
        added = libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
        os.close(place)
        if added != 0:
            raise OSError(ctypes.get_errno(), f"landlock_add_rule {path}")
    if libc.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    os.close(ruleset)


def _prctl(libc: ctypes.CDLL, *arguments: object) -> None:
    if libc.prctl(*arguments, *([0] * (5 - len(arguments)))) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {arguments[0]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
