"""The command line of `maia -p`."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args

from maia_kernel._version import __version__
from maia_kernel.arguments import Arguments
from maia_kernel.cli.writer import FORMATS
from maia_kernel.permissions import Mode
from maia_kernel.settings import Flags
from maia_kernel.settings.folder import folder_of
from maia_kernel.texts import text

_MODES: Final[tuple[Mode, ...]] = get_args(Mode)


def read_options(argv: Sequence[str]) -> argparse.Namespace:
    """The options of `maia`.

    Raises:
        UsageError, Told: as `Arguments.read`.
    """
    return _parser().read(argv)


def flags(options: argparse.Namespace, cwd: Path) -> Flags:
    """What of `options` the settings take.

    Raises:
        UsageError: a folder cannot be a path.
    """
    tokens, dollars = options.budget or (None, None)
    return Flags(
        model=options.model,
        mode=options.mode,
        max_turns=options.max_turns,
        bare=options.bare,
        trust=options.trust,
        add_dirs=tuple(folder_of("--add-dir", folder, cwd) for folder in options.add_dir),
        allowed_tools=tuple(options.allowed_tools),
        disallowed_tools=tuple(options.disallowed_tools),
        budget_tokens=tokens,
        budget_usd=dollars,
    )


def utf8(argument: str) -> str:
    """`argument` as text to send: bytes that are no UTF-8 become U+FFFD."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _parser() -> Arguments:
    parser = Arguments("maia", description=text("cli.description"), epilog=text("cli.epilog"))
    add = parser.options.add_argument
    add("-p", "--prompt", nargs="?", const="", help=text("cli.prompt"))
    add("--model", help=text("cli.model"))
    formats = text("cli.output_format")
    add("--output-format", type=_format, default="text", metavar="FORMAT", help=formats)
    add("--max-turns", type=_positive, metavar="N", help=text("cli.max_turns"))
    add("--mode", "--permission-mode", dest="mode", type=_mode, help=text("cli.mode"))
    for name, help_text in (
        ("allowed", text("cli.allowed")),
        ("disallowed", text("cli.disallowed")),
    ):
        add(f"--{name}-tools", action="append", default=[], metavar="RULE", help=help_text)
    add("--add-dir", action="append", default=[], metavar="DIR", help=text("cli.add_dir"))
    add("--budget", type=_budget, help=text("cli.budget"))
    add("--bare", action="store_true", help=text("cli.bare"))
    add("--trust", action="store_true", help=text("cli.trust"))
    parser.tell("--version", answer=f"maia {__version__}", help=text("cli.version"))
    return parser


def _mode(written: str) -> Mode:
    for mode in _MODES:
        if mode == written:
            return mode
    modes = ", ".join(_MODES)
    raise argparse.ArgumentTypeError(text("turn.unknown_mode", mode=written, modes=modes))


def _format(written: str) -> str:
    if written in FORMATS:
        return written
    formats = ", ".join(FORMATS)
    raise argparse.ArgumentTypeError(text("cli.bad_format", written=written, formats=formats))


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
