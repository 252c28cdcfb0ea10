"""Where a tool's command runs: in the sandbox, or as any other process.

The one seam for whatever runs a command: `async with bounded(...) as child`, then run `child.argv` with
`child.env` and `child.pass_fds`.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from maia_kernel import paths
from maia_kernel.errors import SandboxError, ToolFailed
from maia_kernel.permissions import Policy, Subject
from maia_kernel.permissions.bash import is_matched, judge
from maia_kernel.processes import Completed
from maia_kernel.sandbox import Confined
from maia_kernel.sandbox.session import Sandbox
from maia_kernel.tools.base import ToolContext

_REFUSED = re.compile(
    r"permission denied|read-only file system|operation not permitted|resource busy"
    r"|network is unreachable|could not resolve|name resolution|name or service not known"
    r"|cannot assign requested|address family|connection refused|tunnel|proxy",
    re.IGNORECASE,
)


def sandbox_of(command: str, context: ToolContext, *, leaves: bool) -> Sandbox | None:
    """The sandbox that this shell command runs in; None where it runs outside.

    `leaves`: the call asks to run outside, which the settings may not let it.
    """
    sandbox = context.sandbox
    if sandbox is None or not sandbox.in_force:
        return None
    if leaves and sandbox.settings.allow_unsandboxed:
        return None
    return None if _is_excluded(command, context, sandbox.settings.excluded) else sandbox


@asynccontextmanager
async def bounded(
    argv: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    context: ToolContext,
    sandbox: Sandbox | None,
) -> AsyncIterator[Confined]:
    """`argv` as it is started in `folder` with `env`: in `sandbox`, or as it is where that is None.

    Open until the command has ended.

    Raises:
        ToolFailed: it cannot be kept within its bounds; nothing was started.
    """
    if sandbox is None:
        yield Confined(tuple(argv), env)
        return
    try:
        async with sandbox.confined(argv, folder) as child:
            inside = sandbox.environment(env, context.env)
            child.env = {**inside, **child.env}
            yield child
    except SandboxError as fault:
        raise ToolFailed(str(fault)) from fault


def note_for(
    child: Confined,
    done: Completed,
    context: ToolContext,
    sandbox: Sandbox,
    *,
    may_leave: bool = True,
) -> str:
    """What the model is told about the sandbox after a command, empty when there is nothing to tell.

    `may_leave`: the tool has an input that asks to run outside.
    """
    note = ""
    if child.held:
        names = ", ".join(paths.shown(place, context.cwd) for place in child.held)
        note += (
            "\n(The sandbox does not let commands make files that run by themselves, such as git hooks "
            f"or editor settings; what was made under such a name was renamed: {names})"
        )
    if done.exit_code != 0 and _REFUSED.search(done.output):
        way = (
            " If it truly needs more, call again with dangerouslyDisableSandbox: the user is asked."
            if may_leave and sandbox.settings.allow_unsandboxed
            else ""
        )
        note += (
            "\n(Ran in the sandbox: it writes only in the working folders and $TMPDIR, reads no keys, and "
            f"reaches {_reached(sandbox)}.{way})"
        )
    return note


def _reached(sandbox: Sandbox) -> str:
    return ", ".join(sandbox.settings.allowed_domains) or "no network"


def _is_excluded(command: str, context: ToolContext, excluded: tuple[str, ...]) -> bool:
    """True when a command that the settings name is in it; a bare name means it with any arguments."""
    if not excluded:
        return False
    policy = Policy((), "default", context.cwd, Path.home(), context.additional)
    judgement = judge(
        Subject("Bash", read_only=False, command=command, folder=context.shell_cwd), policy
    )
    patterns = {form for one in excluded for form in (one, one if "*" in one else f"{one}:*")}
    return any(is_matched(pattern, judgement) for pattern in patterns)
