"""A project's own tool: a program that gets the model's input as arguments or on stdin."""

import asyncio
import json
import re
import secrets
import shlex
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from maia_kernel import paths, processes
from maia_kernel.display import Display, TextDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.extensions.custom_tools import PLACEHOLDER, CustomTool
from maia_kernel.permissions.subject import Subject
from maia_kernel.shortening import shortened
from maia_kernel.texts import text
from maia_kernel.tools.base import Progress, ToolContext, ToolOutput
from maia_kernel.tools.confinement import bounded, note_for
from maia_kernel.tools.json_tool import JsonInput, JsonTool
from maia_kernel.tools.pieces import Pieces
from maia_kernel.tools.shell import child_environment
from maia_kernel.tools.spill import make_folder
from maia_kernel.tools.streaming import Streamed

_ENVIRONMENT_PREFIX = "MAIA_INPUT_"
_VARIABLE = re.compile(r"[A-Za-z0-9_]+")


class Custom(JsonTool):
    """The tool that one TOOL.json describes."""

    icon = "⚙"

    def __init__(self, custom: CustomTool) -> None:
        self.name = custom.name
        self.description = custom.description
        self._custom = custom

    @property
    def input_schema(self) -> Mapping[str, Any]:
        return self._custom.input_schema

    def read_only(self, call: JsonInput, context: ToolContext) -> bool:
        # Believed for the order of calls alone. `subject` does not: a project's word about itself
        # lets nothing run that no rule allows.
        return self._custom.read_only

    def validate(self, call: JsonInput, context: ToolContext) -> None:
        super().validate(call, context)
        arguments(self._custom, call.values)
        environment(self._custom, call.values)

    def subject(self, call: JsonInput, context: ToolContext) -> Subject:
        return Subject(self.name, read_only=False)

    def displays(self, call: JsonInput, context: ToolContext) -> tuple[Display, ...]:
        return self._drawn(call, context)

    async def run(
        self, call: JsonInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        custom, values = self._custom, call.values
        await asyncio.to_thread(make_folder, context)
        spill = context.spill / f"tool-{secrets.token_hex(8)}.txt"
        kept = False
        sandbox = context.sandbox if context.sandbox and context.sandbox.in_force else None
        argv, given = arguments(custom, values), environment(custom, values)

        async def work(on_output: Callable[[str], None]) -> tuple[processes.Completed, str]:
            entering = bounded(
                argv,
                folder=context.cwd,
                env=child_environment(context),
                context=context,
                sandbox=sandbox,
            )
            async with entering as child:
                done = await processes.run(
                    child.argv,
                    cwd=context.cwd,
                    # After the sandbox took keys out: a field may be called `key`.
                    env={**child.env, **given},
                    time_limit=custom.timeout,
                    on_output=on_output,
                    spill=spill,
                    stdin=_stdin(custom, values),
                    # What is said beside a JSON document would break it.
                    stderr_apart=custom.output == "json",
                    groups=context.groups,
                    pass_fds=child.pass_fds,
                    hiding=None if context.secrets is None else Pieces(context.secrets),
                )
            if sandbox is None:
                return done, ""
            return done, note_for(child, done, context, sandbox, may_leave=False)

        running = Streamed(work)
        try:
            async for piece in running.pieces():
                yield Progress(piece)
            done, note = running.result()
            kept = True
        except OSError as fault:
            raise ToolFailed(f"{argv[0]} cannot be started: {fault.strerror or fault}.") from fault
        finally:
            await running.aclose()
            if not kept:
                spill.unlink(missing_ok=True)
        yield self._result(call, done, note, context)

    def _result(
        self, call: JsonInput, done: processes.Completed, note: str, context: ToolContext
    ) -> ToolOutput:
        custom = self._custom
        output, fault = done.output.strip("\n"), ""
        if done.ending == "timed_out":
            fault = f"Stopped after {custom.timeout:g} s: the time limit of the tool."
        elif done.ending == "too_much_output":
            fault = f"Stopped: more than {processes.OUTPUT_LIMIT // 2**30} GiB of output."
        elif done.exit_code != 0:
            fault = f"Exit code {done.exit_code}"
        elif custom.output == "json":
            output, fault = _as_json(output, cut=bool(done.left_out))
        if fault:
            output = "\n".join(part for part in (output, done.error_output.strip("\n")) if part)
        said = "\n".join(part for part in (fault, output) if part) or "(no output)"
        shown = (TextDisplay(output),) if output else ()
        drawn = self._drawn(call, context)
        return ToolOutput.of(
            shortened(said, processes.SHOWN_LIMIT) + note, *drawn, *shown, is_error=bool(fault)
        )

    def _drawn(self, call: JsonInput, context: ToolContext) -> tuple[Display, ...]:
        """What runs, for the person: the program with its arguments, or the command and the input."""
        custom = self._custom
        file = paths.shown(custom.file, context.cwd)
        kind = "claims_reading" if custom.read_only else "of_project"
        title = text(f"extensions.tool.{kind}", file=file)
        written = custom.command[0] if custom.shell else shlex.join(arguments(custom, call.values))
        drawn = TextDisplay(written, language="bash", title=title)
        if not call.values or _stdin(custom, call.values) is None:
            return (drawn,)
        given = json.dumps(call.values, ensure_ascii=False, indent=2)
        return (drawn, TextDisplay(given, language="json", title=text("extensions.tool.input")))


def arguments(custom: CustomTool, values: Mapping[str, Any]) -> list[str]:
    """The program and its arguments for an input.

    An argument whose field is missing and has no default is left out. One that is nothing but `{field}`
    becomes an argument for each item of a list. Nothing is ever split.

    Raises:
        ToolRetry: a text would be taken for an option, or no program can get it.
    """
    if custom.shell:
        return [shutil.which("bash") or "bash", "-c", custom.command[0], custom.name]
    argv: list[str] = []
    for part in custom.command:
        whole = PLACEHOLDER.fullmatch(part)
        if whole is None:
            argv += _filled(part, custom, values)
            continue
        value = _value(whole[1], custom, values)
        items = value if isinstance(value, list) else [value]
        for item in (item for item in items if item is not None):
            _check_option(whole[1], item, argv)
            argv.append(_text(item))
    if any("\0" in part for part in argv):
        raise ToolRetry("no argument of a program can hold a NUL character.")
    return argv


def environment(custom: CustomTool, values: Mapping[str, Any]) -> dict[str, str]:
    """The input as a shell command sees it: `MAIA_INPUT_field`; a value is never part of the command.

    Raises:
        ToolRetry: no variable can hold a value.
    """
    if not custom.shell:
        return {}
    given = {name: _value(name, custom, values) for name in {*custom.properties, *values}}
    found = {
        f"{_ENVIRONMENT_PREFIX}{name}": _text(value)
        for name, value in given.items()
        if value is not None and _VARIABLE.fullmatch(name)
    }
    if any("\0" in part for part in found.values()):
        raise ToolRetry("no variable of a command can hold a NUL character.")
    return found


def _stdin(custom: CustomTool, values: Mapping[str, Any]) -> bytes | None:
    if not custom.shell and any(PLACEHOLDER.search(part) for part in custom.command):
        return None
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")


def _filled(part: str, custom: CustomTool, values: Mapping[str, Any]) -> list[str]:
    named = {name: _value(name, custom, values) for name in PLACEHOLDER.findall(part)}
    if any(value is None for value in named.values()):
        return []
    return [PLACEHOLDER.sub(lambda found: _text(named[found[1]]), part)]


def _value(name: str, custom: CustomTool, values: Mapping[str, Any]) -> Any:
    if name in values:
        return values[name]
    declared = custom.properties.get(name)
    return declared.get("default") if isinstance(declared, dict) else None


def _check_option(name: str, value: Any, before: list[str]) -> None:
    # Who allowed `grep {pattern}` did not allow `grep --file=...`.
    if isinstance(value, str) and value.startswith("-") and "--" not in before:
        raise ToolRetry(f"{name} must not begin with '-': the program would take it for an option.")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_json(output: str, *, cut: bool) -> tuple[str, str]:
    """The document as one line, and what is wrong with it."""
    if cut:
        return output, f"The output is longer than {processes.SHOWN_LIMIT:,} characters of JSON."
    try:
        return json.dumps(json.loads(output), ensure_ascii=False), ""
    except (ValueError, RecursionError) as error:
        return output, f"The output is not JSON: {error}"
