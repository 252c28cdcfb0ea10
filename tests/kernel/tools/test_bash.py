"""Bash: exit codes, streaming, folders, limits, the environment, and nothing left behind."""

import asyncio
import os
import time
from contextlib import aclosing
from pathlib import Path

import psutil
import pytest

from maia_kernel.display import TextDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.settings.keys import KnownSecrets
from maia_kernel.settings.values import Secret
from maia_kernel.tools.base import Progress, ToolContext
from maia_kernel.tools.bash import Bash, BashInput
from maia_kernel.tools.shell import exit_one_is_an_answer
from tests.support.tools import Call, call


async def bash(context: ToolContext, command: str, **more: object) -> Call:
    return await call(Bash(), context, command=command, **more)


async def test_output_and_displays(context: ToolContext) -> None:
    """A command gives its output, and is drawn as bash code."""
    done = await bash(context, "echo out; echo err >&2", description="Say it")
    assert done.text == "out\nerr"
    assert not done.output.is_error
    assert done.output.displays == (
        TextDisplay("echo out; echo err >&2", "bash", "Say it"),
        TextDisplay("out\nerr"),
    )
    assert (await bash(context, "true")).text == "(no output)"


async def test_a_failing_command_is_an_error_with_its_code(context: ToolContext) -> None:
    """A non-zero exit is marked as an error and says the code."""
    done = await bash(context, "echo no; exit 3")
    assert done.output.is_error
    assert done.text == "Exit code 3\nno"
    syntax = await bash(context, "echo 'open")
    assert syntax.output.is_error
    assert syntax.text.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "is_error"),
    [
        ("grep x /dev/null", False),
        ("echo a | grep b", False),
        ("diff /dev/null /etc/passwd | grep zzz9", False),
        ("test -f nothing", False),
        ("[ 1 = 2 ]", False),
        ("grep x no-such-file", True),
        ("false", True),
        ("grep x /dev/null; sh -c 'exit 1'", True),
        ("false # grep", True),
    ],
)
async def test_exit_one_of_programs_that_answer_with_it(
    context: ToolContext, command: str, is_error: bool
) -> None:
    """Exit code 1 of grep, diff or test is an answer; other failures are errors."""
    done = await bash(context, command)
    assert done.output.is_error is is_error
    assert done.text.startswith("Exit code")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git diff --exit-code", True),
        ("git -C x diff", False),
        ("A=1 /usr/bin/grep 'a;b' f\n", True),
        ("grep a f && echo yes", False),
        ("grep 'open", False),
        ("", False),
    ],
)
def test_which_commands_answer_with_exit_one(command: str, expected: bool) -> None:
    """The last simple command decides."""
    assert exit_one_is_an_answer(command) is expected


async def test_a_cd_lasts_inside_the_working_folder(context: ToolContext) -> None:
    """Given a cd, the next command starts there, however the first one ended."""
    (context.cwd / "a" / "b c").mkdir(parents=True)
    await bash(context, "cd a")
    assert (await bash(context, "pwd")).text == str(context.cwd / "a")
    await bash(context, "cd 'b c'; exit 3")
    assert (await bash(context, "pwd")).text == str(context.cwd / "a/b c")
    await bash(context, "cd ..; trap 'echo bye' EXIT")
    assert (await bash(context, "pwd")).text == str(context.cwd / "a")
    await bash(context, "cd ..; false")
    assert (await bash(context, "pwd")).text == str(context.cwd)
    assert (await bash(context, "cd a && exec sh -c 'exit 4'")).text == "Exit code 4"
    await bash(context, "(cd a); cd a &")
    assert (await bash(context, "pwd")).text == str(context.cwd)
    assert [path for path in context.spill.iterdir() if path.suffix == ".cwd"] == []


async def test_a_cd_outside_is_taken_back(context: ToolContext, tmp_path: Path) -> None:
    """Given a cd out of the working folders, the note says so; additional folders are fine."""
    done = await bash(context, "cd /usr; pwd")
    assert done.text == f"/usr\nShell cwd was reset to {context.cwd}"
    assert context.shell_cwd == context.cwd
    other = tmp_path.resolve() / "other"
    other.mkdir()
    context.additional = (other,)
    assert (await bash(context, f"cd {other}")).text == "(no output)"
    assert (await bash(context, "pwd")).text == str(other)
    other.rmdir()
    assert "is gone" in (await bash(context, "pwd")).text


async def test_the_command_sees_nothing_of_ours(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments, variables and line numbers are those of a plain `bash -c`."""
    monkeypatch.delenv("OLDPWD", raising=False)  # the folder of whoever runs the tests
    assert (
        await bash(context, "echo $# $0 $LINENO; set | grep -i maia | grep -cv ^MAIA_CALL=")
    ).text.endswith("0 bash 1\n0")


async def test_keys_are_hidden_and_settings_count(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hidden names are absent from the child, unless the settings' `env` sets them."""
    monkeypatch.setenv("EXAMPLE_API_KEY", "canary-value")
    monkeypatch.setenv("OTHER_API_KEY", "canary-other")
    monkeypatch.setenv("FORCE_COLOR", "1")
    context.hidden_env = ("EXAMPLE_API_KEY", "OTHER_API_KEY")
    context.env = {"OTHER_API_KEY": "of the person", "GREETING": "hello"}
    done = await bash(
        context, 'echo "[$EXAMPLE_API_KEY] [$OTHER_API_KEY] $GREETING [$FORCE_COLOR] $TERM"'
    )
    assert done.text == "[] [of the person] hello [] dumb"
    assert "canary" not in (await bash(context, "env")).text


async def test_output_streams(context: ToolContext) -> None:
    """Progress arrives while the command runs; together it is the output."""
    parsed = BashInput(command="echo 1; while [ ! -e go ]; do sleep 0.02; done; echo 2")
    pieces: list[str] = []
    async with aclosing(Bash().run(parsed, context)) as steps:  # type: ignore[type-var]
        async for step in steps:
            if isinstance(step, Progress):
                pieces.append(step.text)
                (context.cwd / "go").touch()
    assert "".join(pieces) == "1\n2\n"


async def test_progress_of_a_flood_is_bounded(context: ToolContext) -> None:
    """Given megabytes of output, progress stays small and the result names the file with all of it."""
    done = await bash(context, "seq 1000000")
    assert sum(map(len, done.progress)) < 70_000
    assert len(done.text) < 31_000
    (spilled,) = context.spill.glob("bash-*.txt")
    assert str(spilled) in done.text
    assert spilled.read_text().endswith("999999\n1000000\n")


async def test_the_time_limit(context: ToolContext) -> None:
    """A command over its time is ended, and what it printed is kept."""
    done = await bash(context, "cd /; echo early; sleep 60", timeout=300)
    assert done.output.is_error
    assert done.text.startswith("Stopped after 0.3 s")
    assert "early" in done.text
    assert context.shell_cwd == context.cwd


async def test_cancellation_ends_a_stubborn_command(context: ToolContext) -> None:
    """Cancelled while a child ignores TERM, the call ends with no process left."""
    command = "trap '' TERM INT; echo $$; while :; do sleep 0.05; done"
    pids: list[int] = []

    async def consume() -> None:
        async with aclosing(Bash().run(BashInput(command=command), context)) as steps:  # type: ignore[type-var]
            async for step in steps:
                if isinstance(step, Progress):
                    pids.append(int(step.text))

    task = asyncio.create_task(consume())
    while not pids:
        await asyncio.sleep(0.01)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 10
    assert not psutil.pid_exists(pids[0])


async def test_a_background_process_is_named(context: ToolContext) -> None:
    """A process left in the background does not hold the call and is told."""
    done = await bash(context, "sleep 60 & echo $!")
    pid = int(done.text.splitlines()[0])
    try:
        assert f"still running in the background: process {pid}" in done.text
    finally:
        os.kill(pid, 9)


async def test_calls_that_cannot_run(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty command or a NUL is refused; a machine without bash says so."""
    for command in ("", "  \n", "a\0b"):
        with pytest.raises(ToolRetry):
            Bash().validate(BashInput(command=command), context)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolFailed, match="not installed"):
        await bash(context, "true")


def test_subject(context: ToolContext) -> None:
    """The subject holds the command, where it starts, and whether it only reads."""
    tool = Bash()
    context.shell_cwd = context.cwd / "sub"
    reading = tool.subject(BashInput(command="ls -la"), context)
    assert (reading.read_only, reading.command, reading.folder) == (
        True,
        "ls -la",
        context.shell_cwd,
    )
    assert not tool.subject(BashInput(command="rm x"), context).read_only
    assert tool.concurrency_safe(BashInput(command="ls"), context)
    assert not tool.concurrency_safe(BashInput(command="cd x && ls"), context)
    assert tool.summary(BashInput(command="make\ntest"), context) == "make …"


async def test_git_status_runs_no_program_of_a_hostile_repository(context: ToolContext) -> None:
    """Given a repository whose configuration names a file system monitor, git does not start it."""
    await bash(context, "git init -q . && git config core.fsmonitor 'touch pwned; false'")
    done = await bash(context, "git status --short")
    assert not done.output.is_error
    assert not (context.cwd / "pwned").exists()


async def test_reading_git_runs_no_hook_and_no_program_of_a_repository(
    context: ToolContext,
) -> None:
    """Given hooks and programs in a repository, git that only reads starts none; asked git does."""
    program = context.cwd / "program"
    program.write_text(f'#!/bin/sh\necho "$0" >> {context.cwd}/pwned\n')
    program.chmod(0o755)
    await bash(
        context,
        "git init -q . && git config user.name a && git config user.email a@example.com && touch a "
        "&& git add a && git commit -qm x && cp program .git/hooks/post-index-change "
        "&& git config log.showSignature true && git config gpg.program ./program "
        "&& git config core.pager ./program && git config core.sshCommand ./program "
        "&& rm -f pwned",
    )
    for command in (
        "git status", "git diff", "git describe --always --dirty", "git log", "git log --format=%G?",
        "git show", "git blame a",
    ):  # fmt: skip
        os.utime(context.cwd / "a", (1, 1))
        done = await bash(context, command)
        assert not done.output.is_error, done.text
        assert not (context.cwd / "pwned").exists(), command
        os.utime(context.cwd / "a", (2, 2))
    await bash(context, "git add a; git update-index --refresh")
    assert (context.cwd / "pwned").exists()


async def test_a_folder_made_to_look_like_a_bare_repository_is_none(context: ToolContext) -> None:
    """Given a bare repository among the files, git does not take it for the repository."""
    await bash(context, "git init -q --bare .")
    done = await bash(context, "git rev-parse --git-dir")
    assert done.output.is_error
    assert "bare" in done.text


async def test_git_settings_of_the_person_stay(context: ToolContext) -> None:
    """Given git settings in the environment already, ours come after them."""
    context.env = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "A B",
    }
    done = await bash(context, "git config user.name; git config core.fsmonitor")
    assert done.text == "A B\nfalse"


async def test_a_long_output_kept_in_a_file_holds_no_known_secret(context: ToolContext) -> None:
    """Given a key in use in an output too long to return, the file that holds it whole has `***`."""
    key = "sk-test-canary-0123456789"
    known = KnownSecrets()
    known.add(Secret(key))
    context.secrets = known
    await bash(context, f"seq 20000; echo {key[:9]}''{key[9:]}; seq 20000")
    (spilled,) = context.spill.glob("bash-*.txt")
    words = spilled.read_text()
    assert key not in words
    assert "***" in words
    assert words.endswith("20000\n")


@pytest.mark.parametrize(
    ("command", "counts"),
    [
        ("cat a.txt", True),
        ("cat -- 'a.txt'", True),
        ("cat sub/b.txt", True),
        ("cat -n a.txt", False),
        ("cat a.txt sub/b.txt", False),
        ("cat a.txt | head -1", False),
        ("cat $x", False),
        ("head -1 a.txt", False),
        ("cat missing", False),
    ],
)
async def test_a_file_printed_whole_counts_as_read(
    context: ToolContext, command: str, counts: bool
) -> None:
    """Given a command that prints one file as it is, Edit needs no Read; given any other, it does."""
    (context.cwd / "sub").mkdir()
    for name in ("a.txt", "sub/b.txt"):
        (context.cwd / name).write_text("one\ntwo\n")
    await bash(context, command)
    assert bool(context.seen) is counts
