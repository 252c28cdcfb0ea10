"""Reading settings files: strict JSON, faults named with line and column, nothing raised."""

import json
import os
import stat
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from maia_kernel.paths import shown
from maia_kernel.texts import text

Warn = Callable[[str], None]
_LIMIT = 4 * 1024 * 1024


def read_object(path: Path, warn: Warn) -> dict[str, Any] | None:
    """The JSON object in `path`; None when there is no file, or with a warning when it is broken."""
    try:
        raw = content(path)
    except UnfitError as fault:
        warn(str(fault))
        return None
    except OSError as error:
        warn(text("settings.unreadable", file=shown(path), cause=error.strerror or "OSError"))
        return None
    return None if raw is None else parsed_object(raw, path, warn)


def parsed_object(raw: bytes, path: Path, warn: Warn) -> dict[str, Any] | None:
    """The JSON object that `raw`, the bytes of `path`, says; None with a warning when it is broken."""
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        place = {"line": error.lineno, "column": error.colno}
        warn(text("settings.broken", file=shown(path), cause=error.msg, **place))
        return None
    except (ValueError, RecursionError) as error:  # not UTF-8, a number too long, too deep
        warn(text("settings.unreadable", file=shown(path), cause=type(error).__name__))
        return None
    if not isinstance(data, dict):
        warn(text("settings.not_object", file=shown(path)))
        return None
    return data


class UnfitError(Exception):
    """What cannot be a settings file; the message is for the person."""


def content(path: Path) -> bytes | None:
    """The bytes of a settings file, None when there is none; a pipe in its place never blocks.

    Raises:
        OSError, UnfitError: it cannot be read, or is none.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnfitError(text("settings.not_file", file=shown(path)))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(_LIMIT + 1)
    finally:
        os.close(descriptor)
    if len(raw) > _LIMIT:
        raise UnfitError(text("settings.too_large", file=shown(path), size=_LIMIT // 2**20))
    return raw


def warn_unknown(
    data: dict[str, Any], known: frozenset[str], path: Path, warn: Warn, *, prefix: str = ""
) -> None:
    """A warning for every key that nothing reads, with the nearest one that exists."""
    for key in data:
        if key in known or key.startswith("$"):
            continue
        near = get_close_matches(key, known, n=1)
        where = {"file": shown(path), "setting": prefix + key}
        if near:
            warn(text("settings.unknown_key_near", near=prefix + near[0], **where))
        else:
            warn(text("settings.unknown_key", **where))
