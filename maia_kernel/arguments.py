"""Command lines in the person's language: `argparse` whose help and faults are our texts."""

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

from maia_kernel.errors import UsageError
from maia_kernel.texts import text

# What argparse says of a command line, and what it knows then.
_FAULTS: Final = (
    (r"expected (?:one|at least one) argument", "arguments.no_value"),
    (r"ignored explicit argument (?P<value>.*)", "arguments.takes_none"),
    (r"the following arguments are required: (?P<names>.*)", "arguments.required"),
    (r"ambiguous option: (?P<option>\S+) could match (?P<names>.*)", "arguments.ambiguous"),
)


class Told(Exception):
    """No fault: the command line asks for a text, such as the help, and `str` is that text."""


class Arguments(argparse.ArgumentParser):
    """A parser that never prints and never ends the program: see `read`."""

    def __init__(
        self, prog: str, *, description: str, epilog: str = "", usage: str | None = None
    ) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            formatter_class=_Help,
            add_help=False,
            exit_on_error=False,
        )
        self.options = self.add_argument_group(text("arguments.options"))
        self.options.add_argument(
            "-h", "--help", action=_Tell, of=self, help=text("arguments.help")
        )

    def tell(self, *names: str, answer: str, help: str) -> None:
        """Add an option that asks for `answer`."""
        self.options.add_argument(*names, action=_Tell, of=answer, help=help)

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """The options that `argv` gives.

        Raises:
            UsageError: it is no such command line; says where the help is.
            Told: it asks for the help or another text.
        """
        try:
            options, unknown = self.parse_known_args(argv)
        except argparse.ArgumentError as fault:
            self._refuse(_cause(fault.message), at=fault.argument_name)
        if unknown:
            self._refuse(text("arguments.unknown", names=" ".join(unknown)))
        return options

    def error(self, message: str) -> NoReturn:
        """Called by argparse for what it has no exception for."""
        self._refuse(_cause(message))

    def _refuse(self, cause: str, *, at: str | None = None) -> NoReturn:
        where = f"{self.prog} {at}" if at else self.prog
        raise UsageError(text("arguments.wrong", where=where, cause=cause, prog=self.prog))


class _Tell(argparse.Action):
    def __init__(self, option_strings: Sequence[str], *, of: object, **rest: Any) -> None:
        super().__init__(option_strings, nargs=0, **{**rest, "dest": argparse.SUPPRESS})
        self._of = of

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        of = self._of
        raise Told((of.format_help() if isinstance(of, Arguments) else str(of)).rstrip())


class _Help(argparse.RawDescriptionHelpFormatter):
    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: str | None = None,
    ) -> None:
        super().add_usage(usage, actions, groups, prefix or text("arguments.usage") + " ")


def _cause(message: str) -> str:
    for pattern, key in _FAULTS:
        found = re.fullmatch(pattern, message)
        if found is not None:
            return text(key, **found.groupdict())
    return message
