"""What the model is told of the surroundings, and what is not run to find out."""

import subprocess
from pathlib import Path

import pytest

from maia_kernel.context import Surroundings, assemble, observe, system_prompt
from maia_kernel.messages import assistant, user


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


async def test_a_repository_is_described_by_branch_and_status(tmp_path: Path) -> None:
    """Given a repository with a new file, both are seen, and the index is not touched."""
    git(tmp_path, "init", "-b", "trunk")
    git(
        tmp_path,
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.com",
        "commit",
        "--allow-empty",
        "-m",
        "x",
    )
    (tmp_path / "new.txt").write_text("x")
    here = await observe(tmp_path)
    assert here.branch == "trunk"
    assert "new.txt" in here.status


@pytest.mark.parametrize("key", ["core.fsmonitor", "filter.x.clean", "core.hooksPath"])
async def test_a_hostile_repository_runs_nothing(tmp_path: Path, key: str) -> None:
    """Given a repository whose configuration names a program, looking around does not run it."""
    git(tmp_path, "init", "-b", "trunk")
    (tmp_path / ".gitattributes").write_text("* filter=x\n")
    (tmp_path / "a.txt").write_text("x")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-m", "x")
    hook = tmp_path / "hooks" / "post-index-change"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    hook.chmod(0o755)
    program = str(hook.parent) if key == "core.hooksPath" else f"touch {tmp_path}/pwned; cat"
    git(tmp_path, "config", key, program)
    (tmp_path / "a.txt").write_text("y")
    here = await observe(tmp_path)
    assert here.branch == "trunk"
    assert not (tmp_path / "pwned").exists()


async def test_a_folder_without_git_is_described_too(tmp_path: Path) -> None:
    """Given no repository, the prompt says so."""
    here = await observe(tmp_path)
    parts = system_prompt(here, profile="full", kernel=False)
    assert "Not a git repository" in parts[-1].text
    assert str(tmp_path) in parts[-1].text


def test_what_is_the_same_for_everybody_stands_before_the_cache_mark() -> None:
    """Given two people, the first part of their prompts is equal to the byte."""
    one = Surroundings("/home/a", "Linux 6", "3.11.1", "2026-01-01", "main", "")
    two = Surroundings("/srv/b", "Linux 5", "3.13.0", "2026-02-02")
    first, second = (system_prompt(here, profile="full", kernel=True) for here in (one, two))
    assert first[0] == second[0]
    assert first[0].cache
    assert first[1] != second[1]


def test_the_short_profile_stays_short() -> None:
    """Given a small model, the system prompt is far below 800 tokens (4 characters a token)."""
    here = Surroundings("/home/a", "Linux", "3.11", "2026-01-01")
    parts = system_prompt(here, profile="short", kernel=True)
    assert sum(len(part.text) for part in parts) < 800 * 2


def test_at_most_four_cache_marks() -> None:
    """Given a long conversation, two marks move with the newest user messages, two stand above."""
    here = Surroundings("/home/a", "Linux", "3.11", "2026-01-01")
    messages = tuple(user("q") if n % 2 == 0 else assistant("a") for n in range(9))
    system = system_prompt(here, profile="full", kernel=False)
    request = assemble(messages, model="m", system=system, tools=(), max_tokens=None)
    assert request.cache_after == (6, 8)
    assert len(request.cache_after) + sum(part.cache for part in request.system) == 4
