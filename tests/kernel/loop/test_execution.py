"""Tool calls: order, parallelism, hooks, faults, secrets; with tools made for the purpose."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from maia_kernel.clock import SystemClock
from maia_kernel.events import Event, ToolFinished, ToolProgress
from maia_kernel.loop import Execution, HookVerdict
from maia_kernel.loop.auto import Auto
from maia_kernel.loop.consent import Consent
from maia_kernel.messages import Text, ToolResult, ToolUse
from maia_kernel.permissions import Decision, Policy, RuleSource, parse_rule
from maia_kernel.permissions.ledger import Ledger
from maia_kernel.permissions.subject import Subject
from maia_kernel.settings.keys import KnownSecrets
from maia_kernel.settings.values import Secret
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput
from tests.support.agents import ScriptedAsk


class WorkInput(ToolInput):
    label: str
    read: bool = True
    fault: str = ""


class Work(Tool[WorkInput]):
    """Notes when it begins and ends, and how many ran at once."""

    name = "Work"
    description = "Works."
    Input = WorkInput
    time_limit = 0.3

    def __init__(self) -> None:
        self.log: list[str] = []
        self.running = self.most = 0

    def read_only(self, call: WorkInput, context: ToolContext) -> bool:
        return call.read

    def subject(self, call: WorkInput, context: ToolContext) -> Subject:
        return Subject("Work", call.read, text=call.label)

    def summary(self, call: WorkInput, context: ToolContext) -> str:
        return call.label

    async def run(
        self, call: WorkInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        self.running += 1
        self.most = max(self.most, self.running)
        self.log.append(f"+{call.label}")
        for piece in ("working with sk-can", "ary-1234", "56 and sk-canary-123456\n"):
            yield Progress(piece)
        try:
            if call.fault == "slow":
                await asyncio.sleep(60)
            if call.fault == "raise":
                raise ZeroDivisionError("no\nmore lines")
            if call.fault == "leak":
                raise ValueError("the key sk-canary-123456")
            await asyncio.sleep(0.02)
        finally:
            self.running -= 1
            self.log.append(f"-{call.label}")
        if call.fault != "nothing":
            yield ToolOutput.of(f"{call.label} says sk-canary-123456")


class Setup:
    def __init__(
        self, folder: Path, *, allow: str = "Work", deny: tuple[str, ...] = (), hooks: tuple = ()
    ) -> None:
        self.events: list[Event] = []
        self.tool = Work()
        source = RuleSource("session", None, folder)
        rules = (
            parse_rule(allow, "allow", source),
            *(parse_rule(rule, "deny", source) for rule in deny),
        )
        policy = Policy(rules=rules, mode="default", cwd=folder, home=folder)
        secrets = KnownSecrets()
        secrets.add(Secret("sk-canary-123456"))
        consent = Consent(
            policy=lambda: policy,
            ask=ScriptedAsk(),
            grant=lambda rule: None,
            write_rules=lambda rules, place: "",
            places={},
            emit=self.events.append,
            record=lambda *line: None,
            clock=SystemClock(),
            secrets=secrets,
            ledger=(ledger := Ledger()),
            auto=Auto(None, ledger),
        )
        self.execution = Execution(
            tools={"Work": self.tool},
            context=ToolContext(folder, folder, "m", folder),
            consent=consent,
            secrets=secrets,
            clock=SystemClock(),
            emit=self.events.append,
            hooks=hooks,
        )

    async def run(self, *inputs: dict) -> tuple[ToolResult, ...]:
        uses = [ToolUse(str(n), "Work", data) for n, data in enumerate(inputs)]
        return await self.execution.run(uses)


async def test_harmless_calls_run_together_and_others_alone_in_order(tmp_path: Path) -> None:
    """Given reads, a write, and a read, the write waits for the reads and the last read for it."""
    setup = Setup(tmp_path)
    await setup.run({"label": "a"}, {"label": "b"}, {"label": "w", "read": False}, {"label": "c"})
    log = setup.tool.log
    assert set(log[:2]) == {"+a", "+b"}
    assert log[4:] == ["+w", "-w", "+c", "-c"]
    assert setup.tool.most == 2


async def test_at_most_ten_run_together(tmp_path: Path) -> None:
    """Given twenty-five harmless calls, ten is the most at once and every one has its result."""
    setup = Setup(tmp_path)
    results = await setup.run(*({"label": str(n)} for n in range(25)))
    assert [r.content[0].text.split()[0] for r in results if isinstance(r.content[0], Text)] == [
        str(n) for n in range(25)
    ]
    assert setup.tool.most == 10


@pytest.mark.parametrize(
    ("fault", "says"),
    [("raise", "ZeroDivisionError: no"), ("slow", "time limit"), ("nothing", "without a result")],
)
async def test_a_fault_of_a_tool_is_one_result_of_one_line(
    tmp_path: Path, fault: str, says: str
) -> None:
    """Given an exception, a tool that hangs, or one without a result, the others are not touched."""
    setup = Setup(tmp_path)
    bad, good = await setup.run({"label": "x", "fault": fault}, {"label": "y"})
    assert bad.is_error
    assert isinstance(bad.content[0], Text)
    assert says in bad.content[0].text
    assert "\n" not in bad.content[0].text
    assert not good.is_error


async def test_a_fault_is_logged_without_secrets_and_never_on_the_screen(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Given an exception that names a key, the log has its traceback without the key, and where
    nobody asked for logs nothing is written."""
    await Setup(tmp_path).run({"label": "x", "fault": "leak"})
    assert "Traceback" in caplog.text
    assert "the key ***" in caplog.text
    assert "sk-canary" not in caplog.text
    silent = "import logging, maia_kernel.loop; logging.getLogger('maia').error('Traceback')"
    run = subprocess.run([sys.executable, "-c", silent], capture_output=True, check=True)
    assert run.stdout + run.stderr == b""


async def test_known_secrets_are_masked_for_the_model_and_the_screen(tmp_path: Path) -> None:
    """Given a tool that prints a key in use, nobody gets to see it."""
    setup = Setup(tmp_path)
    (result,) = await setup.run({"label": "x"})
    assert "sk-canary" not in str(result)
    assert "sk-canary" not in str([event.to_dict() for event in setup.events])
    assert "***" in str(result)
    shown = "".join(e.text for e in setup.events if isinstance(e, ToolProgress))
    assert shown == "working with *** and ***\n"


async def test_a_denied_call_does_not_run(tmp_path: Path) -> None:
    """Given no rule and nobody to ask, the call has a result and no effect."""
    setup = Setup(tmp_path, allow="Read")
    (result,) = await setup.run({"label": "w", "read": False})
    assert result.is_error
    assert setup.tool.log == []
    (finished,) = [event for event in setup.events if isinstance(event, ToolFinished)]
    assert finished.is_error


class Blocking:
    async def before(self, use: ToolUse) -> HookVerdict:
        if use.input["label"] == "blocked":
            return HookVerdict(block="not today")
        return HookVerdict(input={**use.input, "label": "changed"})

    async def after(self, use: ToolUse, result: ToolResult) -> ToolResult:
        return ToolResult(use.id, (*result.content, Text("noted")), result.is_error)


async def test_hooks_stand_around_every_call(tmp_path: Path) -> None:
    """Given hooks, one call is blocked with its reason, another runs with changed input."""
    setup = Setup(tmp_path, hooks=(Blocking(),))
    blocked, changed = await setup.run({"label": "blocked"}, {"label": "asked"})
    assert blocked.is_error
    assert "not today" in str(blocked)
    assert "changed says" in str(changed)
    assert "noted" in str(changed)
    assert setup.tool.log == ["+changed", "-changed"]


async def test_stopping_ends_what_runs_and_keeps_what_came(tmp_path: Path) -> None:
    """Given an interrupt, finished results stay and the rest reads as interrupted."""
    setup = Setup(tmp_path)
    uses = [
        ToolUse("0", "Work", {"label": "quick"}),
        ToolUse("1", "Work", {"label": "long", "fault": "slow", "read": False}),
    ]
    task = asyncio.create_task(setup.execution.run(uses))
    while "+long" not in setup.tool.log:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await setup.execution.stop()
    assert setup.tool.running == 0
    first, second = setup.execution.interrupted(uses)
    assert not first.is_error
    assert "Interrupted" in str(second)


@pytest.mark.parametrize("read", [False, "false", "no", 0, "off"])
async def test_a_rule_sees_a_field_as_written_and_as_understood(
    tmp_path: Path, read: object
) -> None:
    """Given a deny for read:false, no spelling of false gets by; a call without the field does."""
    setup = Setup(tmp_path, deny=("Work(read:false)",))
    denied, free = await setup.run({"label": "a", "read": read}, {"label": "b"})
    assert denied.is_error
    assert not free.is_error
    assert setup.tool.log == ["+b", "-b"]


class Says:
    """A hook that has a word on every call."""

    def __init__(self, verdict: HookVerdict) -> None:
        self.verdict = verdict

    async def before(self, use: ToolUse) -> HookVerdict:
        return self.verdict

    async def after(self, use: ToolUse, result: ToolResult) -> ToolResult:
        return result


HOOK_ALLOWS = Says(HookVerdict(decision=Decision("allow", "a hook", by="hook")))
HOOK_ASKS = Says(HookVerdict(decision=Decision("ask", "a hook", by="hook")))
HOOK_CHANGES = Says(HookVerdict(input={"label": "other", "read": False}))


@pytest.mark.parametrize(
    ("hooks", "allow", "deny", "runs"),
    [
        ((HOOK_ALLOWS,), "Other", (), True),
        ((HOOK_ALLOWS,), "Other", ("Work(read:false)",), False),
        ((HOOK_ASKS,), "Work", (), False),
        ((HOOK_ALLOWS, HOOK_ASKS), "Other", (), False),
        ((HOOK_ALLOWS, HOOK_CHANGES), "Other", (), False),
        ((HOOK_CHANGES, HOOK_ALLOWS), "Other", (), True),
        ((), "Other", (), False),
    ],
)
async def test_the_word_of_hooks(
    tmp_path: Path, hooks: tuple, allow: str, deny: tuple[str, ...], runs: bool
) -> None:
    """Given hooks, their allow skips no deny rule, their ask asks, and an allow is for the call as the
    hook saw it."""
    setup = Setup(tmp_path, allow=allow, deny=deny, hooks=hooks)
    [result] = await setup.run({"label": "a", "read": False})
    assert result.is_error is not runs
