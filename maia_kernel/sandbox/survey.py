"""The bounds of a command, found on the disk as it is now: protected names, denied paths, keys."""

import contextlib
import os
import secrets
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from maia_kernel import paths
from maia_kernel.permissions import Policy
from maia_kernel.permissions.protected import is_protected
from maia_kernel.sandbox.denied import denied_places, walk
from maia_kernel.sandbox.places import depth, exists, within
from maia_kernel.sandbox.values import Bounds, SandboxSettings

_DEPTH = 8  # levels below a working folder in which protected names are looked for
_SEARCHED = 20_000  # entries looked at for protected names: the shallow ones come first


@dataclass(frozen=True, slots=True)
class KeptFrom:
    """The lists of `kept_from.toml`."""

    home: tuple[str, ...]
    absolute: tuple[str, ...]
    variables: tuple[str, ...]
    git: tuple[str, ...]
    skipped: frozenset[str]


@cache
def kept_from() -> KeptFrom:
    """What commands in the sandbox neither read nor inherit, as data."""
    source = files("maia_kernel.sandbox") / "kept_from.toml"
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    return KeptFrom(
        home=tuple(data["home"]),
        absolute=tuple(data["absolute"]),
        variables=tuple(data["variables"]),
        git=tuple(data["git"]),
        skipped=frozenset(data["skipped"]),
    )


def survey(policy: Policy, settings: SandboxSettings, temp: Path) -> Bounds:
    """The bounds of a command that starts now; reads the disk, takes milliseconds."""
    resolve = policy.resolve
    cwd = resolve(policy.cwd)
    roots = _existing(map(resolve, (*policy.folders, *settings.allow_write)))
    writable = tuple(dict.fromkeys((*roots, resolve(temp))))
    readable = _readable(settings, resolve)
    unreadable = [
        place
        for place in _unreadable(policy, settings)
        # A working folder is not taken away because a list names a folder above it.
        if place not in readable and not any(root == place for root in roots)
    ]
    found = protected_below(roots)
    readonly = [place for place in found.places if place not in found.anchors | found.links.keys()]
    readonly += [resolve(path) for path in settings.deny_write if exists(path)]
    readonly += [place for place in _programs() if within(place, roots)]
    return Bounds(
        cwd=cwd,
        temp=resolve(temp),
        writable=writable,
        readonly=tuple(dict.fromkeys(readonly)),
        anchors=tuple(found.anchors),
        unreadable=_outermost(unreadable, (*roots, *readable)),
        readable=tuple(_existing((*readable, *_programs()))),
    )


@dataclass(frozen=True, slots=True)
class Protected:
    """What exists under protected names: each place with its inode.

    `anchors` are the git folders among them, `links` the symbolic links with what they lead to: nothing
    can be mounted on one, so that a command may put something else in its place.
    """

    places: Mapping[Path, int]
    anchors: frozenset[Path]
    links: Mapping[Path, str]

    def knows(self, place: Path, now: "Protected") -> bool:
        """True when what is at `place` now was there before, or in a folder that was moved."""
        if place in self.links:
            return self.links[place] == now.links.get(place)
        if place in self.places:
            return True
        inode = now.places[place]
        return any(inode == old and at not in self.links for at, old in self.places.items())


def protected_below(roots: Sequence[Path]) -> Protected:
    """What exists in these folders under a protected name, at any depth that a person works in."""
    places: dict[Path, int] = {}
    anchors: set[Path] = set()
    links: dict[Path, str] = {}
    for root in roots:
        for entry in walk(root, _enters, _SEARCHED, _DEPTH):
            inner = Path(os.path.relpath(entry.path, root))
            if not is_protected(inner, inner):
                continue
            place = Path(entry.path)
            places[place] = entry.inode()
            if entry.is_symlink():
                with contextlib.suppress(OSError):
                    links[place] = str(place.readlink())
            elif entry.name == ".git" and entry.is_dir():
                anchors.add(place)
                for part in (place / name for name in kept_from().git):
                    with contextlib.suppress(OSError):
                        places[part] = os.lstat(part).st_ino
    return Protected(places, frozenset(anchors), links)


def hold_back(roots: Sequence[Path], before: Protected) -> list[Path]:
    """Rename what is new under protected names, so that nothing takes it for what it claims to be.

    Links that are gone are made again. Returns the names that the new things have now.
    """
    held: list[Path] = []
    now = protected_below(roots)
    for place in now.places:
        if before.knows(place, now):
            continue
        new = place.with_name(f"{place.name}.held-{secrets.token_hex(3)}")
        with contextlib.suppress(OSError):  # it went with the folder it was in
            place.rename(new)
            held.append(new)
    for place, target in before.links.items():
        with contextlib.suppress(OSError):  # it is there, or its folder is not
            place.symlink_to(target)
    return held


def _enters(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    return name not in kept_from().skipped and not is_protected(Path(name), Path(name))


def _unreadable(policy: Policy, settings: SandboxSettings) -> Iterator[Path]:
    lists = kept_from()
    listed = [policy.home / name for name in lists.home]
    listed += [Path(name) for name in lists.absolute if not policy.home.is_relative_to(name)]
    for path in (*listed, *settings.deny_read):
        if os.path.lexists(path):
            yield policy.resolve(path)
    yield from denied_places(policy)


def _readable(settings: SandboxSettings, resolve: Callable[[Path], Path]) -> tuple[Path, ...]:
    return tuple(_existing(map(resolve, settings.allow_read)))


def _programs() -> tuple[Path, ...]:
    """The environment that runs MAIA, and MAIA itself: read wherever it lies, written nowhere."""
    here = Path(__file__).parent
    places = (Path(sys.prefix), Path(sys.base_prefix), here)
    return tuple(dict.fromkeys(paths.resolve(place) for place in places))


def _existing(found: Iterable[Path]) -> list[Path]:
    return list(dict.fromkeys(path for path in found if exists(path)))


def _outermost(places: Sequence[Path], holes: Sequence[Path]) -> tuple[Path, ...]:
    """Without those that lie in another, unless a hole is between them."""
    kept: list[Path] = []
    for place in sorted(set(places), key=depth):
        around = [outer for outer in kept if place.is_relative_to(outer)]
        holed = any(
            hole.is_relative_to(outer) and place.is_relative_to(hole)
            for outer in around
            for hole in holes
        )
        if not around or holed:
            kept.append(place)
    return tuple(kept)
