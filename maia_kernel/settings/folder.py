"""Where a session starts: the current folder, or the one that `MAIA_CWD` names."""

from collections.abc import Mapping
from pathlib import Path

from maia_kernel.errors import UsageError
from maia_kernel.texts import text


def working_folder(environ: Mapping[str, str]) -> Path:
    """The resolved folder to work in.

    Raises:
        UsageError: there is no current folder any more, or `MAIA_CWD` names none.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageError(text("settings.folder_gone")) from None
    written = environ.get("MAIA_CWD")
    if not written:
        return here.resolve()
    folder = folder_of("MAIA_CWD", written, here)
    if not folder.is_dir():
        raise UsageError(text("settings.names_no_folder", option="MAIA_CWD", folder=written))
    return folder


def folder_of(option: str, written: str, here: Path) -> Path:
    """The resolved folder that the text `written` means, which need not exist.

    Raises:
        UsageError: it cannot mean one (`~nobody`); `option` is where it was written.
    """
    try:
        return (here / Path(written).expanduser()).resolve()
    except (RuntimeError, ValueError):
        raise UsageError(text("settings.names_no_folder", option=option, folder=written)) from None
