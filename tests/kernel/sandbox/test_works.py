"""Ordinary work goes on in the sandbox."""

import sys
from pathlib import Path

import pytest

from maia_kernel.sandbox import SandboxSettings
from maia_kernel.sandbox.mechanism import find_mechanism, why_not
from maia_kernel.sandbox.values import MechanismName
from tests.support.boxes import in_sandbox
from tests.support.world import users, world

BOTH: tuple[MechanismName, ...] = ("bubblewrap", "landlock")
USER = users()[0]

WORK = [
    ("echo a > sub/new && cat sub/new", "a"),
    ("echo a >> sub/notes.txt; echo b >> sub/notes.txt; wc -l < sub/notes.txt", "2"),
    ("mkdir -p sub/x/y && touch sub/x/y/z && rm -r sub/x && ls sub/x 2>&1 | wc -l", "1"),
    ("echo a > $TMPDIR/t && cat $TMPDIR/t && rm $TMPDIR/t", "a"),
    ("cat <<< here; echo piped | tr a-z A-Z; echo x > /dev/null", "here\nPIPED"),
    ("sleep 0.01 & wait; echo $?", "0"),
    ("cat ~/diary.txt", "dear diary"),
    ("(exit 7)", ""),
    ("kill -9 $$", ""),
    ("git status --porcelain | grep sub", "?? sub/"),
    (
        "{python} -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); print(b.recv(1))'",
        "b'x'",
    ),
    ('{python} -c \'import subprocess; print(subprocess.check_output(["echo", "x"]))\'', "b'x\\n'"),
    (
        '{python} -c \'import os; f = os.memfd_create("x"); os.write(f, open("/bin/echo", "rb").read());'
        ' os.execve(f, ["echo", "from memory"], {{}})\'',
        "from memory",
    ),
]
# With namespaces the working folder's own entries, git and a network of one's own come as well.
MORE = [
    ("echo a > new && mv new newer && cat newer", "a"),
    ("mktemp > /dev/null && echo a > /tmp/t && cat $TMPDIR/t", "a"),
    ("chmod +x sub && echo ok", "ok"),
    (
        "git add sub && git -c user.name=A -c user.email=a@example.com commit -qm x && git log --format=%s",
        "x",
    ),
    (
        '{python} -c \'import socket; s = socket.create_server(("127.0.0.1", 0));'
        ' socket.create_connection(s.getsockname()); print("met")\'',
        "met",
    ),
    (
        "{python} -c 'import multiprocessing as m; print(m.get_context(\"fork\").Pool(2).map(abs, [-1]))'",
        "[1]",
    ),
]


@pytest.mark.parametrize("name", BOTH)
async def test_both_hold_here(name: MechanismName) -> None:
    """Given this machine (CI has both), then a trial of either succeeds; bubblewrap is preferred."""
    assert await why_not(name) is None
    assert (await find_mechanism()).name == "bubblewrap"


@pytest.mark.parametrize(
    ("name", "command", "printed"),
    [("bubblewrap", *row) for row in (*WORK, *MORE)] + [("landlock", *row) for row in WORK],
)
async def test_ordinary_commands(
    name: MechanismName, command: str, printed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given the sandbox, when a command keeps to its folders, then it does what it always does."""
    with world(USER) as made:
        done, held = await in_sandbox(made, name, made.worded(command), monkeypatch)
    assert done.output.strip() == printed
    assert held == []


@pytest.mark.parametrize("name", BOTH)
async def test_it_ends_as_the_command_ends(
    name: MechanismName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code, or the signal's, is that of the command."""
    with world(USER) as made:
        assert (await in_sandbox(made, name, "exit 7", monkeypatch))[0].exit_code == 7
    with world(USER) as made:
        assert (await in_sandbox(made, name, "kill -9 $$", monkeypatch))[0].exit_code == 137


@pytest.mark.parametrize("name", BOTH)
async def test_what_is_held_back_is_named(
    name: MechanismName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given something made under a protected name, then it is there under another, and is told of."""
    with world(USER) as made:
        command = "mkdir sub/.vscode && echo x > sub/.vscode/tasks.json"
        _, held = await in_sandbox(made, name, command, monkeypatch)
        assert [place.name.rpartition("-")[0] for place in held] == [".vscode.held"]
        assert (held[0] / "tasks.json").read_text() == "x\n"


@pytest.mark.parametrize("name", BOTH)
async def test_settings_give_and_take(name: MechanismName, monkeypatch: pytest.MonkeyPatch) -> None:
    """`allowWrite`, `denyWrite`, `allowRead` and `denyRead` move the bounds."""
    with world(USER) as made:
        (made.base / "data").mkdir()
        (made.work / "results").mkdir()
        if USER == "other":
            for place in (made.base / "data", made.work / "results"):
                place.chmod(0o777)
        settings = SandboxSettings(
            enabled=True,
            allow_write=(made.base / "data",),
            deny_write=(made.work / "results",),
            allow_read=(made.home / ".aws",),
            deny_read=(made.home / "diary.txt",),
        )
        command = (
            f"echo x > {made.base}/data/x && echo given; echo x > results/x || echo taken;"
            "cat ~/.aws/credentials; echo; cat ~/diary.txt || echo unread; ls ~/.ssh | wc -l"
        )
        done, _ = await in_sandbox(made, name, command, monkeypatch, settings)
        printed = [line for line in done.output.splitlines() if ":" not in line]
        assert printed == ["given", "taken", "SECRET-7c1f", "unread", "0"]


async def test_this_programs_own_files_are_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a working folder that holds the environment MAIA runs in, then nothing is written there."""
    with world(users()[-1]) as made:
        environment = made.work / "env"
        environment.mkdir()
        (environment / "inside").write_text("")
        monkeypatch.setattr(sys, "prefix", str(environment))
        done, _ = await in_sandbox(made, "bubblewrap", "echo x > env/evil.pth; ls env", monkeypatch)
        assert Path(environment / "inside").exists()
        assert done.output.splitlines()[-1] == "inside"
