"""Reading settings files: strict JSON, faults named with line and column, nothing raised."""

import json
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
        if not path.is_file():
            return None
        raw = path.read_bytes()
        data = json.loads(raw.decode("utf-8-sig")) if len(raw) <= _LIMIT else None
    except json.JSONDecodeError as error:
        place = {"line": error.lineno, "column": error.colno}
        warn(text("settings.broken", file=shown(path), cause=error.msg, **place))
        return None
    except (UnicodeDecodeError, RecursionError) as error:
        warn(text("settings.unreadable", file=shown(path), cause=type(error).__name__))
        return None
    except OSError as error:
        warn(text("settings.unreadable", file=shown(path), cause=error.strerror or "OSError"))
        return None
    if not isinstance(data, dict):
        warn(text("settings.not_object", file=shown(path)))
        return None
    return data


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
