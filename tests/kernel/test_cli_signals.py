"""Signals end `maia -p`, its turn and every process that it started; the exit code says which."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

STUBBORN = (
    "- reply: [{tool_use: {name: Bash, input: {command: "
    "\"trap '' TERM INT HUP; sleep 60 & echo $$ $! > made; mv made pids; while :; do sleep 60; done\""
    "}}}]\n"
)
# Whoever runs the tests may have us ignore some signals, which a child would inherit.
AS_USUAL = (
    "import os, signal, sys\n"
    "for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_DFL)\n"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
)


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        [sys.executable, "-c", AS_USUAL, "-m", "maia_kernel", *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield program
    finally:
        if program.poll() is None:
            program.kill()
        program.communicate()


def until_there(file: Path) -> None:
    deadline = time.monotonic() + 30
    while not file.exists():
        assert time.monotonic() < deadline, f"{file.name} never came"
        time.sleep(0.02)


def dead(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ((signal.SIGINT,), 130),
        ((signal.SIGTERM,), 143),
        ((signal.SIGHUP,), 129),
        ((signal.SIGQUIT,), 131),
        ((signal.SIGINT, signal.SIGINT), 130),
        ((signal.SIGHUP, signal.SIGTERM, signal.SIGINT), 129),
    ],
)
def test_a_signal_ends_the_turn_and_everything_it_started(
    tmp_path: Path, numbers: tuple[signal.Signals, ...], code: int
) -> None:
    """Given a command that ignores TERM and has a child in the background, both are gone, the journal
    ends its turn, and the JSON has the program's own exit code."""
    (tmp_path / "script.yaml").write_text(STUBBORN)
    chosen = ("--model", "scripted:script.yaml", "--mode", "bypassPermissions")
    with started(tmp_path, "-p", "go", *chosen, "--output-format", "json") as program:
        assert program.stdin is not None
        program.stdin.close()
        program.stdin = None
        until_there(tmp_path / "pids")
        for number in numbers:
            program.send_signal(number)
            time.sleep(0.1)
        stdout, stderr = program.communicate(timeout=30)
    assert program.returncode == code, stderr
    assert stderr == ""
    result = json.loads(stdout)
    assert (result["reason"], result["exit_code"]) == ("interrupted", code)
    assert all(dead(int(pid)) for pid in (tmp_path / "pids").read_text().split())
    (journal,) = (tmp_path / ".maia" / ".sessions").glob("*.jsonl")
    last = json.loads(journal.read_text().splitlines()[-1])
    assert (last["type"], last["reason"]) == ("turn_finished", "interrupted")


def test_a_second_signal_does_not_wait_for_the_stubborn(tmp_path: Path) -> None:
    """Given a command that ignores TERM, the second signal kills it while the first still asks."""
    (tmp_path / "script.yaml").write_text(STUBBORN)
    chosen = ("--model", "scripted:script.yaml", "--mode", "bypassPermissions")
    with started(tmp_path, "-p", "go", *chosen) as program:
        assert program.stdin is not None
        program.stdin.close()
        program.stdin = None
        until_there(tmp_path / "pids")
        shell, background = map(int, (tmp_path / "pids").read_text().split())
        program.send_signal(signal.SIGINT)
        time.sleep(0.2)
        asked_only = not dead(shell) and not dead(background)
        program.send_signal(signal.SIGINT)
        program.wait(timeout=30)
    assert asked_only
    assert dead(shell)
    assert dead(background)


def test_what_a_command_left_in_the_background_ends_with_the_program(tmp_path: Path) -> None:
    """Given an allowed command that put a process in the background, it does not outlive `maia -p`."""
    (tmp_path / "script.yaml").write_text(
        '- reply: [{tool_use: {name: Bash, input: {command: "sleep 60 & echo $! > pid"}}}]\n'
        "- reply: [Started.]\n"
    )
    chosen = ("--model", "scripted:script.yaml", "--mode", "bypassPermissions")
    with started(tmp_path, "-p", "go", *chosen) as program:
        stdout, stderr = program.communicate(timeout=30)
    assert (program.returncode, stdout) == (0, "Started.\n"), stderr
    assert dead(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_turn_is_no_traceback(tmp_path: Path, number: signal.Signals) -> None:
    """Given a program that still waits for its prompt, a signal ends it silently with its code."""
    with started(tmp_path, "--model", "scripted:none.yaml") as program:
        deadline = time.monotonic() + 30
        while not caught(program.pid):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        program.send_signal(number)
        program.wait(timeout=20)
        assert program.stderr is not None
        assert program.stderr.read() == ""
    assert program.returncode == 128 + number


def caught(pid: int) -> bool:
    """Whether the program takes signals already (`SigCgt` of proc(5))."""
    status = dict(
        line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    # SIGTERM is nobody's but ours; it is taken together with the others.
    return bool(int(status["SigCgt"], 16) >> (signal.SIGTERM - 1) & 1)


def test_an_ignored_hang_up_stays_ignored(tmp_path: Path) -> None:
    """Given `nohup`, a closed terminal does not end the program."""
    (tmp_path / "script.yaml").write_text("- reply: [All done.]\n")
    script = "trap '' HUP; exec \"$@\""
    program = subprocess.Popen(
        [
            *("bash", "-c", script, "bash", sys.executable, "-m", "maia_kernel"),
            *("--model", "scripted:script.yaml"),
        ],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not caught(program.pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    program.send_signal(signal.SIGHUP)
    stdout, stderr = program.communicate("go", timeout=30)
    assert (program.returncode, stdout) == (0, "All done.\n"), stderr
