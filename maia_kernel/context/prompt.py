"""The system prompt: what is the same for every user of a version, then what is this session's.

The first part ends at a cache breakpoint and holds no date, path or name; the second is computed once
a session, so that the prefix stays identical to the byte from request to request.
"""

import os
import platform
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path

from maia_kernel.permissions.repository import find_repository
from maia_kernel.processes import run, with_tame_git
from maia_kernel.providers.base import PromptProfile, SystemPart

_GIT_SECONDS = 2.0  # a huge or remote repository must not hold up the first answer


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a session's prompt says of the world; `branch` and `status` are empty outside git."""

    cwd: str
    platform: str
    python: str
    date: str
    branch: str = ""
    status: str = ""


async def observe(cwd: Path) -> Surroundings:
    """Look around once: platform, date, git branch and a short status (at most 20 lines).

    Nothing of a hostile repository runs: where its configuration could name programs, or where
    repositories lie in it, the status is left out.
    """
    repository = find_repository(cwd)
    looked_at = repository is not None and not (repository.risky or repository.nested)
    branch = await _git(cwd, "rev-parse", "--abbrev-ref", "HEAD") if repository else ""
    status = ""
    if branch and looked_at:
        status = await _git(cwd, "status", "--short", "--ignore-submodules=all")
    lines = status.splitlines()
    if len(lines) > 20:
        lines = [*lines[:20], f"... and {len(lines) - 20} more"]
    return Surroundings(
        cwd=str(cwd),
        platform=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        date=date.today().isoformat(),
        branch=branch.strip(),
        status="\n".join(lines) if looked_at else "(not looked at)",
    )


def system_prompt(
    surroundings: Surroundings, *, profile: PromptProfile, kernel: bool
) -> tuple[SystemPart, ...]:
    """The parts of the system prompt; the short profile stays under 800 tokens."""
    if profile == "short":
        return (SystemPart(_prompt("short")),)
    static = _prompt("system") + ("\n" + _prompt("kernel") if kernel else "")
    return (SystemPart(static, cache=True), SystemPart(_environment(surroundings), cache=True))


def _environment(here: Surroundings) -> str:
    lines = [
        "# Environment",
        f"Working folder: {here.cwd}",
        f"Platform: {here.platform}",
        f"Python: {here.python}",
        f"Date: {here.date}",
    ]
    if here.branch:
        lines.append(f"Git branch: {here.branch}")
        lines.append(f"Git status at the start:\n{here.status or '(clean)'}")
    else:
        lines.append("Not a git repository.")
    return "\n".join(lines)


def _prompt(name: str) -> str:
    return (files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8")


async def _git(cwd: Path, *arguments: str) -> str:
    environment = with_tame_git(os.environ, read_only=True)
    try:
        completed = await run(
            ["git", *arguments],
            cwd=cwd,
            env=environment,
            time_limit=_GIT_SECONDS,
            stderr_apart=True,
        )
    except OSError:
        return ""
    return completed.output if completed.exit_code == 0 else ""
