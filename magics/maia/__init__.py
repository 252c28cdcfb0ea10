"""MAIA in IPython and Jupyter: `%load_ext maia`, then `%%maia`. Importing this does nothing."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension", "tool", "unload_ipython_extension"]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(*, name: str | None = None, read_only: bool = False) -> Callable[[F], F]: ...
def tool(
    function: F | None = None, /, *, name: str | None = None, read_only: bool = False
) -> F | Callable[[F], F]:
    """Make a typed function a tool of this notebook's conversations: `@maia.tool`.

    The model sees the function's name, its annotations and its docstring; the function runs in the
    kernel, after the question whether it may. Defining it again replaces it. `read_only=True` says that
    it changes nothing: then it runs unasked. Works before and after `%load_ext maia`.
    """
    from maia import installed  # kept out of a bare `import maia`

    installed.install()
    from maia.functions import register  # after `install`, as below

    if function is not None:
        return register(function, name=name, read_only=read_only)
    return lambda function: register(function, name=name, read_only=read_only)


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Add MAIA's magics to `shell`; IPython's hook for `%load_ext maia`."""
    from maia import installed  # kept out of a bare `import maia`

    installed.install()
    from maia.extension import (
        load,
    )  # after `install`: nothing of the working folder stands in for it

    load(shell)


def unload_ipython_extension(shell: "InteractiveShell") -> None:
    """Take MAIA out of `shell`, and end what it started; IPython's hook for `%unload_ext maia`."""
    from maia.extension import unload

    unload(shell)
