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
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of notebooks/ at home, a person with rules, and the script as the model."""
    copy = home / "notebooks"
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


def _shown(notebook: NotebookNode, last_line: str) -> str:
    """What the code cell that ends in `last_line` put out, as text."""
    (cell,) = [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.source.split("\n")[-1] == last_line
    ]
    return "\n".join(
        output.text if output.output_type == "stream" else output.data["text/plain"]
        for output in cell.outputs
    )


def _kinds(notebook: NotebookNode) -> set[str]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return {kind for output in outputs for kind in output.get("data", {})}


def test_the_tour_runs_and_is_readable_without_a_kernel_afterwards(folder: Path) -> None:
    """Each prompt is answered, file and variables are changed; what is saved is Markdown alone."""
    notebook = _execute(folder)

    explained = _shown(
        notebook, "What does @sample/moving_average.py do? Does anything look wrong?"
    )
    assert "smooths daily values" in explained
    assert "**Oslo** grows fastest" in _shown(notebook, "Which city in `sales` grows fastest?")
    assert "Oslo" in _shown(notebook, "means")
    mended = _shown(notebook, "Mend the fault that you found in sample/moving_average.py.")
    assert "The last run counts now" in mended
    assert "window + 1" in nbformat.writes(notebook), "the diff is part of what is saved"
    assert _shown(notebook, "moving_average([1, 2, 3, 4], 2)") == "[1.5, 2.5, 3.5]"
    assert "'Oslo'" in _shown(
        notebook, "{city: round(values[-1], 1) for city, values in smooth.items()}"
    )
    changed = (folder / "sample" / "moving_average.py").read_text()
    assert changed.count("range(len(values) - window + 1)") == 1

    assert "text/markdown" in _kinds(notebook)
    assert not [kind for kind in _kinds(notebook) if "widget" in kind]
    assert "widgets" not in notebook.metadata
    assert str(folder.parent) not in nbformat.writes(notebook)


def test_the_tour_is_kept_without_outputs_and_with_the_fault_that_it_mends() -> None:
    """The committed notebook and sample are as before the first run."""
    notebook = nbformat.read(NOTEBOOKS / "tour.ipynb", as_version=4)
    assert not [cell for cell in notebook.cells if cell.get("outputs")]
    sample = (NOTEBOOKS / "sample" / "moving_average.py").read_text()
    assert sample.count("range(len(values) - window)]") == 1
