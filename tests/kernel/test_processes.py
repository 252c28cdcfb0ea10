"""The runner of children: order, streaming, limits, and that nothing is left behind."""

import asyncio
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from maia_kernel import processes

ENV = {"PATH": os.environ["PATH"]}

STUBBORN = "trap '' TERM INT HUP; while :; do sleep 0.05; done"


async def sh(
    command: str, tmp_path: Path, time_limit: float = 30.0, **more: object
) -> processes.Completed:
    return await processes.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=ENV,
        time_limit=time_limit,
        **more,  # type: ignore[arg-type]
    )


def dead(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        await asyncio.sleep(0.01)


async def test_stdout_and_stderr_keep_their_order(tmp_path: Path) -> None:
    """Given writes to both streams in turn, the output holds them in the order of writing."""
    done = await sh("echo 1; echo 2 >&2; echo 3; echo 4 >&2; exit 5", tmp_path)
    assert done.output == "1\n2\n3\n4\n"
    assert done.exit_code == 5
    assert done.ending == "exited"
    assert done.running == ()


async def test_stderr_apart(tmp_path: Path) -> None:
    """When asked for, stderr comes on its own."""
    done = await sh("echo 1; echo 2 >&2", tmp_path, stderr_apart=True)
    assert (done.output, done.error_output) == ("1\n", "2\n")


async def test_output_streams_while_the_child_runs(tmp_path: Path) -> None:
    """A piece arrives while the child is still running, and the pieces together are the output."""
    pieces: list[str] = []
    go = tmp_path / "go"
    task = asyncio.create_task(
        sh(
            f"echo first; while [ ! -e {go} ]; do sleep 0.02; done; echo last",
            tmp_path,
            on_output=pieces.append,
        )
    )
    await until(lambda: bool(pieces))
    assert pieces == ["first\n"]
    assert not task.done()
    go.touch()
    done = await task
    assert "".join(pieces) == done.output == "first\nlast\n"


async def test_a_character_cut_between_two_writes_arrives_whole(tmp_path: Path) -> None:
    """Given the bytes of one UTF-8 character in two writes, the text holds the character."""
    pieces: list[str] = []
    done = await sh(
        r"printf 'caf\xc3'; sleep 0.2; printf '\xa9 \xff!'", tmp_path, on_output=pieces.append
    )
    assert done.output == "café \ufffd!"
    assert "".join(pieces) == done.output


async def test_input_is_at_its_end(tmp_path: Path) -> None:
    """A child that reads its input gets end-of-file and no terminal."""
    done = await sh(
        "cat; [ -t 0 ] || echo no terminal; (: </dev/tty) 2>/dev/null || echo none", tmp_path
    )
    assert done.output == "no terminal\nnone\n"


async def test_long_output_keeps_head_and_tail_and_spills_everything(tmp_path: Path) -> None:
    """Given 200,000 lines, 30,000 characters are returned and the file holds them all."""
    spill = tmp_path / "out" / "spill.txt"
    done = await sh("seq 200000", tmp_path, spill=spill)
    whole = "".join(f"{n}\n" for n in range(1, 200_001))
    assert done.output.startswith("1\n2\n3\n")
    assert done.output.endswith("199999\n200000\n")
    head, _, tail = done.output.partition("\n\n[... ")
    tail = tail.partition(" ...]\n\n")[2]
    assert whole.startswith(f"{head}\n")  # whole lines, on both sides of the cut
    assert whole.endswith(f"\n{tail}")
    assert done.left_out == len(whole) - len(head) - len(tail) - 1
    assert str(spill) in done.output
    assert len(done.output) < processes.SHOWN_LIMIT + 200
    assert done.spilled == spill
    assert spill.read_text() == whole
    assert stat.S_IMODE(spill.stat().st_mode) == 0o600


async def test_output_of_exactly_the_limit_is_whole(tmp_path: Path) -> None:
    """Given as many characters as are shown, nothing is left out and no file is written."""
    spill = tmp_path / "spill.txt"
    done = await sh("printf '%100s' x", tmp_path, spill=spill, shown_limit=100)
    assert done.output == " " * 99 + "x"
    assert done.left_out == 0
    assert done.spilled is None
    assert not spill.exists()
    cut = await sh("printf '%101s' x", tmp_path, shown_limit=100)
    assert cut.left_out == 1
    assert cut.output.startswith(" " * 50 + "\n")
    assert cut.output.endswith(" " * 49 + "x")


async def test_the_spill_file_has_a_cap(tmp_path: Path) -> None:
    """Given more output than the cap, the file ends at 64 MiB and the child still ends well."""
    spill = tmp_path / "spill.txt"
    done = await sh("head -c 70000000 /dev/zero | tr '\\0' x", tmp_path, spill=spill)
    assert done.exit_code == 0
    assert spill.stat().st_size == processes.SPILL_LIMIT
    spill.unlink()


async def test_endless_output_is_ended(tmp_path: Path) -> None:
    """A child that writes more than the limit is ended with all it started."""
    done = await sh("yes", tmp_path, output_limit=1_000_000)
    assert done.ending == "too_much_output"
    assert done.seconds < 10


async def test_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    """Given a child with children of its own, the time limit ends all of them."""
    done = await sh("sleep 60 & echo $!; sleep 61 & echo $!; wait", tmp_path, time_limit=0.3)
    assert done.ending == "timed_out"
    pids = [int(line) for line in done.output.split()]
    assert len(pids) == 2
    assert all(dead(pid) for pid in pids)
    assert done.seconds < 10


async def test_a_child_that_ignores_term_is_killed(tmp_path: Path) -> None:
    """Given a group that ignores TERM, KILL ends it after about a second."""
    done = await sh(f"({STUBBORN}) & echo $! $$; {STUBBORN}", tmp_path, time_limit=0.3)
    assert done.ending == "timed_out"
    assert all(dead(int(pid)) for pid in done.output.split())
    assert 1.0 < done.seconds < 10


async def test_a_child_may_clean_up_on_term(tmp_path: Path) -> None:
    """A child that handles TERM has its time to say something."""
    done = await sh("trap 'echo bye; exit 9' TERM; sleep 60 & wait", tmp_path, time_limit=0.3)
    assert done.output == "bye\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_offspring_in_sessions_of_their_own_are_found(tmp_path: Path) -> None:
    """Given a descendant that left the session and one of another job group, both are ended."""
    command = "setsid sleep 60 & echo $!; set -m; sleep 61 & echo $!; wait"
    done = await sh(command, tmp_path, time_limit=1.0)
    pids = [int(line) for line in done.output.split()]
    assert len(pids) == 2
    assert all(dead(pid) for pid in pids)


async def test_cancellation_leaves_no_process(tmp_path: Path) -> None:
    """When the caller is cancelled, the stubborn group is gone before the cancellation comes out."""
    pieces: list[str] = []
    task = asyncio.create_task(
        sh(f"({STUBBORN}) & echo $! $$; {STUBBORN}", tmp_path, on_output=pieces.append)
    )
    await until(lambda: "\n" in "".join(pieces))
    began = time.monotonic()
    task.cancel()
    await asyncio.sleep(0.1)
    task.cancel()  # an impatient second time
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(dead(int(pid)) for pid in "".join(pieces).split())
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("steps", range(8))
async def test_cancellation_at_any_moment_of_the_start(tmp_path: Path, steps: int) -> None:
    """Cancelled after any number of steps of the loop, no child outlives the call."""
    marker = f"{60 + steps}.{os.getpid()}"
    task = asyncio.create_task(sh(f"exec sleep {marker}", tmp_path))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    left = [p for p in psutil.Process().children(recursive=True) if marker in " ".join(p.cmdline())]
    assert left == []


async def test_a_background_child_does_not_hold_the_call(tmp_path: Path) -> None:
    """Given a background child that keeps the pipe, the call ends at once and names it; it lives on."""
    go, told = tmp_path / "go", tmp_path / "told"
    wait = f"while [ ! -e {go} ]; do sleep 0.02; done"
    command = f"({wait}; for i in $(seq 2000); do echo $i; done; echo > {told}; sleep 60) & echo $!"
    done = await sh(command, tmp_path)
    pid = int(done.output)
    try:
        assert done.exit_code == 0
        assert pid in done.running
        go.touch()
        await until(told.exists)  # its later output did not end it
    finally:
        await processes.kill_group(done.running[0])
        for left in done.running:
            await processes.kill_group(left)
    assert dead(pid)


async def test_a_flood_from_a_background_child_does_not_hold_the_call(tmp_path: Path) -> None:
    """Given a background child that writes without end, the call still ends."""
    done = await sh("yes & echo $!", tmp_path)
    assert done.seconds < 10
    for pid in done.running:
        await processes.kill_group(pid)


async def test_no_such_program(tmp_path: Path) -> None:
    """A program that does not exist is an OSError, and no pipe stays open."""
    before = psutil.Process().num_fds()
    with pytest.raises(FileNotFoundError):
        await processes.run(["no-such-program"], cwd=tmp_path, env=ENV, time_limit=5)
    assert psutil.Process().num_fds() == before


async def test_no_descriptor_is_left(tmp_path: Path) -> None:
    """After many runs the process holds no more descriptors than before."""
    await sh("true", tmp_path)
    before = psutil.Process().num_fds()
    for _ in range(5):
        await sh("echo x", tmp_path, spill=tmp_path / "s", shown_limit=0)
    assert psutil.Process().num_fds() == before


async def test_a_signal_is_an_exit_code(tmp_path: Path) -> None:
    """A child that a signal ended has the shell's exit code for it."""
    done = await sh("kill -9 $$", tmp_path)
    assert done.exit_code == 137


async def test_it_works_on_the_loop_of_another_thread(tmp_path: Path) -> None:
    """Run and time-limited on a loop that is not the main thread's, all is the same."""
    done = await asyncio.to_thread(
        lambda: asyncio.run(sh("echo hi; sleep 60", tmp_path, time_limit=0.3))
    )
    assert (done.output, done.ending) == ("hi\n", "timed_out")


async def test_many_at_once(tmp_path: Path) -> None:
    """Twenty children at the same time keep their outputs apart."""
    done = await asyncio.gather(*(sh(f"seq {n} {n + 500}", tmp_path) for n in range(20)))
    for number, one in enumerate(done):
        assert one.output == "".join(f"{n}\n" for n in range(number, number + 501))


async def test_groups_hold_what_was_left_behind_until_they_end(tmp_path: Path) -> None:
    """Given children with and without a background process, `end` takes the ones left, and no child
    that is over is remembered."""
    groups = processes.Groups()
    await sh("true", tmp_path, groups=groups)
    assert len(groups) == 0
    done = await sh("trap '' TERM; sleep 60 & echo $!", tmp_path, groups=groups)
    assert len(groups) == 1
    assert not dead(int(done.output))
    await groups.end()
    assert dead(int(done.output))
    assert len(groups) == 0


async def test_killed_groups_take_nothing_in(tmp_path: Path) -> None:
    """Given running children that ignore TERM, `kill` ends them and every later one at once."""
    groups = processes.Groups()
    command = "trap '' TERM; echo up > up; sleep 60; true"
    running = asyncio.ensure_future(sh(command, tmp_path, groups=groups))
    await until((tmp_path / "up").exists)
    groups.kill()
    done = await running
    assert (done.exit_code, done.ending) == (137, "exited")
    assert (await sh("sleep 60", tmp_path, groups=groups)).exit_code == 137


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
async def test_a_child_that_left_everything_is_found(tmp_path: Path) -> None:
    """Given a child in a session of its own whose parent has ended, when the call is cancelled, or when
    its owner ends later, then it is ended, too; another owner's is left alone."""
    command = "(setsid nohup sleep 61 >/dev/null 2>&1 & echo $! > {name}); true"
    mine, other = processes.Groups(), processes.Groups()
    for name, groups in (("mine", mine), ("other", other)):
        await processes.run(
            ["bash", "-c", command.format(name=name)],
            cwd=tmp_path,
            env=ENV,
            time_limit=10,
            groups=groups,
        )
    sleeping = {name: _sleeper(tmp_path / name) for name in ("mine", "other")}
    await mine.end(grace=0.2)
    assert dead(sleeping["mine"])
    assert not dead(sleeping["other"])
    other.kill()
    await until(lambda: dead(sleeping["other"]))
    waiting = command.format(name="cut") + "; touch begun; sleep 62"
    task = asyncio.ensure_future(
        processes.run(["bash", "-c", waiting], cwd=tmp_path, env=ENV, time_limit=30)
    )
    await until((tmp_path / "begun").exists)
    left = _sleeper(tmp_path / "cut")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert dead(left)


def _sleeper(file: Path) -> int:
    return int(file.read_text(encoding="utf-8"))
