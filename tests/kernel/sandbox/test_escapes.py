"""The sandbox against those who want out: every case of the corpus, for real, as root and as a user."""

import os
import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from maia_kernel import processes
from maia_kernel.sandbox.values import MechanismName
from tests.support.boxes import in_sandbox
from tests.support.world import users, world

CASES = tomllib.loads(
    (Path(__file__).parents[2] / "corpora" / "sandbox_escapes.toml").read_text(encoding="utf-8")
)["case"]
SOAK = os.environ.get("MAIA_SOAK") == "1"
_PROOF = "\necho it 'ran'"
MECHANISMS: tuple[MechanismName, ...] = ("bubblewrap", "landlock")


@dataclass(frozen=True)
class Case:
    name: str
    command: str
    tells: str = ""
    user: str = ""
    control: bool = True


def cases(user: str, *, sample: int = 0) -> list[Case]:
    """The cases of a user; a seeded sample of them unless all are wanted."""
    found = [Case(**row) for row in CASES]
    found = [case for case in found if not case.user or case.user == user]
    if sample and not SOAK:
        found = random.Random(sample).sample(found, sample)
    return found


def tries() -> list[object]:
    """Every case with bubblewrap as a user, a sample of the other three combinations."""
    first = users()[0]
    return [
        pytest.param(name, user, case, id=f"{name}-{user}-{case.name}")
        for name in MECHANISMS
        for user in users()
        for case in cases(user, sample=0 if (name, user) == ("bubblewrap", first) else 20)
    ]


@pytest.mark.parametrize(("name", "user", "case"), tries())
async def test_no_way_out(
    name: MechanismName, user: str, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given the sandbox, when a command tries to get out of it, then nothing outside has changed."""
    with world(user) as made:
        before = made.seen()
        done, _ = await in_sandbox(made, name, made.worded(case.command) + _PROOF, monkeypatch)
        assert "it ran" in done.output
        assert made.violations(done.output, before, case.tells) == [], done.output


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name) for c in cases(users()[0], sample=20) if c.control]
)
async def test_without_a_sandbox_it_is_a_way_out(case: Case) -> None:
    """Given no sandbox, the same command does what it must not: the case can fail."""
    user = case.user or users()[0]
    with world(user) as made:
        before = made.seen()
        done = await processes.run(
            [*made.prefix, "bash", "-c", made.worded(case.command) + _PROOF],
            cwd=made.work,
            env=made.environment,
            time_limit=30,
        )
        assert "it ran" in done.output
        assert made.violations(done.output, before, case.tells) != [], done.output
