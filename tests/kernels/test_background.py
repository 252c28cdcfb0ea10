"""Background commands in a real kernel: they outlive the cell, and nothing outlives the kernel."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.notebook import Notebook, calls, notebook, says


@pytest.fixture
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    home = tmp_path_factory.mktemp("background")
    (home / ".maia").mkdir()
    (home / ".maia/settings.json").write_text('{"permissions": {"allow": ["Bash"]}}', "utf-8")
    with notebook(home) as opened:
        yield opened


def started(folder: Path, name: str) -> list[psutil.Process]:
    return [psutil.Process(int(word)) for word in (folder / name).read_text("utf-8").split()]


def test_a_command_outlives_its_cell_and_ends_with_the_kernel(book: Notebook) -> None:
    """Given a command in the background, then its cell ends at once and it goes on; an interrupted cell
    that waits for it leaves it running; `%maia_new` ends it, and the end of the kernel another one."""
    front_end = book.front_end
    command = "sleep 300 & echo $! $$ > {name}.part; mv {name}.part {name}; wait"
    processes: list[psutil.Process] = []
    for name in ("first", "second"):
        front_end.run("%maia_new")
        assert not [p for p in processes if p.is_running() and p.status() != "zombie"]
        run = book.ask(
            "Go.",
            calls("Bash", command=command.format(name=name), run_in_background=True),
            says("Started.", expect={"tool_result": "task bash_1"}),
        ).wait()
        assert "Started." in run.displayed, run.text
        front_end.until((book.folder / name).exists, 10, "the command's start")
        processes = started(book.folder, name)
        assert all(process.is_running() for process in processes)
    waiting = book.ask("Wait.", calls("TaskOutput", task_id="bash_1", timeout=60_000))
    waiting.wait_for_text("bash_1")
    front_end.interrupt()
    assert waiting.wait().status == "error"
    assert all(process.is_running() for process in processes)
    run = book.ask("Next.", says("I see.", expect={"contains": "running"})).wait()
    assert "I see." in run.displayed, run.text
    front_end.client.shutdown()
    _, left = psutil.wait_procs(processes, timeout=20)
    assert not [p for p in left if p.is_running() and p.status() != "zombie"]
