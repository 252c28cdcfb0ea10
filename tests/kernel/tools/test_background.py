"""Background commands: started by Bash, read by TaskOutput, ended by TaskStop; nothing left behind."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pydantic
import pytest

from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.processes import SPILL_LIMIT
from maia_kernel.settings.keys import KnownSecrets
from maia_kernel.settings.values import Secret
from maia_kernel.tools import background
from maia_kernel.tools.background import BackgroundTask
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.bash import Bash, BashInput
from maia_kernel.tools.task_output import TaskOutput, TaskOutputInput
from maia_kernel.tools.task_stop import TaskStop, TaskStopInput
from tests.support.tools import Call, call


@pytest.fixture(autouse=True)
async def nothing_left(context: ToolContext) -> AsyncIterator[None]:
    yield
    await context.background.end()
    await context.groups.end()


async def start(context: ToolContext, command: str, **more: object) -> BackgroundTask:
    done = await call(Bash(), context, command=command, run_in_background=True, **more)
    number = done.text.split("task ")[1].split(".")[0]
    task = context.background.find(number)
    assert task is not None
    return task


async def read(context: ToolContext, number: str, **more: object) -> Call:
    return await call(TaskOutput(), context, task_id=number, **more)


def alive(pids: list[int]) -> list[int]:
    """Those that run; what waits for a parent to take note of its end does not."""
    found = {p.pid for p in psutil.process_iter(["status"]) if p.info["status"] != "zombie"}
    return [pid for pid in pids if pid in found]


async def until_written(task: BackgroundTask, text: str) -> None:
    async with asyncio.timeout(10):
        while text not in task.file.read_text("utf-8"):
            await asyncio.sleep(0.01)


async def test_a_command_goes_on_and_is_read(context: ToolContext) -> None:
    """Given a command in the background, then Bash returns at once with its id, TaskOutput waits for
    the end and gives the exit code and both streams in order, and each output once."""
    started = await call(
        Bash(), context, command="echo out; echo err >&2; sleep 0.2; exit 3", run_in_background=True
    )
    assert not started.output.is_error
    assert "task bash_1." in started.text
    done = await read(context, "bash_1")
    assert done.text.startswith("bash_1 ended with exit code 3\nout\nerr\n(all of its output: ")
    assert not done.output.is_error
    again = await read(context, "bash_1")
    assert again.text.startswith("bash_1 ended with exit code 3\n(no new output)\n")


async def test_new_output_only(context: ToolContext) -> None:
    """Given a command that goes on, when it is looked at without waiting, then it is told as running
    with what it printed since the last look."""
    task = await start(
        context, "echo one; until [ -e go ]; do sleep 0.02; done; echo two; sleep 60"
    )
    await until_written(task, "one")
    assert (await read(context, task.id, block=False)).text.startswith("bash_1 is running\none\n(")
    (context.cwd / "go").touch()
    await until_written(task, "two")
    assert (await read(context, task.id, block=False)).text.startswith("bash_1 is running\ntwo\n(")


async def test_waiting_ends_with_its_time_limit(context: ToolContext) -> None:
    """Given a command that goes on, when TaskOutput waits, then only as long as it was told."""
    task = await start(context, "sleep 60")
    async with asyncio.timeout(10):
        done = await read(context, task.id, timeout=50)
    assert done.text.startswith("bash_1 is running\n(no new output)")
    assert task.running


async def test_an_interrupt_of_the_waiting_leaves_the_command(context: ToolContext) -> None:
    """Given TaskOutput that waits, when it is cancelled, then it ends at once and the command goes on."""
    task = await start(context, "sleep 0.3; echo done")
    waiting = asyncio.create_task(read(context, task.id))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert task.running
    assert "done" in (await read(context, task.id)).text


async def test_stopping_ends_the_whole_group(context: ToolContext) -> None:
    """Given a command with children, when it is stopped, then none of them is left, also one that left
    the group, and its last output comes back."""
    task = await start(
        context, "setsid sleep 61 & a=$!; sleep 62 & echo $a $! $$; wait; echo never; sleep 63"
    )
    await until_written(task, "\n")
    pids = [int(word) for word in task.file.read_text("utf-8").split()]
    assert alive(pids) == pids
    done = await call(TaskStop(), context, task_id=task.id)
    assert done.text.startswith(f"bash_1 stopped\n{' '.join(map(str, pids))}\n")
    assert not alive(pids)
    again = await call(TaskStop(), context, task_id=task.id)
    assert again.text.startswith("bash_1 stopped\n(no new output)")


async def test_the_end_of_the_session_ends_them(context: ToolContext) -> None:
    """Given several commands, when the session ends, then all of them end."""
    tasks = [await start(context, f"echo $$; sleep {n}") for n in (71, 72)]
    for task in tasks:
        await until_written(task, "\n")
    pids = [int(task.file.read_text("utf-8")) for task in tasks]
    await context.background.end()
    assert not alive(pids)
    assert [task.state for task in tasks] == ["stopped", "stopped"]


async def test_the_file_is_private_and_without_secrets(context: ToolContext) -> None:
    """Given a command that prints a known secret in two pieces, then neither the file nor the result
    has it, and nobody else can read the file."""
    known = KnownSecrets()
    known.add(Secret("sk-very-secret-value"))
    context.secrets = known
    task = await start(context, "printf 'key sk-very-'; sleep 0.2; echo 'secret-value.'")
    done = await read(context, task.id)
    assert "key ***." in done.text
    assert task.file.read_text("utf-8") == "key ***.\n"
    assert stat.S_IMODE(task.file.stat().st_mode) == 0o600
    assert task.file.parent == context.spill


async def test_long_output(context: ToolContext) -> None:
    """Given more output than a result holds, then its head and tail come back and the file has all."""
    task = await start(context, "echo begin; seq 1 20000; echo end")
    done = await read(context, task.id)
    assert len(done.text) < 31_000
    assert "begin\n1\n2" in done.text
    assert "characters left out" in done.text
    assert "20000\nend" in done.text
    assert task.file.stat().st_size > 100_000


async def test_the_file_has_a_limit(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given more output than the file may hold, then the rest is left out, the command goes on, and the
    model is told."""
    assert SPILL_LIMIT == 64 * 1024 * 1024
    monkeypatch.setattr(background, "SPILL_LIMIT", 1_000)
    task = await start(context, "seq 1 20000; touch finished")
    done = await read(context, task.id)
    assert "of output were kept" in done.text
    assert task.file.stat().st_size == 1_000
    assert (context.cwd / "finished").exists()


async def test_where_and_how_it_runs(context: ToolContext) -> None:
    """A background command starts in the shell's folder, does not move it, and has no time limit."""
    (context.cwd / "sub").mkdir()
    await call(Bash(), context, command="cd sub")
    task = await start(context, "pwd; cd ..; sleep 0.2; echo over", timeout=1)
    done = await read(context, task.id)
    assert f"{context.cwd / 'sub'}\nover" in done.text
    assert context.shell_cwd == context.cwd / "sub"


async def test_a_command_that_cannot_start(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a bash that does not run, or no place for the file, then the reason is told."""
    broken = context.cwd / "bash"
    broken.write_text("#!/no/such/interpreter\n", "utf-8")
    broken.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{context.cwd}:{os.environ['PATH']}")
        task = await start(context, "true")
    assert "could not be started" in (await read(context, task.id)).text
    context.spill = Path("/proc/no")
    with pytest.raises(ToolFailed, match="/proc/no cannot be made"):
        await start(context, "true")


async def test_unknown_tasks(context: ToolContext) -> None:
    """An id that nobody gave is refused with those there are."""
    with pytest.raises(ToolRetry, match="none was started"):
        await read(context, "bash_9")
    await start(context, "sleep 60 # long")
    with pytest.raises(ToolRetry, match=r"bash_1 \(sleep 60 # long\): running"):
        await call(TaskStop(), context, task_id="bash_9")


def test_old_names() -> None:
    """The names that models learned earlier are understood, and only the new ones are in the schema."""
    assert TaskOutputInput.model_validate({"bash_id": "bash_1"}).task_id == "bash_1"
    assert TaskStopInput.model_validate({"shell_id": "bash_1"}).task_id == "bash_1"
    with pytest.raises(pydantic.ValidationError):
        TaskStopInput.model_validate({"shell": "bash_1"})
    for tool in (TaskOutput(), TaskStop()):
        assert "task_id" in tool.schema()["required"]
    assert {"BashOutput", "AgentOutputTool"} <= set(TaskOutput.aliases)
    assert {"KillShell", "KillBash"} == set(TaskStop.aliases)
    assert BashInput.model_validate({"command": "x", "run_in_background": True}).run_in_background


async def test_news_are_told_once(context: ToolContext) -> None:
    """Given a task that ended, then the next prompt says so, once; what TaskOutput told is no news; and
    after a lost turn what runs is told again."""
    tasks = context.background
    first = await start(context, "exit 2")
    second = await start(context, "sleep 60")
    assert tasks.news() == ()
    await first.wait(10)
    assert tasks.news() == ("bash_1 (exit 2): ended with exit code 2",)
    assert len(tasks.news()) == 1
    tasks.settle()
    assert tasks.news() == ()
    tasks.doubt()
    assert tasks.news() == ("bash_2 (sleep 60): running",)
    tasks.settle()
    await call(TaskStop(), context, task_id=second.id)
    assert tasks.news() == ()
