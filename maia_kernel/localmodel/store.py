"""Where weights are kept: verified files in the user's cache folder, and people's own files by reference.

<folder>/<file>.gguf        verified: a file is renamed to this only after its hash was right
<folder>/partial/           downloads that are not finished; kept, so that they can go on
<folder>/own.json           {name: {path, sha256, size}} of files that stay where they are
<folder>/server.log         llama.cpp's own log
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from maia_kernel.errors import LocalModelError, UsageError
from maia_kernel.localmodel.catalogue import LocalModel, known_models
from maia_kernel.paths import shown
from maia_kernel.texts import text

MAGIC = b"GGUF"  # the first four bytes of the format (ggml-org, gguf.md)
# Windows of models we do not know: llama.cpp takes the smaller of this and the trained one.
OWN_CONTEXT = 8192
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Installed:
    """A model whose weights are on this machine; `own` when they are the person's own file."""

    model: LocalModel
    path: Path
    own: bool = False


def models_folder(environ: Mapping[str, str]) -> Path:
    """`MAIA_MODEL_DIR`, or `maia/models` in the user's cache folder.

    Raises:
        LocalModelError: the variable names a home folder that nobody has.
    """
    if chosen := environ.get("MAIA_MODEL_DIR"):
        try:
            return Path(chosen).expanduser().absolute()
        except RuntimeError:  # "~nobody"
            raise LocalModelError(text("localmodel.no_home", path=chosen)) from None
    import platformdirs  # late: needed only where the variable is not set

    return platformdirs.user_cache_path("maia", appauthor=False) / "models"


def size_text(size: int) -> str:
    """`size` bytes as people write it: decimal MB or GB."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def sha256_of(path: Path, progress: Callable[[int], None] | None = None) -> str:
    """The hash of a file in hex; `progress` gets the bytes read so far."""
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while piece := stream.read(_CHUNK):
            digest.update(piece)
            done += len(piece)
            if progress is not None:
                progress(done)
    return digest.hexdigest()


class Store:
    """The weights on this machine, in `folder`. Safe for several processes at once."""

    def __init__(self, folder: Path, models: tuple[LocalModel, ...] | None = None) -> None:
        self.folder = folder
        self.models = known_models() if models is None else models

    @property
    def partial(self) -> Path:
        """Where unfinished downloads are."""
        return self.folder / "partial"

    @property
    def log(self) -> Path:
        """The server's own log."""
        return self.folder / "server.log"

    def lock(self, name: str) -> FileLock:
        """The lock to hold while the files of `name` change."""
        self.partial.mkdir(parents=True, exist_ok=True)
        return FileLock(self.partial / f"{name}.lock")

    def known(self, name: str) -> LocalModel | None:
        """The model of the table with that name."""
        return next((model for model in self.models if model.name == name), None)

    def path(self, model: LocalModel) -> Path:
        """Where the verified file of a known model is, or would be."""
        return self.folder / model.file

    def is_complete(self, model: LocalModel) -> bool:
        """Whether the file of a known model is there, whole."""
        try:
            return self.path(model).stat().st_size == model.size
        except OSError:
            return False

    def installed(self) -> tuple[Installed, ...]:
        """What can be run now: known models, the most capable first, then the person's own."""
        known = [Installed(model, self.path(model)) for model in self.models]
        own = [_own_model(name, row) for name, row in self._own().items()]
        return (
            *(entry for entry in known if self.is_complete(entry.model)),
            *(entry for entry in own if entry.path.is_file()),
        )

    def find(self, name: str) -> Installed:
        """The installed model called `name`; "" and "default" are the best one there is.

        Raises:
            LocalModelError: it is known but not downloaded, or its file is gone.
            UsageError: nobody knows that name.
        """
        installed = self.installed()
        if name in ("", "default"):
            if not installed:
                raise LocalModelError(text("localmodel.none_downloaded"))
            return installed[0]
        for entry in installed:
            if entry.model.name == name:
                return entry
        if model := self.known(name):
            raise LocalModelError(
                text("localmodel.not_downloaded", name=name, size=size_text(model.size))
            )
        if row := self._own().get(name):
            raise LocalModelError(text("localmodel.own_gone", name=name, path=shown(row["path"])))
        raise UsageError(text("localmodel.unknown", name=name, names=", ".join(self.names())))

    def names(self) -> tuple[str, ...]:
        """Every name that can be asked for."""
        return (*(model.name for model in self.models), *self._own())

    def register(self, path: Path, progress: Callable[[int], None] | None = None) -> Installed:
        """Remember a person's own `.gguf` file under its stem; the file stays where it is.

        Raises:
            UsageError: not a file, or not of that format.
        """
        try:
            with path.open("rb") as stream:
                magic = stream.read(len(MAGIC))
        except OSError as error:
            raise UsageError(
                text("localmodel.unreadable", path=shown(path), reason=error.strerror or error)
            ) from error
        if magic != MAGIC:
            raise UsageError(text("localmodel.not_gguf", path=shown(path)))
        name = re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-.") or "own"
        if self.known(name) is not None:
            name = f"{name}-own"
        row = {
            "path": str(path.resolve()),
            "sha256": sha256_of(path, progress),
            "size": path.stat().st_size,
        }
        with self.lock("own"):
            self._write_own({**self._own(), name: row})
        return _own_model(name, row)

    def remove(self, name: str) -> int:
        """Forget `name`: delete downloaded weights and what is left of a download.

        Returns the bytes freed; a person's own file is only forgotten. 0 when nothing was there.

        Raises:
            UsageError: nobody knows that name.
        """
        if model := self.known(name):
            with self.lock(name):
                return self._remove_known(model)
        with self.lock("own"):
            own = self._own()
            if name not in own:
                names = ", ".join(self.names())
                raise UsageError(text("localmodel.unknown", name=name, names=names))
            self._write_own({key: row for key, row in own.items() if key != name})
        return 0

    def is_own(self, name: str) -> bool:
        """Whether `name` is a person's own file, registered here."""
        return self.known(name) is None and name in self._own()

    def _remove_known(self, model: LocalModel) -> int:
        freed = 0
        for path in (self.path(model), self.partial / f"{model.file}.part"):
            if path.is_file():
                freed += path.stat().st_size
                path.unlink()
        wheels = self.partial / model.name
        if wheels.is_dir():
            freed += sum(file.stat().st_size for file in wheels.rglob("*") if file.is_file())
            shutil.rmtree(wheels)
        return freed

    def _own(self) -> dict[str, dict[str, Any]]:
        path = self.folder / "own.json"
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise LocalModelError(
                text("localmodel.own_broken", path=shown(path), reason=error)
            ) from error
        return table if isinstance(table, dict) else {}

    def _write_own(self, table: Mapping[str, Mapping[str, Any]]) -> None:
        path = self.folder / "own.json"
        draft = path.with_suffix(".json.new")
        draft.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
        draft.replace(path)


def _own_model(name: str, row: Mapping[str, Any]) -> Installed:
    path = Path(row["path"])
    model = LocalModel(
        name=name,
        title=path.name,
        file=path.name,
        size=row["size"],
        sha256=row["sha256"],
        licence="",
        publisher="",
        context=OWN_CONTEXT,
    )
    return Installed(model, path, own=True)
