"""Hostile repositories: loading MAIA in one and prompting runs nothing of theirs, sends nothing to them."""

import io
import json
import os
import random
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from maia_kernel.settings import Settings, load
from maia_kernel.settings.granting import decide
from tests.support.kernels import kernel
from tests.support.server import ModelServer, text, tool_use

ROOT = Path(__file__).parent
REPOSITORIES: dict[str, dict[str, Any]] = {
    entry["name"]: entry
    for entry in tomllib.loads((ROOT / "corpora" / "repositories.toml").read_text("utf-8"))[
        "repository"
    ]
}
SOAK = os.environ.get("MAIA_SOAK") == "1"
IN_KERNELS = sorted(name for name, entry in REPOSITORIES.items() if "kernel" in entry)
OTHERS = sorted(REPOSITORIES.keys() - set(IN_KERNELS))
# By default the two kinds of kernel, and a sample in this process.
KERNELS = sorted(REPOSITORIES) if SOAK else IN_KERNELS[-2:]
SAMPLE = sorted(REPOSITORIES) if SOAK else random.Random(7).sample(OTHERS, 8)
KEY = "sk-ant-canary-of-the-person"
LAUNCHES = {"plain": ("-m", "ipykernel_launcher"), "own": ("-P", "-m", "maia.launcher")}


@dataclass
class Repository:
    """One entry of the corpus on disk, and what it must not get at."""

    entry: dict[str, Any]
    root: Path
    theirs: ModelServer
    canary: Path
    outside: Path
    made: list[str] = field(default_factory=list)

    @property
    def work(self) -> Path:
        return self.root / self.entry.get("work", "")

    def write(self, files: dict[str, str], folder: Path) -> None:
        for name, content in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.filled(content), encoding="utf-8")
            if file.suffix == ".sh" or file.parent.name in ("hooks", "bin"):
                file.chmod(0o755)

    def filled(self, content: str) -> str:
        for name, value in (
            ("{canary}", self.canary),
            ("{theirs}", self.theirs.url),
            ("{outside}", self.outside),
            ("{here}", self.work),
            ("DEEP", "[" * 100_000),
        ):
            content = content.replace(name, str(value))
        return content

    def make(self) -> None:
        """Everything but what came later than trust."""
        entry = self.entry
        self.work.mkdir(parents=True, exist_ok=True)
        self.write(entry.get("elsewhere", {}), self.outside)
        self.write({"README.md": "Words.\n", "code.py": "x = 1\n"}, self.root)
        if "git" in entry:
            self._make_git(entry["git"])
        self.write(entry.get("files", {}), self.root)
        for name, target in entry.get("links", {}).items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).symlink_to(self.filled(target))
        for name in entry.get("pipes", ()):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            os.mkfifo(self.root / name)
        for name, size in entry.get("large", {}).items():
            self.write({name: '{"a": "' + "b" * size + '"}'}, self.root)
        many = entry.get("many", {})
        for number in range(many.get("count", 0)):
            self.write({many["file"].replace("{n}", str(number)): many["text"]}, self.root)
        if "allow" in entry:
            rules = [f"Bash(touch {number})" for number in range(entry["allow"])]
            self.write(
                {".maia/settings.json": json.dumps({"permissions": {"allow": rules}})}, self.root
            )

    def trust_what_was_there(self, home: Path) -> None:
        self.write(self.entry.get("before", {}), self.root)
        settings = settings_of(self, home)
        decide(settings, settings.waiting, "trusted")
        self.write(self.entry.get("files", {}), self.root)

    def _make_git(self, config: str) -> None:
        def git(*words: str) -> None:
            identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
            subprocess.run(["git", *identity, *words], cwd=self.root, check=True, timeout=20)

        git("init", "-q")
        git("add", "README.md", "code.py")
        git("commit", "-q", "-m", "begin")
        self.write({"code.py": "x = 2\n"}, self.root)
        with (self.root / ".git" / "config").open("a", encoding="utf-8") as file:
            file.write(self.filled(config))
        hooks = {n: c for n, c in self.entry.get("files", {}).items() if n.startswith("hooks/")}
        self.write(hooks, self.root / ".git")


@pytest.fixture
def repository(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[Repository]:
    """The repository of the corpus that the test names."""
    entry = REPOSITORIES[request.param]
    (tmp_path / "outside").mkdir()
    with ModelServer() as theirs:
        theirs.always("ours now")
        made = Repository(
            entry, tmp_path / "project", theirs, tmp_path / "canary", tmp_path / "outside"
        )
        made.make()
        if "before" in entry:
            made.trust_what_was_there(home)
        yield made
        assert not made.canary.exists(), "something of theirs ran"
        assert theirs.requests == [], "something was sent to them"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """The person's model server; its model looks around and tries what the repository would allow."""
    with ModelServer() as served:
        served.reply(
            tool_use("Read", {"file_path": "README.md"}),
            tool_use("Glob", {"pattern": "**/*.py"}),
            tool_use("Grep", {"pattern": "x", "output_mode": "content"}),
            tool_use("Bash", {"command": "git status"}),
            tool_use("Bash", {"command": "git diff HEAD"}),
            tool_use("Bash", {"command": "git log -p -1"}),
        )
        served.reply(
            tool_use("Bash", {"command": "touch theirs.made"}),
            tool_use("Write", {"file_path": "theirs.made", "content": "x"}),
        )
        served.reply(text("All done."))
        yield served


def settings_of(repository: Repository, home: Path) -> Settings:
    return load(repository.work, environ={}, home=home, managed=home / "none.json")


def person(server: ModelServer) -> dict[str, str]:
    """The person's own environment: where the key may go."""
    return {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": server.url,
        "MAIA_MODEL": "anthropic:model-one",
    }


def installed(folder: Path) -> Path:
    """What to have in PYTHONPATH, so that MAIA is among the installed packages: on Python's path they
    come after the working folder, and that is how it is for people."""
    packages = folder / "site-packages"
    packages.mkdir()
    for source in ("maia_kernel", "magics/maia", "widgets/maia_widgets"):
        (packages / Path(source).name).symlink_to(ROOT.parent / source)
    start = folder / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(f"import sys; sys.path.append({str(packages)!r})\n")
    return start


def held(repository: Repository, server: ModelServer, said: str) -> None:
    """What must be so after the prompt."""
    assert "All done." in said, said
    assert not (repository.work / "theirs.made").exists(), "a rule of theirs allowed it"
    assert len(server.requests) == 3
    assert {request.headers["x-api-key"] for request in server.requests} == {KEY}


@pytest.mark.parametrize("repository", sorted(REPOSITORIES), indirect=True)
def test_what_waits_and_what_is_said(repository: Repository, home: Path) -> None:
    """Given the repository, then exactly what the corpus names waits for the person's word, and every
    file that is left out is named; with all of it refused nothing counts."""
    settings = settings_of(repository, home)
    waiting = sorted(f"{item.kind} {item.name}" for item in settings.waiting)
    if "many" in repository.entry:
        assert len(waiting) == 1_000
    else:
        assert waiting == sorted(repository.entry.get("waits", []))
    said = "\n".join(settings.warnings)
    for piece in repository.entry.get("warns", ()):
        assert piece in said, said
    granted = {"Bash(make)"} if "before" in repository.entry else set()
    assert {rule.text for rule in settings.rules if rule.behavior == "allow"} == granted
    assert (dict(settings.env), settings.mode, settings.additional) == ({}, "default", ())
    assert settings.anthropic.base_url is None


@pytest.mark.soak
@pytest.mark.parametrize("repository", SAMPLE, indirect=True)
def test_a_prompt_in_this_process(
    repository: Repository, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a shell where nobody can be asked, when the extension is loaded and prompted in the
    repository, then nothing of theirs runs."""
    monkeypatch.chdir(repository.work)
    for name, value in person(server).items():
        monkeypatch.setenv(name, value)
    shell = InteractiveShell()
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            shell.run_line_magic("load_ext", "maia")
            played = shell.run_cell("%%maia\nlook around")
        said = out.getvalue() + err.getvalue()
        if repository.entry.get("writes_nothing"):
            assert not played.success
            assert list(repository.outside.rglob(".sessions")) == []
        else:
            held(repository, server, said)
    finally:
        shell.run_line_magic("unload_ext", "maia")
        shell.history_manager.end_session()


@pytest.mark.soak
@pytest.mark.parametrize("repository", KERNELS, indirect=True)
def test_a_prompt_in_a_kernel(repository: Repository, server: ModelServer, home: Path) -> None:
    """Given a real kernel in the repository, plain or the kernelspec's own, then nothing of theirs
    runs: not at its start, not at loading, not at the prompt."""
    if repository.entry.get("writes_nothing"):
        pytest.skip("there is no place for a transcript")
    kind = repository.entry.get("kernel", "own")
    extra = ("--ext=maia",) if kind == "own" else ()
    environ = person(server) | {"PYTHONPATH": str(installed(home))}
    with kernel(
        home, cwd=repository.work, launch=LAUNCHES[kind], extra=extra, environ=environ
    ) as front_end:
        if kind == "plain":
            assert front_end.run("%load_ext maia").status == "ok"
        run = front_end.run("%%maia\nlook around", 60, allow_stdin=False)
        held(repository, server, run.text)
