"""Loading and unloading: settings, magics, the clean-up transformer, warm-up, the end.

Loading must cost little, so whatever the first prompt needs beyond the settings is imported later.
"""

import atexit
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from maia import installed, status
from maia.outcomes import CellFailed, TurnInterrupted
from maia.source import keep_prompts
from maia.warm_up import WarmUp
from maia_kernel import settings as settings_room
from maia_kernel.engine import Engine
from maia_kernel.errors import MaiaError
from maia_kernel.settings import Settings
from maia_kernel.settings.folder import working_folder
from maia_kernel.texts import language, text

if TYPE_CHECKING:
    from maia.app import App

COMMANDS: Final = ("model", "mode", "status", "new", "clear", "help", "doctor", "trust")
"""Of `maia.commands`, each as `%maia_NAME`."""
_CLOSE_WITHIN: Final = 3.0
"""Seconds for running work to clean up when the kernel ends."""


class Extension:
    """MAIA in one shell: everything that `remove` takes away again."""

    def __init__(self, shell: InteractiveShell, settings: Settings) -> None:
        self.shell = shell
        self.settings = settings
        self.engine = Engine()
        self._app: App | None = None
        self._guard = threading.Lock()
        self._warm_up = WarmUp(self)
        self._magics: list[tuple[str, str]] = []

    @property
    def app(self) -> "App":
        """The shell's App, built at its first use."""
        with self._guard:  # the warm-up may be building it
            if self._app is None:
                from maia.app import App  # events, views' values: a third of the load time

                self._app = App(self.shell, self.settings, self.engine)
            return self._app

    @property
    def busy(self) -> bool:
        """True while a cell waits for MAIA."""
        return self._app is not None and self._app.busy

    def install(self) -> None:
        """Register the magics and start to warm up once the shell is idle."""
        self._add("cell", "maia", self._prompt_magic())
        self._add("line", "maia", self._prompt_magic())
        for name in COMMANDS:
            self._add("line", f"maia_{name}", self._command_magic(name))
        # First, so that the prompt is still as it was typed.
        self.shell.input_transformers_cleanup.insert(0, keep_prompts)
        atexit.register(self.close)
        self._warm_up.start()

    def remove(self) -> None:
        """Undo `install` and end the engine."""
        atexit.unregister(self.close)
        if keep_prompts in self.shell.input_transformers_cleanup:
            self.shell.input_transformers_cleanup.remove(keep_prompts)
        installed.remove()
        for kind, name in self._magics:
            self.shell.magics_manager.magics[kind].pop(name, None)
        self.close()

    def close(self) -> None:
        """End whatever runs; the magics are of no use afterwards."""
        self._warm_up.stop()
        if self._app is not None:
            self._app.close()
        self.engine.shutdown(_CLOSE_WITHIN)

    def _add(self, kind: str, name: str, function: Callable[..., None]) -> None:
        # Read by `%maia_model?` and the like.
        function.__doc__ = text(f"magics.help.{name.removeprefix('maia_')}")
        as_written: Any = no_var_expand
        self.shell.register_magic_function(as_written(function), kind, name)
        self._magics.append((kind, name))

    def _prompt_magic(self) -> Callable[..., None]:
        def maia(line: str, cell: str | None = None) -> None:
            self._guarded(lambda commands: commands.prompt(self.app, line, cell))

        return maia

    def _command_magic(self, name: str) -> Callable[[str], None]:
        def run(line: str) -> None:
            self._guarded(lambda commands: commands.COMMANDS[name](self.app, line.strip()))

        return run

    def _guarded(self, work: Callable[[Any], None]) -> None:
        """Run `work` with the module of the commands; whatever goes wrong is one line."""
        language.set(self.settings.language)
        try:
            from maia import commands  # as `app`

            work(commands)
        except MaiaError as error:
            raise CellFailed(str(error)) from None
        except TurnInterrupted:
            raise
        except KeyboardInterrupt:  # before a pump took it: while the first prompt imports
            raise TurnInterrupted(text("magics.turn.interrupted")) from None


def load(shell: InteractiveShell) -> None:
    """See `maia.load_ipython_extension`; prints at most three lines.

    Raises:
        CellFailed: the settings cannot be used.
    """
    if _find(shell) is not None:
        return
    try:
        folder = working_folder(os.environ)
        settings = settings_room.load(folder, environ=os.environ, home=Path.home())
    except MaiaError as error:
        raise CellFailed(str(error)) from None
    language.set(settings.language)
    extension = Extension(shell, settings)
    extension.install()
    _remember(shell, extension)
    sys.stdout.write("\n".join(status.at_load(settings)) + "\n")


def unload(shell: InteractiveShell) -> None:
    """See `maia.unload_ipython_extension`.

    Raises:
        CellFailed: a prompt is running; this is its own code.
    """
    extension = _find(shell)
    if extension is not None:
        if extension.busy:
            raise CellFailed(text("magics.turn.unload"))
        extension.remove()
        _remember(shell, None)


# The shell itself keeps its extension: no state of this module, one per shell.
_ATTRIBUTE: Final = "_maia_extension"


def _find(shell: Any) -> Extension | None:
    found: Extension | None = getattr(shell, _ATTRIBUTE, None)
    return found


def _remember(shell: Any, extension: Extension | None) -> None:
    setattr(shell, _ATTRIBUTE, extension)
