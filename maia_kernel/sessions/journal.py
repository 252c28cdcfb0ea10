"""The append-only file of a session: a header line, then one JSON object a line.

    {"type": "header", "schema": 1, "id": ..., "name": ..., "created": ..., "model": ..., "cwd": ...}
    {"type": "turn_started", "turn": 1, "time": ..., "model": ...}
    {"type": "message", "turn": 1, "message": {"role": ..., "content": [...]}}
    {"type": "permission", "turn": 1, "tool": ..., "behavior": ..., "reason": ...}
    {"type": "turn_finished", "turn": 1, "reason": "done", "usage": {...}}
    {"type": "cleared"}

A turn whose `turn_finished` says "interrupted" is not part of the conversation. The file appears with
the first line, mode 0600; every line is flushed, so that a kernel killed at any moment loses at most
the line being written. Known secrets are replaced before they reach the disk.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from maia_kernel.errors import SessionError
from maia_kernel.paths import shown
from maia_kernel.ports import Secrets
from maia_kernel.texts import text

SCHEMA: Final = 1

# What MAIA itself works in stays out of git; settings, skills and agents can be committed.
_IGNORED = (
    ".sessions/",
    "tasks/",
    "worktrees/",
    "agent-memory-local/",
    "settings.local.json",
)


class Journal:
    """Writes one session's file in `<cwd>/.maia/.sessions`."""

    def __init__(
        self, folder: Path, name: str, *, header: dict[str, Any], secrets: Secrets
    ) -> None:
        self.name = name
        self._folder = folder
        self._header = header
        self._secrets = secrets
        self._file: int | None = None
        self.path = folder / f"{name}.jsonl"

    @property
    def written(self) -> bool:
        """True once the file exists."""
        return self._file is not None

    def append(self, kind: str, **fields: Any) -> None:
        """Add one line; the first one creates the file, its header and `.maia/.gitignore`.

        Raises:
            SessionError: the file cannot be written.
        """
        try:
            if self._file is None:
                self._file = self._create()
                self._write({"type": "header", "schema": SCHEMA, "id": uuid4().hex, **self._header})
            self._write({"type": kind, **fields})
        except OSError as error:
            raise SessionError(
                text("sessions.unwritable", path=shown(self.path), cause=error.strerror or error)
            ) from error

    def close(self) -> None:
        """Close the file; a later `append` would open a new one."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _create(self) -> int:
        self._folder.mkdir(parents=True, exist_ok=True)
        ignore = self._folder.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("\n".join(_IGNORED) + "\n", encoding="utf-8")
        number = 1
        while True:
            # O_EXCL: two kernels that start in the same second must not share a file.
            name = self.name if number == 1 else f"{self.name}_{number}"
            path = self._folder / f"{name}.jsonl"
            try:
                descriptor = os.open(
                    path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600
                )
            except FileExistsError:
                number += 1
                continue
            self.name, self.path = name, path
            self._header["name"] = name
            return descriptor

    def _write(self, line: dict[str, Any]) -> None:
        assert self._file is not None
        data = self._secrets.redact(json.dumps(line, ensure_ascii=False)) + "\n"
        rest = data.encode("utf-8", "surrogatepass")
        while rest:
            rest = rest[os.write(self._file, rest) :]


def stamp() -> str:
    """Now, as the journal writes it: ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
