"""MAIA in IPython and Jupyter: `%load_ext maia`, then `%%maia`. Importing this does nothing."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


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
