"""notebooks/tour.ipynb, executed as nbclient, papermill and nbconvert do, with a written model."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).parent.parent.parent / "notebooks"

# Nobody can be asked here, so the person's own rules say what may be done.
ALLOWED = ["Python", "Edit(sample/moving_average.py)"]


@pytest.fixture
def folder(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of notebooks/, a person with rules, and the script as the model."""
    copy = tmp_path / "notebooks"
    shutil.copytree(NOTEBOOKS, copy, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    (home / ".maia").mkdir()
    settings = {"permissions": {"allow": ALLOWED}}
    (home / ".maia" / "settings.json").write_text(json.dumps(settings))
    monkeypatch.setenv("MAIA_MODEL", "scripted:tour.yaml")
    return copy


def _execute(folder: Path) -> NotebookNode:
    notebook = nbformat.read(folder / "tour.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(folder)}})
    executed: NotebookNode = client.execute()
    return executed


def _shown(notebook: NotebookNode, source: str) -> str:
    """What the code cell that contains `source` put out, as text."""
    (cell,) = [
        cell for cell in notebook.cells if cell.cell_type == "code" and source in cell.source
    ]
    return "\n".join(
        output.text if output.output_type == "stream" else output.data["text/plain"]
        for output in cell.outputs
    )


def test_the_tour_runs_from_top_to_bottom(folder: Path) -> None:
    """Explain, data, edit and todo list: each answer is shown, the file and variables are changed."""
    notebook = _execute(folder)

    assert "smooths daily values" in _shown(notebook, "What does @sample")
    compared = _shown(notebook, "Which city")
    assert "**Oslo** grows fastest" in compared
    assert "Oslo" in _shown(notebook, "means")
    assert _shown(notebook, "moving_average([1, 2, 3, 4], 2)") == "[1.5, 2.5, 3.5]"
    assert "Check the lengths" in _shown(notebook, "todo list")
    assert "'Oslo'" in _shown(notebook, "smooth.items()")

    changed = (folder / "sample" / "moving_average.py").read_text()
    assert changed.count("range(len(values) - window + 1)") == 1


def test_the_executed_tour_is_readable_without_a_kernel(folder: Path) -> None:
    """Answers are Markdown, there is no widget, and no path of this machine."""
    notebook = _execute(folder)

    kinds = {
        kind
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for kind in output.get("data", {})
    }
    assert "text/markdown" in kinds
    assert not {kind for kind in kinds if "widget" in kind}
    assert "widgets" not in notebook.metadata
    assert str(folder.parent) not in nbformat.writes(notebook)


def test_the_tour_is_kept_without_outputs_and_with_the_fault_that_it_mends() -> None:
    """The committed notebook and sample are as before the first run."""
    notebook = nbformat.read(NOTEBOOKS / "tour.ipynb", as_version=4)
    assert not [cell for cell in notebook.cells if cell.get("outputs")]
    sample = (NOTEBOOKS / "sample" / "moving_average.py").read_text()
    assert "range(len(values) - window))" not in sample
    assert sample.count("range(len(values) - window)]") == 1
