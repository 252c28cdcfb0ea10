"""The other cards in a real page: a form, a plan, a rule that is edited, texts that would be more."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from tests.support.lab import Browser, LabServer, NotebookPage, wait_until, write_notebook

SPOOF = "touch x; echo '<script>window.spoofed=1</script><img src=x onerror=window.spoofed=1>'"
SCRIPT = f"""
- reply:
    - tool_use:
        name: AskUserQuestion
        input:
          questions:
            - question: Which store should it use?
              header: Store
              options:
                - {{label: SQLite, description: one file, preview: "create table users (id)"}}
                - {{label: Postgres, description: a server}}
            - question: Which checks should run?
              header: Checks
              multiSelect: true
              options: [{{label: ruff}}, {{label: mypy}}]
- expect: {{tool_result: '"Which checks should run?" = "mypy, my own"'}}
  reply: [{{tool_use: {{name: EnterPlanMode, input: {{}}}}}}]
- reply:
    - tool_use:
        name: ExitPlanMode
        input: {{plan: "# Touch\\n\\n1. Run **touch**\\n\\n<b>bold</b> [docs](https://example.com/x)"}}
- expect: {{tool_result: "2. Check it"}}
  reply: [{{tool_use: {{name: Bash, input: {{command: "{SPOOF.replace('"', "")}"}}}}}}]
- reply: [{{tool_use: {{name: Bash, input: {{command: "touch one && mkdir two"}}}}}}]
- reply: [All done.]
"""


@pytest.fixture
def dark(server: LabServer) -> Iterator[None]:
    """Pages that are loaded now have JupyterLab's dark theme."""
    themes = "@jupyterlab/apputils-extension/themes"
    server.configure(themes, {"theme": "JupyterLab Dark"})
    yield
    server.configure(themes, {"theme": "JupyterLab Light"})


@pytest.fixture
def no_rules_left(server: LabServer) -> Iterator[None]:
    """The pages of other tests have the same folder, and must be asked."""
    yield
    (server.root / ".maia" / "settings.json").unlink(missing_ok=True)


@pytest.mark.usefixtures("dark", "no_rules_left")
def test_a_form_a_plan_and_a_rule(server: LabServer, browser: Browser, screenshots: Path) -> None:
    """Given a turn with every kind of card: the form is answered by clicks and a word of one's own, the
    plan is edited and approved, HTML in a command stays text, and a rule that is no good is explained
    and then written, as edited, to the file chosen. Keys in a field are text."""
    (server.root / "cards.yaml").write_text(SCRIPT)
    write_notebook(
        server.root / "cards.ipynb", "%load_ext maia", "%%maia --model scripted:cards.yaml\nGo."
    )
    notebook = NotebookPage(server, browser, "cards.ipynb", "lab")
    notebook.run(0)
    notebook.wait_done(0)
    browser.faults.clear()
    notebook.run(1)
    answer_form(notebook, screenshots)
    edit_plan(notebook, screenshots)
    spoofed = card(notebook, "Bash", "touch x")
    assert "<script>window.spoofed=1</script>" in spoofed.inner_text()
    assert spoofed.locator("img, script").count() == 0
    spoofed.locator(".maia-deny").click()
    edit_rule(notebook, screenshots)
    notebook.wait_done(1)
    written = json.loads((server.root / ".maia" / "settings.json").read_text())
    assert written["permissions"]["allow"] == ["Bash(touch:*)", "Bash(mkdir two)"]
    assert (server.root / "two").is_dir()
    assert notebook.page.evaluate("window.spoofed") is None
    saved = json.dumps(notebook.save()["cells"][1]["outputs"])
    for left in ("mypy, my own", "2. Check it", "approved", "Always allowed"):
        assert left in saved
    assert browser.faults == []


def card(notebook: NotebookPage, *words: str) -> Locator:
    """The card that shows all `words`, when its buttons can be pressed."""
    found = notebook.cell(1).locator(".maia-card")
    for word in words:
        found = found.filter(has_text=word)
    found.wait_for(timeout=20_000)
    wait_until(found.locator("button").last.is_enabled, 10, "the buttons can be pressed")
    return found


def answer_form(notebook: NotebookPage, screenshots: Path) -> None:
    form = card(notebook, "Which store should it use?")
    send = form.locator(".maia-send")
    assert not send.is_enabled(), "nothing is chosen yet"
    form.get_by_label("SQLite").check()
    assert "create table users (id)" in form.locator(".maia-preview").first.inner_text()
    form.get_by_label("mypy").check()
    form.locator(".maia-other").last.fill("my own")
    notebook.page.screenshot(path=screenshots / "form-lab-dark.png")
    send.click()


def edit_plan(notebook: NotebookPage, screenshots: Path) -> None:
    plan = card(notebook, "Touch")
    assert plan.locator("h1").inner_text() == "Touch"
    assert plan.locator("li strong").inner_text() == "touch"
    assert plan.locator("a, b").count() == 0
    assert "<b>bold</b> docs (https://example.com/x)" in plan.inner_text()
    notebook.page.screenshot(path=screenshots / "plan-lab-dark.png")
    plan.locator(".maia-edit").click()
    text = plan.locator("textarea")
    text.press("Control+End")
    text.press_sequentially("\n2. Check it, no")
    plan.locator(".maia-approve-text").click()


def edit_rule(notebook: NotebookPage, screenshots: Path) -> None:
    question = card(notebook, "mkdir two")
    question.locator(".maia-always").click()
    rule = question.locator(".maia-rule").first
    rule.fill("Bash(touch")
    rule.press("Enter")
    rule.press("Escape")
    assert question.locator(".maia-rule").count() == 0, "Escape leaves the rule, not the question"
    question.locator(".maia-always").click()
    rule.fill("")
    rule.press_sequentially("Bash(tony")
    question.get_by_label(".maia/settings.json", exact=False).first.check()
    question.locator(".maia-write").click()
    refused = card(notebook, "closing bracket")
    assert refused.locator(".maia-rule").first.input_value() == "Bash(tony"
    assert refused.locator(".maia-rule").first.evaluate("n => n === document.activeElement")
    notebook.page.screenshot(path=screenshots / "rule-lab-dark.png")
    refused.locator(".maia-rule").first.fill("Bash(touch:*)")
    refused.locator(".maia-write").click()
