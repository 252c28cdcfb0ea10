"""A project's tools run for real: arguments, stdin, shell, limits, results."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.extensions.custom_tools import CustomTool
from maia_kernel.extensions.input_schema import check_schema
from maia_kernel.permissions import Policy
from maia_kernel.permissions.subject import Subject
from maia_kernel.sandbox.session import Sandbox
from maia_kernel.sandbox.values import SandboxSettings
from maia_kernel.settings.keys import KnownSecrets
from maia_kernel.settings.values import Secret
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.custom import Custom
from maia_kernel.tools.json_tool import JsonInput
from tests.support.tools import call

SHOW = ("python3", "-c", "import sys; print(sys.argv[1:])")
FIELDS: Mapping[str, Any] = {
    "a": {"type": "string"},
    "n": {"type": "integer", "default": 3},
    "many": {"type": "array", "items": {"type": "string"}},
    "flag": {"type": "boolean"},
}


def custom(*command: str, **more: Any) -> Custom:
    schema = check_schema({"properties": FIELDS, "additionalProperties": False})
    file = Path("/work/.maia/tools/t/TOOL.json")
    return Custom(CustomTool("t", "A tool.", schema, command, file, **more))


async def arguments(context: ToolContext, command: tuple[str, ...], **fields: Any) -> list[str]:
    done = await call(custom(*SHOW, *command), context, **fields)
    assert not done.output.is_error, done.text
    found: list[str] = eval(done.text)
    return found


EVIL = ["a b", "$(touch x)", "`touch x`", "; touch x", "'", '"', "*", "a\nb", "{n}", "ünï", ""]


@pytest.mark.parametrize("value", EVIL)
async def test_a_value_is_one_whole_argument(context: ToolContext, value: str) -> None:
    """Given any text, then the program gets it as it is, in one argument, and no shell sees it."""
    assert await arguments(context, ("{a}", "--x={a}.", "end"), a=value) == [
        value,
        f"--x={value}.",
        "end",
    ]
    assert list(context.cwd.iterdir()) == []


async def test_values_of_other_kinds(context: ToolContext) -> None:
    """Numbers and flags are written as JSON; lists give an argument each; what is missing is left out,
    or is its default."""
    command = ("{n}", "{flag}", "{many}", "--many={many}", "{a}", "--a={a}")
    assert await arguments(context, command, n=7, flag=True, many=["x y", "z"]) == [
        "7",
        "true",
        "x y",
        "z",
        '--many=["x y", "z"]',
    ]
    assert await arguments(context, command) == ["3"]


async def test_a_value_is_no_option(context: ToolContext) -> None:
    """Given a text that begins with a dash, then it is refused where the program would take it for an
    option, and passed after `--` or within an argument."""
    for fields in ({"a": "--output=/tmp/x"}, {"a": "-"}, {"a": "x", "many": ["ok", "-rf"]}):
        with pytest.raises(ToolRetry, match="must not begin with '-'"):
            await call(custom(*SHOW, "{a}", "{many}"), context, **fields)
    assert await arguments(context, ("--a={a}", "--", "{a}"), a="-x") == ["--a=-x", "--", "-x"]


async def test_the_input_on_stdin(context: ToolContext) -> None:
    """Without placeholders the program gets the input as JSON; with them it gets nothing to read."""
    given = {"a": "x" * 200_000 + "é", "many": []}
    done = await call(
        custom("python3", "-c", "import sys; print(len(sys.stdin.read()))"), context, **given
    )
    assert int(done.text) == len(json.dumps(given, ensure_ascii=False))
    assert (await call(custom("cat", "{a}"), context)).text == "(no output)"
    assert not (await call(custom("true"), context, **given)).output.is_error  # reads none of it


async def test_a_shell_command(context: ToolContext) -> None:
    """With `shell` the command is bash's; values are variables and stdin, never part of it."""
    tool = custom('echo "<$MAIA_INPUT_a>" $MAIA_INPUT_n | cat; cat', shell=True)
    done = await call(tool, context, a="$(touch x); 'é'")
    assert done.text == "<$(touch x); 'é'> 3\n" + json.dumps(
        {"a": "$(touch x); 'é'"}, ensure_ascii=False
    )
    assert list(context.cwd.iterdir()) == []


async def test_where_it_runs(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts in the working folder, wherever Bash is, without MAIA's keys; a relative program is one
    of the working folder."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    context.hidden_env = ("ANTHROPIC_API_KEY",)
    (context.cwd / "sub").mkdir()
    context.shell_cwd = context.cwd / "sub"
    program = context.cwd / "tool.sh"
    program.write_text('#!/bin/sh\npwd; echo "key:$ANTHROPIC_API_KEY"\n', "utf-8")
    program.chmod(0o755)
    assert (await call(custom("./tool.sh"), context)).text == f"{context.cwd}\nkey:"


async def test_failures(context: ToolContext) -> None:
    """An exit code is an error with what was printed; a program that is not there is told."""
    done = await call(custom("sh", "-c", "echo out; echo err >&2; exit 3"), context)
    assert done.output.is_error
    assert done.text == "Exit code 3\nout\nerr"
    with pytest.raises(ToolFailed, match=r"no-such-program cannot be started: No such file"):
        await call(custom("no-such-program"), context)
    with pytest.raises(ToolRetry, match="NUL"):
        await call(custom(*SHOW, "{a}"), context, a="a\0b")
    with pytest.raises(ToolRetry, match="NUL"):
        await call(custom("true", shell=True), context, a="a\0b")


async def test_a_time_limit_leaves_nothing(context: ToolContext) -> None:
    """Over its time the whole group is ended."""
    tool = custom("sh", "-c", "sleep 87 & echo $!; wait", timeout=0.3)
    done = await call(tool, context)
    assert done.output.is_error
    said, pid = done.text.splitlines()
    assert "Stopped after 0.3 s" in said
    assert not psutil.pid_exists(int(pid)) or psutil.Process(int(pid)).status() == "zombie"


async def test_json_output(context: ToolContext) -> None:
    """A JSON document comes back compact, apart from stderr; what is none is an error."""
    tool = custom("sh", "-c", "echo note >&2; printf '{ \"a\": [1,\\n 2] }'", output="json")
    assert (await call(tool, context)).text == '{"a": [1, 2]}'
    done = await call(custom("sh", "-c", "echo why >&2; echo no", output="json"), context)
    assert done.output.is_error
    assert done.text.startswith("The output is not JSON")
    assert done.text.endswith("no\nwhy")


async def test_long_output_and_secrets(context: ToolContext) -> None:
    """A long output is cut, and whole, without known secrets, in a private file."""
    known = KnownSecrets()
    known.add(Secret("hunter2-hunter2"))
    context.secrets = known
    done = await call(custom("sh", "-c", "seq 1 20000; echo hunter2-hunter2; seq 1 9000"), context)
    assert len(done.text) < 31_000
    (spilled,) = context.spill.iterdir()
    assert "***" in spilled.read_text("utf-8")
    assert "hunter2" not in spilled.read_text("utf-8")
    assert spilled.stat().st_mode & 0o077 == 0


async def test_input_that_does_not_fit(context: ToolContext) -> None:
    """An input that the schema does not take is refused before anybody is asked."""
    for fields in ({"a": 1}, {"n": "x"}, {"other": 1}, {"model_config": {}}, {"copy": "x"}):
        with pytest.raises(ToolRetry, match="invalid input for t"):
            await call(custom(*SHOW), context, **fields)


def test_what_the_person_sees(context: ToolContext) -> None:
    """The card has the program as it will run and says whose word "only reads" is; a claim is no
    permission."""
    parsed = JsonInput.model_validate({"a": "b c", "n": 2})
    claiming = custom("prog", "{a}", read_only=True)
    (drawn,) = claiming.displays(parsed, context)
    assert drawn.text == "prog 'b c'"
    assert "says that it only reads" in drawn.title
    assert claiming.subject(parsed, context) == Subject("t", read_only=False)
    assert claiming.read_only(parsed, context)
    assert claiming.summary(parsed, context) == "a=b c, n=2"
    drawn, given = custom("prog").displays(parsed, context)
    assert "only reads" not in drawn.title
    assert json.loads(given.text) == {"a": "b c", "n": 2}


async def test_in_the_sandbox(context: ToolContext, tmp_path: Path) -> None:
    """Given a sandbox in force, then a tool's program is in it, with its input, and is told so."""
    policy = Policy((), "default", context.cwd, Path.home())
    context.sandbox = Sandbox(SandboxSettings(enabled=True), lambda: policy)
    if await context.sandbox.prepare() is not None:
        pytest.skip("no sandbox works here")
    outside = tmp_path / "outside"
    command = f'echo "$MAIA_INPUT_a"; touch inside {outside}; echo Permission denied; exit 1'
    done = await call(custom(command, shell=True), context, a="given")
    assert done.output.is_error
    assert "given" in done.text
    assert "Ran in the sandbox" in done.text
    assert "dangerouslyDisableSandbox" not in done.text
    assert (context.cwd / "inside").exists()
    assert not outside.exists()
