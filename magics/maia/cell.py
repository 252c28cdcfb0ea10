"""The text of a `%%maia` cell as options and prompt; pure.

Options stand at the start of the magic's line and end at the first word that is not one, or at `--`.
Whatever follows, and the whole body, is the prompt, character by character.
"""

import builtins
import difflib
import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, get_args

from maia_kernel.errors import UsageError
from maia_kernel.permissions import Mode
from maia_kernel.texts import text

MODES: Final[tuple[Mode, ...]] = get_args(Mode)

_OPTION = re.compile(r"--(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>\"[^\"]*\"|'[^']*'|\S*))?(?=\s|$)")
_VALUE = re.compile(r"\s+(?P<value>\"[^\"]*\"|'[^']*'|(?!--[A-Za-z])\S+)")


@dataclass(frozen=True, slots=True)
class CellRequest:
    """What a cell asks for. `out` is a variable name that the answer is bound to; None means that
    the cell does not say.
    """

    prompt: str = ""
    model: str | None = None
    mode: Mode | None = None
    new: bool = False
    session: str | None = None
    max_turns: int | None = None
    context: bool = True
    quiet: bool = False
    out: str | None = None
    help: bool = False


def parse(line: str, body: str | None = None) -> CellRequest:
    """The request of a magic's `line` and, for a cell magic, its `body`.

    Raises:
        UsageError: an unknown option (with the nearest one), a missing or wrong value.
    """
    request, rest = CellRequest(), line.lstrip()
    if rest.strip() in ("-h", "--help"):
        return CellRequest(help=True)
    while rest.startswith("--"):
        if re.match(r"--(\s|$)", rest):
            rest = rest[2:].lstrip()
            break
        found = _OPTION.match(rest)
        if found is None:
            break
        request, end = _take(request, found, rest)
        rest = rest[end:].lstrip()
    if request.new and request.session is not None:
        raise UsageError(text("magics.cell.new_and_session"))
    return replace(request, prompt=_joined(rest, body))


def mode_named(name: str) -> Mode:
    """The permission mode called `name`, in any case; raises `UsageError` with the nearest."""
    for mode in MODES:
        if mode.lower() == name.strip().lower():
            return mode
    close = nearest(name, MODES)
    values = {"mode": name, "usage": ", ".join(MODES)}
    if close is None:
        raise UsageError(text("magics.cell.no_mode", **values))
    raise UsageError(text("magics.cell.unknown_mode", nearest=close, **values))


def nearest(word: str, known: tuple[str, ...]) -> str | None:
    """The known word that `word` was probably meant to be; None when none is like it."""
    by_lower = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[matches[0]] if matches else None


def _joined(first: str, body: str | None) -> str:
    if body is None:
        return first
    return f"{first}\n{body}" if first.strip() else body


def _take(request: CellRequest, found: re.Match[str], rest: str) -> tuple[CellRequest, int]:
    """`request` with the option at the start of `rest`, and where the option ends."""
    name, value = found["name"], found["value"]
    if name in _SWITCHES:
        if value is not None:
            raise UsageError(text("magics.cell.no_value", option=f"--{name}"))
        return _SWITCHES[name](request), found.end()
    if name == "help":
        return replace(request, help=True), len(rest)
    if name in _LATER:
        raise UsageError(text("magics.cell.later", option=f"--{name}", usage=usage()))
    if name not in _VALUES:
        close = nearest(name, (*_VALUES, *_SWITCHES))
        values = {"option": f"--{name}", "usage": usage()}
        if close is None:
            raise UsageError(text("magics.cell.no_option", **values))
        raise UsageError(text("magics.cell.unknown_option", nearest=f"--{close}", **values))
    end = found.end()
    if value is None and (after := _VALUE.match(rest, end)):
        value, end = after["value"], after.end()
    if not value:
        raise UsageError(text("magics.cell.needs_value", option=f"--{name}", usage=usage()))
    if value[0] in "\"'" and value[-1] == value[0] and len(value) > 1:
        value = value[1:-1]
    return _VALUES[name](request, value), end


def _max_turns(request: CellRequest, value: str) -> CellRequest:
    if not value.isdecimal() or int(value) < 1:
        raise UsageError(text("magics.cell.not_a_count", option="--max-turns", value=value))
    return replace(request, max_turns=int(value))


def _out(request: CellRequest, value: str) -> CellRequest:
    if not value.isidentifier() or keyword.iskeyword(value):
        raise UsageError(text("magics.cell.not_a_name", option="--out", value=value))
    if hasattr(builtins, value):
        # Bound, it would hide `print` from every later cell.
        raise UsageError(text("magics.cell.builtin_name", option="--out", value=value))
    return replace(request, out=value)


_VALUES: Final[Mapping[str, Callable[[CellRequest, str], CellRequest]]] = {
    "model": lambda request, value: replace(request, model=value),
    "mode": lambda request, value: replace(request, mode=mode_named(value)),
    "session": lambda request, value: replace(request, session=value),
    "max-turns": _max_turns,
    "out": _out,
}
_LATER: Final = ("bg", "budget", "rerun")
"""Options that later versions have."""
_SWITCHES: Final[Mapping[str, Callable[[CellRequest], CellRequest]]] = {
    "new": lambda request: replace(request, new=True),
    "no-context": lambda request: replace(request, context=False),
    "quiet": lambda request: replace(request, quiet=True),
}


def usage() -> str:
    """The options in one line."""
    return text("magics.usage.maia")
