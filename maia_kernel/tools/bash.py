"""Bash: a shell command in the working folder."""

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Literal

from pydantic import Field

from maia_kernel import paths, processes
from maia_kernel.display import TextDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.permissions import Policy, read_only_command
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.background import Start
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput
from maia_kernel.tools.confinement import bounded, note_for, sandbox_of
from maia_kernel.tools.file_access import check_text
from maia_kernel.tools.pieces import Pieces
from maia_kernel.tools.shell import (
    child_environment,
    exit_one_is_an_answer,
    read_folder,
    with_folder_report,
)
from maia_kernel.tools.shell_reads import remember_printed
from maia_kernel.tools.spill import make_folder
from maia_kernel.tools.streaming import Streamed

DEFAULT_TIMEOUT = 120_000
LONGEST_TIMEOUT = 600_000


class BashInput(ToolInput):
    """What to run."""

    command: str = Field(description="The command")
    description: str | None = Field(None, description="What it does, in five to ten words")
    timeout: int | None = Field(
        None, ge=1, description="Milliseconds; 120000 by default, at most 600000"
    )
    run_in_background: bool = Field(
        False, description="Return at once; the command goes on without a time limit"
    )
    leave_sandbox: bool = Field(
        False,
        alias="dangerouslyDisableSandbox",
        description="Run outside the sandbox, where one is on; the user is asked",
    )


class Bash(Tool[BashInput]):
    """The tool."""

    name = "Bash"
    icon = "$"
    description = (
        "Runs a bash command in the working folder and returns stdout and stderr in order, and the exit "
        "code. A cd lasts for the next commands while it stays inside the working folders; variables do "
        "not last. There is no terminal and no input: use non-interactive flags. Output over 30,000 "
        "characters is cut in the middle and kept whole in a file. What takes long or never ends (a server, "
        "a watcher, a training run) belongs in the background: run_in_background returns a task id for "
        "TaskOutput and TaskStop, and you are told when the task has ended. Prefer Read, Grep, Glob and "
        "Edit to cat, grep, find and sed."
    )

    @property
    def Input(self) -> type[BashInput]:
        return BashInput

    def read_only(self, call: BashInput, context: ToolContext) -> bool:
        policy = Policy(
            rules=(),
            mode="default",
            cwd=context.cwd,
            home=Path.home(),
            additional=context.additional,
        )
        return read_only_command(call.command, policy, folder=context.shell_cwd)

    def concurrency_safe(self, call: BashInput, context: ToolContext) -> bool:
        # Two commands at once must not both move the shell.
        moves = any(word in call.command for word in ("cd", "pushd", "popd"))
        return not moves and self.read_only(call, context)

    def validate(self, call: BashInput, context: ToolContext) -> None:
        if not call.command.strip():
            raise ToolRetry("command is empty.")
        check_text("command", call.command)

    def subject(self, call: BashInput, context: ToolContext) -> Subject:
        return Subject(
            self.name,
            read_only=self.read_only(call, context),
            command=call.command,
            text=call.command,
            folder=context.shell_cwd,
            sandbox=_bounds(call, context),
        )

    def summary(self, call: BashInput, context: ToolContext) -> str:
        lines = call.command.strip().splitlines()
        return lines[0] + (" …" if len(lines) > 1 else "") if lines else ""

    def displays(self, call: BashInput, context: ToolContext) -> tuple[TextDisplay, ...]:
        return (TextDisplay(call.command, language="bash", title=call.description or ""),)

    async def run(
        self, call: BashInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        bash = shutil.which("bash")
        if bash is None:
            raise ToolFailed("bash is not installed on this machine.")
        milliseconds = min(call.timeout or DEFAULT_TIMEOUT, LONGEST_TIMEOUT)
        note = _existing_folder(context)
        await asyncio.to_thread(make_folder, context)
        if call.run_in_background:
            yield self._in_background(bash, call, note, context)
            return
        token = secrets.token_hex(8)
        sandbox = sandbox_of(call.command, context, leaves=call.leave_sandbox)
        # In the sandbox nobody writes to the session's folder.
        report = (sandbox.temp() if sandbox else context.spill) / f"bash-{token}.cwd"
        spill = context.spill / f"bash-{token}.txt"
        kept = False
        argv = with_folder_report(bash, call.command, report)
        environment = child_environment(context, read_only=self.read_only(call, context))

        async def work(on_output: Callable[[str], None]) -> processes.Completed:
            nonlocal note
            entering = bounded(
                argv, folder=context.shell_cwd, env=environment, context=context, sandbox=sandbox
            )
            async with entering as child:
                done = await processes.run(
                    child.argv,
                    cwd=context.shell_cwd,
                    env=child.env,
                    time_limit=milliseconds / 1_000,
                    on_output=on_output,
                    spill=spill,
                    groups=context.groups,
                    pass_fds=child.pass_fds,
                    hiding=None if context.secrets is None else Pieces(context.secrets),
                )
            if sandbox is not None:
                note += note_for(child, done, context, sandbox)
            return done

        began_in = context.shell_cwd
        running = Streamed(work)
        try:
            async for piece in running.pieces():
                yield Progress(piece)
            done = running.result()
            kept = True
            folder = read_folder(report)
        except OSError as fault:
            raise ToolFailed(f"bash cannot be started: {fault.strerror or fault}.") from fault
        finally:
            await running.aclose()
            report.unlink(missing_ok=True)
            if not kept:
                spill.unlink(missing_ok=True)
        await asyncio.to_thread(remember_printed, call.command, began_in, done, context)
        if done.ending == "exited" and folder is not None:
            note += _moved(folder, context)
        yield _result(call, done, note, milliseconds)

    def _in_background(
        self, bash: str, call: BashInput, note: str, context: ToolContext
    ) -> ToolOutput:
        environment = child_environment(context, read_only=self.read_only(call, context))
        entering = bounded(
            [bash, "-c", call.command],
            folder=context.shell_cwd,
            env=environment,
            context=context,
            sandbox=sandbox_of(call.command, context, leaves=call.leave_sandbox),
        )
        start = Start(call.command, context.shell_cwd, entering)
        try:
            task = context.background.start(
                start, folder=context.spill, secrets=context.secrets, groups=context.groups
            )
        except OSError as fault:
            shown = paths.shown(context.spill, context.cwd)
            raise ToolFailed(f"{shown}: {fault.strerror or fault}.") from fault
        said = (
            f"Started in the background as task {task.id}. Its output goes to "
            f"{paths.shown(task.file, context.cwd)}; read it with TaskOutput, end it with TaskStop."
        )
        command = TextDisplay(call.command, language="bash", title=call.description or "")
        return ToolOutput.of(said + note, command, TextDisplay(said))


def _bounds(call: BashInput, context: ToolContext) -> Literal["inside", "leaves", ""]:
    sandbox = sandbox_of(call.command, context, leaves=call.leave_sandbox)
    if sandbox is not None:
        return "inside" if sandbox.auto_allows else ""
    # Out on the model's own wish, not because the settings name the command.
    wished = call.leave_sandbox and sandbox_of(call.command, context, leaves=False) is not None
    return "leaves" if wished else ""


def _existing_folder(context: ToolContext) -> str:
    """A note when the shell's folder is gone and the working folder takes its place."""
    if context.shell_cwd.is_dir():
        return ""
    gone, context.shell_cwd = context.shell_cwd, context.cwd
    return f"\n({paths.shown(gone)} is gone; Shell cwd was reset to {paths.shown(context.cwd)})"


def _moved(folder: Path, context: ToolContext) -> str:
    allowed = (context.cwd, *context.additional)
    if any(folder.is_relative_to(paths.resolve(root)) for root in allowed):
        # The same folder keeps the name it had, symlinks and all.
        if folder != paths.resolve(context.shell_cwd):
            context.shell_cwd = folder
        return ""
    context.shell_cwd = context.cwd
    return f"\nShell cwd was reset to {paths.shown(context.cwd)}"


def _result(call: BashInput, done: processes.Completed, note: str, milliseconds: int) -> ToolOutput:
    output = done.output.strip("\n")
    failed = done.ending != "exited" or (
        done.exit_code != 0 and not (done.exit_code == 1 and exit_one_is_an_answer(call.command))
    )
    head = ""
    if done.ending == "timed_out":
        head = f"Stopped after {milliseconds / 1_000:g} s: the time limit (timeout is in milliseconds).\n"
    elif done.ending == "too_much_output":
        head = f"Stopped: more than {processes.OUTPUT_LIMIT // 2**30} GiB of output.\n"
    elif done.exit_code != 0:
        head = f"Exit code {done.exit_code}\n"
    if done.running:
        numbers = ", ".join(map(str, done.running[:10]))
        note += f"\n(still running in the background: process {numbers})"
    text = f"{head}{output}{note}".strip("\n") or "(no output)"
    shown = (TextDisplay(output),) if output else ()
    command = TextDisplay(call.command, language="bash", title=call.description or "")
    return ToolOutput.of(text, command, *shown, is_error=failed)
