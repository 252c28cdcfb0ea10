"""The `maia` program: `maia -p PROMPT`, the agent without a notebook, and `maia model`.

The answer goes to stdout; calls, notices and questions go to stderr. Exit codes: 0 done, 1 the turn
failed, 2 usage, 3 model or key, 4 a limit, 130 interrupted, 143 terminated.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from maia_kernel._version import __version__
from maia_kernel.errors import MaiaError, UsageError
from maia_kernel.events import Event, RequestStarted, TextDelta, TurnFinished
from maia_kernel.plain import (
    PlainText,
    choice_prompt,
    permission_prompt,
    read_choice,
    read_permission,
)
from maia_kernel.questions import (
    Answer,
    ChoiceAnswer,
    PermissionAnswer,
    PermissionQuestion,
    Question,
)
from maia_kernel.settings import Flags, Settings, load
from maia_kernel.texts import language, text

_TERMINATED = 143


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["model"]:
        # Late: the model store needs httpx2, which a prompt to a remote model does not.
        from maia_kernel.localmodel import commands

        return commands.main(arguments[1:], write=_say, err=_complain, environ=os.environ)
    options = _parser().parse_args(arguments)
    try:
        settings = _settings(options)
        language.set(settings.language)
        prompt = _prompt(options.prompt)
        for warning in settings.warnings:
            _complain(warning)
        return _play(settings, prompt, options.output_format)
    except MaiaError as error:
        _complain(str(error))
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="maia",
        description=text("cli.description"),
        epilog=text("cli.epilog"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-p", "--prompt", nargs="?", const="", help=text("cli.prompt"))
    parser.add_argument("--model", help=text("cli.model"))
    parser.add_argument(
        "--output-format",
        choices=("text", "json", "stream-json"),
        default="text",
        help=text("cli.output_format"),
    )
    parser.add_argument("--max-turns", type=_positive, help=text("cli.max_turns"))
    parser.add_argument("--mode", "--permission-mode", dest="mode", help=text("cli.mode"))
    parser.add_argument("--allowed-tools", action="append", default=[], help=text("cli.allowed"))
    parser.add_argument(
        "--disallowed-tools", action="append", default=[], help=text("cli.disallowed")
    )
    parser.add_argument("--add-dir", action="append", default=[], help=text("cli.add_dir"))
    parser.add_argument("--budget", type=_budget, help=text("cli.budget"))
    parser.add_argument("--bare", action="store_true", help=text("cli.bare"))
    parser.add_argument("--trust", action="store_true", help=text("cli.trust"))
    parser.add_argument("--version", action="version", version=f"maia {__version__}")
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    from maia_kernel.agent import MODES

    if options.mode is not None and options.mode not in MODES:
        raise UsageError(text("turn.unknown_mode", mode=options.mode, modes=", ".join(MODES)))
    tokens, dollars = options.budget or (None, None)
    cwd = Path(os.environ.get("MAIA_CWD") or Path.cwd()).resolve()
    flags = Flags(
        model=options.model,
        mode=options.mode,
        max_turns=options.max_turns,
        bare=options.bare,
        trust=options.trust,
        add_dirs=tuple(Path(folder).expanduser().resolve() for folder in options.add_dir),
        allowed_tools=tuple(options.allowed_tools),
        disallowed_tools=tuple(options.disallowed_tools),
        budget_tokens=tokens,
        budget_usd=dollars,
    )
    return load(cwd, environ=os.environ, home=Path.home(), flags=flags)


def _prompt(given: str | None) -> str:
    """The prompt and, below it, what is piped into stdin."""
    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    prompt = "\n\n".join(part for part in (given or "", piped) if part.strip())
    if not prompt:
        raise UsageError(text("cli.no_prompt"))
    return prompt


def _play(settings: Settings, prompt: str, output_format: str) -> int:
    terminated = False

    async def turn() -> int:
        nonlocal terminated
        task = asyncio.current_task()
        assert task is not None

        def terminate() -> None:
            nonlocal terminated
            terminated = True
            task.cancel()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
        return await _run(settings, prompt, output_format)

    try:
        return asyncio.run(turn())
    except KeyboardInterrupt:
        return 130
    except asyncio.CancelledError:
        return _TERMINATED if terminated else 130


async def _run(settings: Settings, prompt: str, output_format: str) -> int:
    from maia_kernel.agent import Agent

    agent = Agent(settings)
    writer = _Writer(settings.cwd, output_format)
    code = 1
    try:
        async for event in agent.run(agent.open_session(), prompt, ask=_ask):
            writer.show(event)
            if isinstance(event, TurnFinished):
                code = event.exit_code
    finally:
        await agent.aclose()
    return code


class _Writer:
    """Events to stdout and stderr in the chosen format."""

    def __init__(self, cwd: Path, output_format: str) -> None:
        self._format = output_format
        self._plain = PlainText(cwd)
        self._answer_open = False

    def show(self, event: Event) -> None:
        match self._format:
            case "text":
                self._show_text(event)
            case "json" if isinstance(event, TurnFinished):
                print(json.dumps(event.to_dict(), ensure_ascii=False), flush=True)
            case "stream-json":
                print(json.dumps(event.to_dict(), ensure_ascii=False), flush=True)
            case _:
                pass

    def _show_text(self, event: Event) -> None:
        shown = self._plain.show(event)
        if isinstance(event, TextDelta):
            self._answer_open = True
            print(shown, end="", flush=True)
            return
        if self._answer_open and not sys.stdout.isatty():
            # A file or a pipe gets whole lines; on a terminal what stands between brings its own.
            if isinstance(event, RequestStarted):
                print("\n", flush=True)
                self._answer_open = False
            elif isinstance(event, TurnFinished):
                print(flush=True)
        print(shown, end="", file=sys.stderr, flush=True)


async def _ask(question: Question) -> Answer:
    """Ask on the terminal; deny where there is none, or when it closes."""
    while sys.stdin.isatty() and sys.stderr.isatty():
        prompt = _prompt_of(question)
        print(prompt, end="", file=sys.stderr, flush=True)
        line = await _read_line()
        if line is None:
            break
        answer = _read_answer(line, question)
        if answer is not None:
            return answer
    if isinstance(question, PermissionQuestion):
        return PermissionAnswer("deny", by="nobody")
    return ChoiceAnswer(None, "nobody")


def _prompt_of(question: Question) -> str:
    if isinstance(question, PermissionQuestion):
        return permission_prompt(question)
    return choice_prompt(question)


def _read_answer(line: str, question: Question) -> Answer | None:
    if isinstance(question, PermissionQuestion):
        return read_permission(line, question)
    return read_choice(line, question)


async def _read_line() -> str | None:
    """A line typed on stdin, or None at its end. Not in a thread: Ctrl-C must not wait for Enter."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()
    descriptor = sys.stdin.fileno()

    def readable() -> None:
        if not typed.done():
            typed.set_result(os.read(descriptor, 65536))

    loop.add_reader(descriptor, readable)
    try:
        data = await typed
    finally:
        loop.remove_reader(descriptor)
    return data.decode("utf-8", "replace").rstrip("\r\n") if data else None


def _positive(written: str) -> int:
    value = int(written) if written.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(text("cli.not_positive", written=written))
    return value


def _budget(written: str) -> tuple[int | None, float | None]:
    """`500k`, `2m` or `80000` tokens, or `2.5usd` dollars."""
    lowered = written.strip().lower()
    units = {"k": 1_000, "m": 1_000_000}
    try:
        if lowered.endswith("usd"):
            dollars = float(lowered[:-3])
            if 0 < dollars < float("inf"):
                return None, dollars
        elif lowered[-1:] in units:
            tokens = int(float(lowered[:-1]) * units[lowered[-1]])
            if tokens > 0:
                return tokens, None
        elif int(lowered) > 0:
            return int(lowered), None
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(text("cli.bad_budget", written=written))


def _say(line: str) -> None:
    print(line, flush=True)


def _complain(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
