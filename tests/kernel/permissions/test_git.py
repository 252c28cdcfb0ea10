"""Git unasked: nothing kept from reading is shown, and no program of a repository is run."""

import subprocess
from pathlib import Path

import pytest

from maia_kernel.permissions import Policy, RuleSource, Subject, decide, parse_rule


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A real repository without a commit."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.py").write_text("x")
    (tmp_path / ".env").write_text("KEY=1")
    return tmp_path


def behavior(command: str, folder: Path, *denied: str) -> str:
    source = RuleSource("user", None, folder)
    rules = tuple(parse_rule(f"Read({name})", "deny", source) for name in denied)
    policy = Policy(rules, "default", folder, Path.home())
    return decide(Subject("Bash", read_only=False, command=command), policy).behavior


@pytest.mark.parametrize(
    "command",
    [
        "git show :0:.env", "git show :.env", "git show HEAD:.env", "git show HEAD:./.env",
        "git show 'HEAD@{0}:.env'", "git show stash@{0}:.env", "git log -L1,1:.env", "git log -L 1,1:.env",
        "git log -p -- .env", "git diff -- .env", "git diff HEAD:.env HEAD:a.py", "git blame .env",
        "git blame -L 1,1 -- .env", "git cat-file -p :0:.env", "git cat-file -p HEAD:.env",
        "git grep KEY -- .env", "git archive HEAD .env", "git show ':(top).env'",
    ],
)  # fmt: skip
def test_a_denied_file_named_to_git_is_denied(command: str, repository: Path) -> None:
    """Given a denial to read `.env`, every way to name it to git is denied."""
    assert behavior(command, repository, ".env") == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "git show", "git show HEAD", "git show 0123abc", "git show -s 0123abc", "git show HEAD a.py",
        "git show --stat 0123abc", "git log -p", "git log -u", "git log --patch", "git log -3 -U1",
        "git log -L1,1:a.py", "git log --word-diff -p", "git diff", "git diff HEAD~1", "git diff --check",
        "git diff --stat -p", "git diff --cached", "git cat-file -p 0123abc", "git grep KEY",
        "git status -v", "git show 'HEAD^{/x:y}'", "git show HEAD:a.py ':(glob).e*'",
    ],
)  # fmt: skip
def test_git_that_may_show_a_denied_file_asks(command: str, repository: Path) -> None:
    """Given a denial to read `.env`, git that shows the contents of files it is not told asks."""
    assert behavior(command, repository, ".env") == "ask"
    quoted = ("git show 'HEAD^{", "git show HEAD:a.py ':(")
    if not command.startswith(quoted):
        assert behavior(command, repository) == "allow"


def test_git_that_shows_names_or_another_file_runs(repository: Path) -> None:
    """Given a denial to read `.env`, names, statistics and a file that is named run unasked."""
    for command in (
        "git status", "git log --oneline -5", "git log --stat", "git diff --stat", "git diff --name-only",
        "git show HEAD:a.py", "git show HEAD:sub/a.py", "git cat-file -p HEAD:a.py", "git blame a.py",
        "git cat-file -t HEAD", "git branch -a", "git ls-files",
    ):  # fmt: skip
        assert behavior(command, repository, ".env") == "allow", command


def test_a_file_above_the_working_folder_asks(repository: Path) -> None:
    """Given a session in a sub-folder, `REVISION:file` is looked for from the repository's top."""
    assert behavior("git show HEAD:a.py", repository / "sub") == "ask"
    assert behavior("git show HEAD:sub/a.py", repository / "sub") == "allow"


@pytest.mark.parametrize(
    "lines",
    [
        '[diff "x"]\n\ttextconv = ./p', '[diff "x"] command = ./p', "[diff]\nexternal=./p", "[diff.x]textconv=./p",
        '[filter "x"]\nClean = ./p', '[filter "x"]\n  smudge=./p', '[filter "x"] process = ./p',
        "[include]\npath = ../c", '[includeIf "gitdir:/"]\npath = c', "[core]\nworktree = /", "#\n[core]\\\n",
        '[remote "x"]\npromisor = true',
    ],
)  # fmt: skip
def test_a_repository_that_names_drivers_asks(lines: str, repository: Path) -> None:
    """Given a configuration of the repository's own with a driver, git asks, though it only reads."""
    assert behavior("git diff", repository) == "allow"
    with (repository / ".git" / "config").open("a") as file:
        file.write(f"\n{lines}\n")
    harmless = lines.startswith("#")
    assert behavior("git diff", repository) == ("allow" if harmless else "ask")
    assert behavior("ls", repository) == "allow"


def test_a_repository_that_cannot_be_judged_asks(repository: Path, tmp_path: Path) -> None:
    """A bare look-alike, a `.git` that leads elsewhere and one below a broken one all ask."""
    bare = tmp_path / "bare"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".git").write_text(f"gitdir: {repository}/.git\n")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".git").symlink_to(repository / ".git")
    for folder in (bare, elsewhere, linked):
        assert behavior("git status", folder) == "ask", folder
    inner = repository / "sub"
    (inner / ".git").mkdir()
    assert behavior("git status", inner) == "allow"
    with (repository / ".git" / "config").open("a") as file:
        file.write("[diff]\nexternal = ./p\n")
    assert behavior("git status", inner) == "ask"


def test_a_linked_worktree_is_no_stranger(repository: Path) -> None:
    """Given a worktree that its repository knows, git reads there unasked."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    git = ["git", "-C", str(repository)]
    subprocess.run([*git, *identity, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(repository / "tree")], check=True)
    assert behavior("git status", repository / "tree") == "allow"


def test_nested_repositories_ask_where_git_enters_them(repository: Path) -> None:
    """Given a repository inside as a submodule, status and diff ask, log does not."""
    entry = f"160000,{'1' * 40},inner"
    subprocess.run(
        ["git", "-C", str(repository), "update-index", "--add", "--cacheinfo", entry], check=True
    )
    for command in ("git status", "git diff", "git describe --dirty"):
        assert behavior(command, repository) == "ask"
    assert behavior("git log --oneline", repository) == "allow"


def test_what_runs_on_is_not_reading(tmp_path: Path) -> None:
    """Given a command left in the background, it asks, whatever it is; rules may cover each part."""
    for command in (
        "sleep 333 &", "ls & ls", "(sleep 3 &)", "if ls; then sleep 3 & fi", "ls | cat &",
        "coproc ls", "nohup ls", "ls; disown", "{ sleep 9; } &", "while true; do ls & done",
    ):  # fmt: skip
        assert behavior(command, tmp_path) == "ask", command
    assert behavior("ls 2>&1 && ls", tmp_path) == "allow"
    source = RuleSource("user", None, tmp_path)
    rules = tuple(parse_rule(f"Bash({p}:*)", "allow", source) for p in ("npm test", "sleep"))
    trusting = Policy(rules, "default", tmp_path, Path.home())
    both = Subject("Bash", read_only=False, command="sleep 1 & npm test")
    assert decide(both, trusting).behavior == "allow"
    other = Subject("Bash", read_only=False, command="tail -f a & npm test")
    assert decide(other, trusting).behavior == "ask"
    plan = Policy((), "plan", tmp_path, Path.home())
    assert decide(Subject("Bash", read_only=False, command="sleep 3 &"), plan).behavior == "deny"
