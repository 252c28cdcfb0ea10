"""MAIA where nobody can be asked: nbclient and papermill finish, and say which rule would allow."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook

from tests.support.kernels import environment
from tests.support.notebook import calls, says

PROGRAMS = {
    "nbclient": ["-m", "jupyter", "execute", "in.ipynb", "--output=out.ipynb"],
    "papermill": ["-m", "papermill", "in.ipynb", "out.ipynb", "--no-progress-bar"],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_notebook_runs_to_its_end(program: str, tmp_path: Path) -> None:
    """Given a notebook whose prompt would ask, when it is executed without a person, then it does not
    hang, the call is denied with the rule that would allow it, and the answer is saved as Markdown."""
    script = (calls("Bash", command="touch made.txt"), says("I may **not**."))
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(list(script)), encoding="utf-8")
    _write(tmp_path, "%load_ext maia", "%%maia\nmake it", "print('after')")
    done = _execute(program, tmp_path)
    assert done.returncode == 0, done.stderr
    book = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    outputs = book.cells[1].outputs
    shown = [output.data.get("text/markdown", "") for output in outputs if "data" in output]
    assert "I may **not**." in shown
    assert "Bash(touch" in json.dumps(outputs)
    assert not any("widget" in kind for output in outputs for kind in output.get("data", {}))
    assert "widgets" not in book.metadata
    assert book.cells[2].outputs[0].text == "after\n"
    assert not (tmp_path / "made.txt").exists()


def test_a_mistake_stops_the_notebook(tmp_path: Path) -> None:
    """Given a notebook with a wrong option, when it is executed, then the run stops there with one
    line that says what is wrong."""
    _write(tmp_path, "%load_ext maia", "%%maia --quite\nhello", "print('after')")
    done = _execute("nbclient", tmp_path)
    assert done.returncode != 0
    assert "Unknown option --quite" in done.stderr


def _write(folder: Path, *cells: str) -> None:
    book = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    book.metadata["kernelspec"] = {
        "name": "for-tests",
        "display_name": "for tests",
        "language": "python",
    }
    nbformat.write(book, folder / "in.ipynb")
    spec = folder / "share" / "kernels" / "for-tests"
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    content = {"argv": argv, "display_name": "for tests", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(content), encoding="utf-8")


def _execute(program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *PROGRAMS[program]],
        cwd=folder,
        env=environment(folder, JUPYTER_PATH=str(folder / "share"), MAIA_MODEL="scripted:s.yaml"),
        capture_output=True,
        text=True,
        timeout=100,
    )
