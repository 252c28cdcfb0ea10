"""Which sandbox works on this machine: tried, not guessed, once a process."""

import contextlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from maia_kernel import processes
from maia_kernel.paths import resolve
from maia_kernel.sandbox import seccomp
from maia_kernel.sandbox.bubblewrap import bubblewrap_argv
from maia_kernel.sandbox.landlock import NEEDED_ABI, landlock_abi, landlock_plan
from maia_kernel.sandbox.seatbelt import seatbelt_profile
from maia_kernel.sandbox.values import Bounds, Confined, MechanismName
from maia_kernel.texts import text

ENTER = Path(__file__).with_name("enter.py")
_SANDBOX_EXEC = "/usr/bin/sandbox-exec"
_TIME_LIMIT = 20.0  # seconds for a trial, on a machine that is busy with other things
# Refused outside, possible inside: anything else is no sandbox.
_TRIAL = 'if (echo x >"$1/outside") 2>/dev/null; then exit 90; fi; echo x >"$2/inside"'


@dataclass(frozen=True, slots=True)
class Found:
    """The sandbox that works here, or None; `why_not` has a line for each that does not."""

    name: MechanismName | None
    why_not: tuple[str, ...] = ()


_NAMES: dict[str, tuple[MechanismName, ...]] = {
    "Linux": ("bubblewrap", "landlock"),
    "Darwin": ("sandbox-exec",),
}
_found: dict[str, Found] = {}


async def find_mechanism() -> Found:
    """The first sandbox that held in a trial."""
    system = platform.system()
    if system not in _found:
        _found[system] = await _try_all(system)
    return _found[system]


async def _try_all(system: str) -> Found:
    names = _NAMES.get(system, ())
    if not names:
        return Found(None, (text("sandbox.why_not.system", system=system),))
    reasons: list[str] = []
    for name in names:
        reason = await why_not(name)
        if reason is None:
            return Found(name, tuple(reasons))
        reasons.append(reason)
    return Found(None, tuple(reasons))


async def why_not(name: MechanismName) -> str | None:
    """Why this sandbox cannot be used here, as one line; None when it held in a trial."""
    missing = _missing(name)
    if missing is not None:
        return missing
    with tempfile.TemporaryDirectory(prefix="maia-trial-") as made:
        folder = resolve(Path(made))
        inside, outside = folder / "in", folder / "out"
        inside.mkdir()
        outside.mkdir()
        bounds = Bounds(cwd=inside, temp=inside, writable=(inside,))
        shell = shutil.which("sh") or "/bin/sh"
        command = (shell, "-c", _TRIAL, "sh", str(outside), str(inside))
        with started(name, command, inside, bounds) as confined:
            try:
                done = await processes.run(
                    confined.argv,
                    cwd=inside,
                    env={"PATH": os.defpath},
                    time_limit=_TIME_LIMIT,
                    pass_fds=confined.pass_fds,
                )
            except OSError as fault:
                return text("sandbox.why_not.failed", name=name, cause=fault.strerror or fault)
        if done.exit_code == 0 and (inside / "inside").is_file():
            return None
    cause = " ".join(done.output.split())[:200] or f"exit code {done.exit_code}"
    return text("sandbox.why_not.failed", name=name, cause=cause)


def _missing(name: MechanismName) -> str | None:
    match name:
        case "bubblewrap":
            if not seccomp.is_known_machine():
                return text("sandbox.why_not.machine", machine=platform.machine())
            if shutil.which("bwrap") is None:
                return text("sandbox.why_not.no_bubblewrap")
        case "landlock":
            if not seccomp.is_known_machine():
                return text("sandbox.why_not.machine", machine=platform.machine())
            abi = landlock_abi()
            if abi < NEEDED_ABI:
                return text("sandbox.why_not.landlock_abi", found=abi, needed=NEEDED_ABI)
        case "sandbox-exec":
            if not os.access(_SANDBOX_EXEC, os.X_OK):
                return text("sandbox.why_not.no_sandbox_exec")
    return None


@contextmanager
def started(
    name: MechanismName, argv: Sequence[str], folder: Path, bounds: Bounds
) -> Iterator[Confined]:
    """`argv`, to be started in `folder` within `bounds`; descriptors are open until the end."""
    with contextlib.ExitStack() as stack:
        match name:
            case "bubblewrap":
                filter_fd = stack.enter_context(_memory("filter", seccomp.program("namespaces")))
                program = shutil.which("bwrap") or "bwrap"
                line = bubblewrap_argv(program, argv, folder, bounds, filter_fd)
                yield Confined(line, pass_fds=(filter_fd,))
            case "landlock":
                plan_fd = stack.enter_context(_memory("plan", landlock_plan(bounds)))
                yield Confined(enter_argv("landlock", plan_fd, argv), pass_fds=(plan_fd,))
            case "sandbox-exec":
                yield Confined((_SANDBOX_EXEC, "-p", seatbelt_profile(bounds), *argv))


def enter_argv(kind: str, descriptor: int, argv: Sequence[str]) -> tuple[str, ...]:
    """The command line that runs `argv` through `enter.py`."""
    return (sys.executable, "-I", "-S", str(ENTER), kind, str(descriptor), *argv)


@contextmanager
def _memory(name: str, content: bytes) -> Iterator[int]:
    """A descriptor from which `content` is read, once."""
    descriptor = os.memfd_create(name)
    try:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
