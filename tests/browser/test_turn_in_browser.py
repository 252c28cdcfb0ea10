"""The main job as a person sees it: JupyterLab and Notebook in a real Chromium, a scripted model."""

import json
import re
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from tests.support.lab import App, Browser, LabServer, NotebookPage, wait_until, write_notebook

EDIT = """
- reply:
    - "The greeting should be polite.\\n\\n"
    - tool_use:
        name: TodoWrite
        input:
          todos:
            - {content: Read greet.py, status: completed, activeForm: Reading greet.py}
            - {content: Make it polite, status: in_progress, activeForm: Making it polite}
    - tool_use: {name: Read, input: {file_path: NAME}}
- reply:
    - tool_use:
        name: Edit
        input: {file_path: NAME, old_string: "return 'Hi'", new_string: "return 'Good morning'"}
- reply: ["Done: `greet` is **polite** now."]
"""
SLOW = """
- reply: [{text: "word after word ", chunks: 60, seconds: 60, repeat: 60}]
"""


def page(
    server: LabServer, browser: Browser, app: App, name: str, script: str, *cells: str
) -> NotebookPage:
    """A notebook with MAIA loaded, whose model plays `script`; NAME in it is this page's file."""
    source = f"{name}_{app}.py"
    (server.root / source).write_text("def greet():\n    return 'Hi'\n")
    model = f"{name}_{app}.yaml"
    (server.root / model).write_text(textwrap.dedent(script).replace("NAME", source))
    cells = tuple(
        cell.replace("MODEL", f"scripted:{model}").replace("NAME", source) for cell in cells
    )
    write_notebook(server.root / f"{name}_{app}.ipynb", "%load_ext maia", *cells)
    notebook = NotebookPage(server, browser, f"{name}_{app}.ipynb", app)
    notebook.run(0)
    notebook.wait_done(0)
    browser.faults.clear()  # what the page itself reports while it loads is not ours
    return notebook


def test_an_edit_is_allowed_with_a_click_while_the_cell_runs(
    server: LabServer, browser: Browser, app: App, screenshots: Path
) -> None:
    """Given a cell that edits a file, then the diff card comes while it runs; a click lands; the queued
    cell runs after it; the file is changed; the saved notebook is readable and holds no widget."""
    notebook = page(
        server,
        browser,
        app,
        "edit",
        EDIT,
        "%%maia --model MODEL\nMake the greeting in NAME polite, please.",
        "print(open('NAME').read())",
    )
    file = server.root / f"edit_{app}.py"
    notebook.run(1, cells=2)
    card = notebook.cell(1).locator(".maia-card")
    card.wait_for(timeout=20_000)
    assert "return 'Good morning'" in card.inner_text()
    assert (notebook.prompt(1), notebook.prompt(2)) == ("[*]:", "[*]:")
    assert "'Hi'" in file.read_text()
    allow = card.locator(".maia-once")
    wait_until(allow.is_enabled, 10, "the button can be pressed")
    notebook.page.screenshot(path=screenshots / f"card-{app}-light.png")
    assert not card.evaluate("node => node.contains(document.activeElement)"), "a person types"
    assert not card.locator(".maia-keys").is_visible()
    began = time.monotonic()
    allow.click()
    wait_until(lambda: "Good morning" in file.read_text(), 10, "the edit is made")
    assert time.monotonic() - began < 10  # the goal is 1 s
    notebook.wait_done(1)
    notebook.wait_done(2)
    assert "Good morning" in notebook.output(2)
    first, second = (int(re.findall(r"\d+", notebook.prompt(index))[0]) for index in (1, 2))
    assert second == first + 1
    notebook.page.screenshot(path=screenshots / f"done-{app}-light.png")
    saved = notebook.save()
    assert "widgets" not in saved["metadata"]
    text = json.dumps(saved["cells"][1]["outputs"])
    assert "widget-view" not in text
    shown = "".join(
        "".join(output.get("data", {}).get("text/markdown", ""))
        for output in saved["cells"][1]["outputs"]
    )
    assert "is **polite** now" in shown
    assert "Making it polite" in shown
    assert browser.faults == []


def test_stop_ends_the_turn_and_the_queued_cell(
    server: LabServer, browser: Browser, app: App
) -> None:
    """Given a streaming answer, when stop is pressed, the kernel's or the panel's, then the cell ends
    at once, what came stays, the queued cell does not run, and the next cell works."""
    turn = "%%maia --model MODEL --new\nTalk."
    queued = "print('must not run')"
    cells = (turn, queued, turn, queued, "print('well')")
    notebook = page(server, browser, app, "stop", SLOW + SLOW, *cells)
    buttons = {
        1: notebook.page.locator("[data-command='notebook:interrupt-kernel']").first,
        3: notebook.cell(3).locator(".maia-stop"),
    }
    for cell, button in buttons.items():
        notebook.run(cell, cells=2)
        notebook.wait_text(cell, "word after word")
        began = time.monotonic()
        button.click()
        notebook.wait_done(cell, 10)
        assert time.monotonic() - began < 5
        assert "word after word" in notebook.output(cell)
    notebook.run(5)
    notebook.wait_done(5)
    assert "must not run" not in notebook.output(2) + notebook.output(4)
    assert "well" in notebook.output(5)


PICK = """\
import asyncio
from pathlib import Path
from maia.pump import Pump
from maia_kernel.engine import Engine
from maia_kernel.questions import ChoiceOption, ChoiceQuestion
from maia_widgets.panel import Panel
from maia_widgets.turn import TurnView

engine = Engine()

def pick(*labels):
    pump = Pump(engine, get_ipython().kernel)
    options = tuple(ChoiceOption(f"<{label}>", label, "", label[:1]) for label in labels)

    async def ask():
        panel = Panel(model_id=pump.new_model_id())
        panel.bind(asyncio.get_running_loop())
        assert await panel.wait_ready(20)
        view = TurnView(style="rich", panel=panel, cwd=Path.cwd())
        view.open()
        try:
            return (await view.ask(ChoiceQuestion("q", "Which one?", options))).value
        finally:
            view.close()

    return pump.run(ask)
"""


@pytest.fixture
def dark(server: LabServer) -> Iterator[None]:
    """Pages that are loaded now have JupyterLab's dark theme."""
    themes = "@jupyterlab/apputils-extension/themes"
    server.configure(themes, {"theme": "JupyterLab Dark"})
    yield
    server.configure(themes, {"theme": "JupyterLab Light"})


@pytest.mark.usefixtures("dark")
def test_keys_answer_cards_and_pickers_and_never_reach_the_page(
    server: LabServer, browser: Browser, app: App, screenshots: Path
) -> None:
    """Given a cell that was run where nobody types, the card takes the focus and says its keys; Enter is no answer, no key runs a shortcut of the page, Escape leaves the
    reason and not the question; a reason is told to the model, and `y` allows once. In a picker
    arrows and j/k move, letters filter, Enter picks and Escape leaves."""
    script = """
        - reply: [{tool_use: {name: Bash, input: {command: touch told-NAME}}}]
        - expect: {tool_result: "dd, not this"}
          reply: [{tool_use: {name: Bash, input: {command: touch yes-NAME}}}]
        - reply: [I see.]
        """
    asks = "pick('apple', 'apricot', 'banana', 'blackberry')"
    cells = ("%%maia --model MODEL\nGo.", PICK, asks, asks, asks, "1 + 1")
    notebook = page(server, browser, app, "keys", script, *cells)
    notebook.cell(1).locator(".cm-content").first.click()
    notebook.page.keyboard.press("Control+Enter")
    card = question(notebook, "told-")
    notebook.page.screenshot(path=screenshots / f"card-{app}-dark.png")
    stands_out(card)
    answer_with_keys(notebook)
    assert not (server.root / f"told-keys_{app}.py").exists()
    assert (server.root / f"yes-keys_{app}.py").exists()
    notebook.run(2)
    notebook.wait_done(2)
    pick_with_keys(notebook, first=3)
    assert notebook.page.locator(".jp-Notebook .jp-CodeCell").count() == 1 + len(cells)
    assert browser.faults == []


def answer_with_keys(notebook: NotebookPage) -> None:
    keyboard = notebook.page.keyboard
    card = question(notebook, "told-")
    assert card.evaluate("node => node === document.activeElement")
    assert card.locator(".maia-keys").is_visible()
    for key in ("Enter", "d", "d", "a", "b", "x", "m", "j", "ArrowDown"):
        keyboard.press(key)
    time.sleep(0.3)
    assert card.evaluate("node => node === document.activeElement")
    assert (notebook.prompt(1), notebook.prompt(2)) == ("[*]:", "[ ]:")
    card.locator(".maia-tell").click()
    keyboard.type("oy")
    keyboard.press("Escape")
    card.locator(".maia-tell").click()
    keyboard.type("dd, not this")
    keyboard.press("Enter")
    question(notebook, "yes-").focus()
    keyboard.press("y")
    notebook.wait_text(1, "I see.")
    notebook.wait_done(1)


def pick_with_keys(notebook: NotebookPage, *, first: int) -> None:
    keys = (["j", "ArrowDown", "k", "Enter"], ["b", "l", "Enter"], ["ArrowUp", "Escape"])
    for cell, pressed in enumerate(keys, first):
        notebook.run(cell)
        picker = notebook.cell(cell).locator(".maia-options")
        picker.wait_for(timeout=20_000)
        picker.focus()
        for key in pressed:
            notebook.page.keyboard.press(key)
        notebook.wait_done(cell)
    assert "'<apricot>'" in notebook.output(first)
    assert "'<blackberry>'" in notebook.output(first + 1)
    assert "<" not in notebook.output(first + 2)


def question(notebook: NotebookPage, words: str) -> Locator:
    """The card that shows `words`, when its buttons can be pressed."""
    card = notebook.cell(1).locator(".maia-card", has_text=words)
    card.wait_for(timeout=20_000)
    wait_until(card.locator(".maia-once").is_enabled, 10, "the button can be pressed")
    return card


def stands_out(card: Locator) -> None:
    """The dark theme's text is light, its first button readable, no words are smaller than 12 px."""
    assert min(levels(card, "color")) > 128
    allow = card.locator(".maia-once")
    assert contrast(levels(allow, "color"), levels(allow, "backgroundColor")) >= 4.5
    sizes = "node => [node, ...node.querySelectorAll('*')].map(n => parseFloat(getComputedStyle(n).fontSize))"
    assert min(card.evaluate(sizes)) >= 12


def levels(node: Locator, colour: str) -> list[int]:
    """Red, green and blue of a colour of `node`, 0 to 255."""
    shown = node.evaluate(f"node => getComputedStyle(node).{colour}")
    return [int(number) for number in re.findall(r"\d+", shown)[:3]]


def contrast(ink: list[int], ground: list[int]) -> float:
    """The contrast ratio of WCAG 2, 1 to 21."""

    def luminance(colour: list[int]) -> float:
        parts = [level / 255 for level in colour]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(ink), luminance(ground)))
    return (light + 0.05) / (dark + 0.05)


def test_nothing_is_fetched_from_elsewhere(browser: Browser) -> None:
    """Given all the pages above, every request went to this machine."""
    assert browser.hosts == {"127.0.0.1"}
