"""`@maia.tool`: functions of the notebook as tools of its conversations, kept by the shell itself."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from maia.outcomes import CellFailed
from maia_kernel.errors import UsageError
from maia_kernel.texts import text

if TYPE_CHECKING:
    from maia_kernel.tools.function import FunctionTool

F = TypeVar("F", bound=Callable[..., Any])
_ATTRIBUTE: Final = "_maia_functions"


def register(function: F, *, name: str | None, read_only: bool) -> F:
    """Make `function` a tool; one of the same name is replaced. Gives the function unchanged.

    Raises:
        CellFailed: it cannot be a tool, or there is no IPython here.
    """
    from IPython.core.getipython import get_ipython

    from maia_kernel.tools.function import (
        FunctionTool,  # pydantic: only who makes tools needs it now
    )
    from maia_kernel.tools.signature import describe

    shell = get_ipython()
    if shell is None:
        raise CellFailed(text("extensions.function.no_shell"))
    if not callable(function):
        raise CellFailed(text("extensions.function.not_callable"))
    try:
        described = describe(function, name)
    except UsageError as error:
        raise CellFailed(str(error)) from None
    # A new dict: the engine's thread may be reading the old one.
    made = {**_made(shell), described.name: FunctionTool(described, read_only=read_only)}
    setattr(shell, _ATTRIBUTE, made)
    return function


def registered(shell: Any) -> "tuple[FunctionTool, ...]":
    """The tools made in `shell`, in the order they were first made."""
    return tuple(_made(shell).values())


def _made(shell: Any) -> "dict[str, FunctionTool]":
    found: dict[str, FunctionTool] = getattr(shell, _ATTRIBUTE, {})
    return found
