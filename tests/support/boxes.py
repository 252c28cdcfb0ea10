"""Commands in the sandbox of a world."""

import shutil
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from maia_kernel import processes
from maia_kernel.permissions import Policy, RuleSource, parse_rule
from maia_kernel.sandbox import SandboxSettings, mechanism
from maia_kernel.sandbox.mechanism import Found
from maia_kernel.sandbox.session import Sandbox
from maia_kernel.sandbox.values import MechanismName
from tests.support.world import OTHER, World

DENIED = ("Read(private/**)", "Read(*.secret)")


async def in_sandbox(
    made: World,
    name: MechanismName,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    settings: SandboxSettings | None = None,
) -> tuple[processes.Completed, list[Path]]:
    """Run `command` in the world's working folder, in the sandbox; also what was held back."""
    source = RuleSource("user", None, made.work)
    rules = tuple(parse_rule(rule, "deny", source) for rule in DENIED)
    policy = Policy(rules, "default", made.work, made.home)
    wanted = settings or SandboxSettings(enabled=True)
    sandbox = Sandbox(wanted, lambda: policy, found=Found(name))
    argv = ["bash", "-c", command]
    async with AsyncExitStack() as stack:
        if made.user == "other":
            # Who runs the command must be able to read what enters the sandbox.
            entrance = made.base.parent / f"{made.token}.py"
            stack.callback(entrance.unlink)
            shutil.copy(Path(mechanism.__file__).with_name("enter.py"), entrance)
            entrance.chmod(0o644)
            monkeypatch.setattr(mechanism, "ENTER", entrance)
            monkeypatch.setattr(sys, "executable", made.python)
            shutil.chown(sandbox.temp(), OTHER, OTHER)
            async with sandbox.confined(argv, made.work):
                pass  # what this imports and reads may be where only root looks
        with made.eyes():
            child = await stack.enter_async_context(sandbox.confined(argv, made.work))
        done = await processes.run(
            [*made.prefix, *child.argv],
            cwd=made.work,
            env={**sandbox.environment(made.environment, {}), **child.env},
            time_limit=30,
            pass_fds=child.pass_fds,
        )
    assert done.ending == "exited"
    return done, child.held
