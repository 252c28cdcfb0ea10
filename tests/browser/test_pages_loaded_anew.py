"""A page that is loaded anew, and a kernel that dies, while a turn goes on: real JupyterLab and Notebook."""

import json
from pathlib import Path

import yaml

from tests.support.lab import App, Browser, LabServer, NotebookPage, wait_until, write_notebook


def _bash(command: str) -> dict[str, object]:
    return {"tool_use": {"name": "Bash", "input": {"command": command}}}


LATER = [
    {
        "reply": [
            {"text": "Before.\n\n"},
            _bash("touch first-APP"),
            _bash("touch second-APP; sleep 1"),
        ]
    },
    {"reply": ["Said **after** the page was loaded anew."]},
]
STOPPED = [
    {"reply": [{"text": "Begun.\n\n"}, _bash("touch stopped-APP; sleep 60")]},
    {"reply": ["must not be said"]},
]
DEAD = [
    {"reply": [{"tool_use": {"name": "Python", "input": {"code": "import os; os._exit(3)"}}}]},
]


def test_nothing_is_lost_when_the_page_is_loaded_anew(
    server: LabServer, browser: Browser, app: App, screenshots: Path
) -> None:
    """Given a page that is loaded anew in a turn, also unsaved, then questions are answered in it, the
    rest of the answer, the end and a stop appear in it, again after another load, and the saved file
    holds all of it and no widget. Given a kernel that dies in a turn, then one line says so, with no spinner and no widget left."""
    notebook = _page(server, browser, app)
    notebook.run(1)
    notebook.cell(1).locator(".maia-card").wait_for(timeout=20_000)
    notebook.save()
    notebook.reload()
    for name in ("first", "second"):
        _allow(notebook, 1, name)
    notebook.wait_text(1, "after the page was loaded")
    notebook.wait_done(1)
    assert "Before." in notebook.output(1)
    assert notebook.cell(1).locator(".maia-busy, .maia").count() == 0
    notebook.page.screenshot(path=screenshots / f"loaded-anew-{app}.png")

    notebook.run(2)
    _allow(notebook, 2, "stopped")
    wait_until((server.root / f"stopped-{app}").exists, 10, "the call runs")
    notebook.reload()  # nothing of this turn, nor the end of the other, is in the file
    notebook.wait_text(2, "Begun.")
    assert notebook.prompt(2) == "[*]:"
    notebook.cell(2).locator(".maia-stop").click()
    notebook.wait_text(2, "Interrupted.")
    notebook.wait_done(2)
    notebook.wait_text(1, "after the page was loaded")
    outputs = json.dumps([cell["outputs"] for cell in notebook.save()["cells"][1:3]])
    assert "Said **after**" in outputs
    assert "must not be said" not in outputs
    assert "widget-view" not in outputs

    notebook.run(3)
    _allow(notebook, 3, "_exit")
    notebook.wait_text(3, "The kernel has gone")
    notebook.page.locator(".jp-Dialog").wait_for()
    notebook.page.screenshot(path=screenshots / f"gone-{app}.png")
    notebook.page.keyboard.press("Enter")
    assert notebook.cell(3).locator(".maia").count() == 0
    assert "widget-view" not in json.dumps(notebook.save())


def _page(server: LabServer, browser: Browser, app: App) -> NotebookPage:
    cells = []
    for name, script in (("later", LATER), ("stopped", STOPPED), ("dead", DEAD)):
        (server.root / f"{name}.yaml").write_text(yaml.safe_dump(script).replace("APP", app))
        cells.append(f"%%maia --model scripted:{name}.yaml --new\nGo on.")
    write_notebook(server.root / f"anew_{app}.ipynb", "%load_ext maia", *cells)
    notebook = NotebookPage(server, browser, f"anew_{app}.ipynb", app)
    notebook.run(0)
    notebook.wait_done(0)
    return notebook


def _allow(notebook: NotebookPage, cell: int, words: str) -> None:
    card = notebook.cell(cell).locator(".maia-card", has_text=words)
    allow = card.locator(".maia-once")
    allow.wait_for(timeout=20_000)
    wait_until(allow.is_enabled, 10, "the button can be pressed")
    allow.click()
