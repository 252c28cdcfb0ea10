"""`maia model get|list|remove`: the person's side of the store."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from maia_kernel.arguments import Arguments, Told
from maia_kernel.errors import MaiaError, UsageError
from maia_kernel.localmodel.catalogue import LocalModel
from maia_kernel.localmodel.download import default_model, fetch
from maia_kernel.localmodel.launch import is_runnable
from maia_kernel.localmodel.store import Store, models_folder, size_text
from maia_kernel.paths import shown
from maia_kernel.texts import text

Write = Callable[[str], object]
"""Writes one line; the line end is its own."""


def main(
    argv: Sequence[str],
    *,
    write: Write,
    err: Write,
    environ: Mapping[str, str],
    models: tuple[LocalModel, ...] | None = None,
    redraw: Callable[[str], object] | None = None,
) -> int:
    """Run `maia model ...` and return its exit code: 0, 2 for a wrong command, 3 for a failure.

    Results go to `write`, progress and errors to `err`, a line a call. `redraw` writes text as it is,
    to redraw the progress line in place: stderr by default, where that is a terminal.
    """
    if redraw is None and sys.stderr.isatty():
        redraw = sys.stderr.write
    line = ProgressLine(err, redraw)
    try:
        options = _parse(argv)
        store = Store(models_folder(environ), models)
        if options.action == "list":
            write(_listing(store))
        elif options.action == "remove":
            write(_remove(store, options.name))
        else:
            _get(store, options.name, write=write, line=line, environ=environ)
    except Told as answer:
        write(str(answer))
    except MaiaError as error:
        line.say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        line.say(text("localmodel.stopped"))
        return 130
    return 0


_ACTIONS: Final = ("get", "list", "remove")


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """The action and its name.

    Raises:
        UsageError, Told: as `Arguments.read`.
    """
    parser = Arguments(
        "maia model",
        description=text("localmodel.help.all"),
        usage=text("localmodel.help.usage"),
    )
    parser.add_argument("action", help=argparse.SUPPRESS)
    parser.add_argument("name", nargs="?", default="", help=argparse.SUPPRESS)
    options = parser.read(argv or ["--help"])
    if options.action not in _ACTIONS:
        parser.error(text("localmodel.help.no_action", action=options.action))
    if options.action == "remove" and not options.name:
        parser.error(text("localmodel.help.no_name"))
    if options.action == "list" and options.name:
        parser.error(text("localmodel.help.no_name_taken"))
    return options


def _get(
    store: Store,
    name: str,
    *,
    write: Write,
    line: "ProgressLine",
    environ: Mapping[str, str],
) -> None:
    if _is_path(name) and store.known(name) is None:
        entry = store.register(_own_file(name))
        write(text("localmodel.registered", name=entry.model.name, path=shown(entry.path)))
        write(f"sha256 {entry.model.sha256}")
        name = entry.model.name
    else:
        model = store.known(name) if name else default_model(store.models)
        if model is None:
            names = ", ".join(known.name for known in store.models)
            raise UsageError(text("localmodel.unknown_get", name=name, names=names))
        name = model.name
        there = store.is_complete(model)
        path = fetch(store, model, environ=environ, say=line.say, progress=line.show)
        key = "localmodel.already" if there else "localmodel.ready"
        write(text(key, name=name, path=shown(path)))
    if not is_runnable():
        write(text("localmodel.extra"))
    write(text("localmodel.use", name=name))


def _own_file(written: str) -> Path:
    try:
        return Path(written).expanduser()
    except RuntimeError:  # "~nobody"
        raise UsageError(text("localmodel.no_home", path=written)) from None


def _is_path(name: str) -> bool:
    return "/" in name or name.startswith("~") or name.lower().endswith(".gguf")


def _listing(store: Store) -> str:
    installed = {entry.model.name: entry for entry in store.installed()}
    best = next(iter(installed), "")
    rows: list[tuple[str, ...]] = []
    for model in store.models:
        state = "downloaded" if model.name in installed else "absent"
        rows.append((model.name, size_text(model.size), model.licence, state, model.title))
    for entry in installed.values():
        if entry.own:
            model = entry.model
            rows.append((model.name, size_text(model.size), "-", "own", shown(entry.path)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = []
    for name, size, licence, state, detail in rows:
        mark = "*" if name == best else " "
        cells = f"{name:<{widths[0]}}  {size:>{widths[1]}}  {licence:<{widths[2]}}"
        lines.append(f"{mark} {cells}  {text(f'localmodel.state.{state}')}  {detail}")
    lines.append(text("localmodel.folder", path=shown(store.folder)))
    return "\n".join(lines)


def _remove(store: Store, name: str) -> str:
    if store.is_own(name):
        store.remove(name)
        return text("localmodel.forgotten", name=name)
    freed = store.remove(name)
    key = "localmodel.removed" if freed else "localmodel.nothing_to_remove"
    return text(key, name=name, size=size_text(freed))


class ProgressLine:
    """Progress as text: redrawn in place with `redraw`, a line each tenth without."""

    def __init__(self, err: Write, redraw: Callable[[str], object] | None) -> None:
        self._err = err
        self._redraw = redraw
        self._last = -1
        self._open = False

    def say(self, line: str) -> None:
        """Write a whole line, after ending the one that is being redrawn."""
        self.close()
        self._err(line)
        self._last = -1

    def show(self, done: int, total: int) -> None:
        """Show `done` of `total` bytes, if that is news."""
        percent = done * 100 // max(total, 1)
        news = percent // 10 * 10 if self._redraw is None else percent
        if news == self._last:
            return
        self._last = news
        line = f"{percent:3d} %  {size_text(done)} / {size_text(total)}"
        if self._redraw is None:
            self._err(line)
        else:
            self._redraw(f"\r{line:<40}")
            self._open = True

    def close(self) -> None:
        """End the line that is being redrawn, if there is one."""
        if self._open and self._redraw is not None:
            self._redraw("\n")
        self._open = False
