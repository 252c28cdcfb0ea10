"""The values of the sandbox: what the settings say, what one command may do, how it is started."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

MechanismName = Literal["bubblewrap", "landlock", "sandbox-exec"]


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """`sandbox.*` of the settings files (the public names are in `settings/sandbox.py`).

    `excluded` are command patterns that run outside; `allow_unsandboxed`: a call may ask to run
    outside. Paths are absolute; domains are `host` or `*.host`.
    """

    enabled: bool = False
    auto_allow: bool = True
    allow_unsandboxed: bool = True
    excluded: tuple[str, ...] = ()
    allow_write: tuple[Path, ...] = ()
    deny_write: tuple[Path, ...] = ()
    allow_read: tuple[Path, ...] = ()
    deny_read: tuple[Path, ...] = ()
    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one command may do to the files of this machine. Every path is absolute and resolved.

    `writable` are folders (files below `readonly` and `unreadable` aside), `temp` the private one
    among them. `readonly` are existing files and folders in them; `anchors` folders in them that may
    be written but not be renamed, since what is protected lies in them. `unreadable` are existing
    files and folders; `readable` lies in them and may be read after all.
    """

    cwd: Path
    temp: Path
    writable: tuple[Path, ...]
    readonly: tuple[Path, ...] = ()
    anchors: tuple[Path, ...] = ()
    unreadable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()


@dataclass(slots=True)
class Confined:
    """A command as it must be started to be in the sandbox.

    `env` is added to its environment; `pass_fds` are inherited and must stay open until it started.
    `held` is filled when it has ended: what it made under protected names, as it is called now.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    held: list[Path] = field(default_factory=list)
