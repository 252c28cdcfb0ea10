"""An answer that would have the page fetch, run or hide something: JupyterLab in a real Chromium."""

import json
from pathlib import Path

import yaml

from tests.support.lab import Browser, LabServer, NotebookPage, wait_until, write_notebook

HOST = "fetched.example.com"
PARTS = [
    "![a](http://HOST/1.png) ![](//HOST/2.png) ![c][ref] ![ref]\n\n[ref]: http://HOST/3.png\n",
    '<img src="http://HOST/4.png"> <IMG SRC=//HOST/5.png>\n',
    '<video src="http://HOST/6" autoplay></video><audio src="http://HOST/7" autoplay></audio>\n',
    '<iframe src="http://HOST/8"></iframe><object data="http://HOST/9"></object>\n',
    '<link rel="stylesheet" href="http://HOST/10.css"><style>@import url(http://HOST/11)</style>\n',
    '<div style="background:url(http://HOST/12)">words</div>\n',
    '<svg><image href="http://HOST/13.png" /></svg>\n',
    "$\\style{background-image:url(http://HOST/14)}{x}$ $\\bbox[background:url(http://HOST/15)]{y}$\n",
    '```mermaid\nflowchart TD\n  A@{ img: "http://HOST/16.png", label: "x", w: 60, h: 60 }\n```\n',
    '`![code](http://HOST/18.png)`\n\n```html\n<img src="http://HOST/19.png">\n```\n',
    '<iframe src="http://HOST/20"\n\n*the* end >\n',
    "The end.",
]
# Meant to act on the page, or to be taken for the card.
FAKES = [
    "<iframe srcdoc='<script>parent.PWN=5</script>'></iframe>\n",
    "<style>body{display:none}</style>\n",
    '<div style="position:fixed;inset:0;z-index:99999;background:red">over everything</div>\n',
    "<form><button>Allow once</button></form>\n",
]
LINES = 10_000
# JupyterLab takes out what is between two dollars before it looks for code.
SWALLOWED = "$\n   ```\n$ ![code](http://HOST/17.png)\n   ```\n\nThe end."


def test_an_answer_makes_the_page_fetch_nothing_and_the_card_stays_usable(
    server: LabServer, browser: Browser, screenshots: Path
) -> None:
    """Given an answer full of pictures, styles, frames and diagrams from elsewhere, while it streams, and
    when the saved notebook is opened again, then the page asks no other machine for anything, and
    shows links and the code. Given scripts, styles, layers and buttons in it, none of them is one, and
    the card above which they stand shows each of the 10,000 lines that it is about, and is answered."""
    answers = [said.replace("HOST", HOST) for said in ("\n".join(PARTS), SWALLOWED)]
    script: list[object] = [
        {"reply": [{"text": said, "chunks": 40, "seconds": 1}]} for said in answers
    ]
    content = "".join(f"line {number}\n" for number in range(1, LINES + 1))
    write = {"name": "Write", "input": {"file_path": "long.txt", "content": content}}
    script += [
        {"reply": [{"text": "\n".join(FAKES)}, {"tool_use": write}]},
        {"reply": ["Written."]},
    ]
    (server.root / "fetch.yaml").write_text(yaml.safe_dump(script))
    name = "fetch.ipynb"
    cell = "%%maia --model scripted:fetch.yaml\nTell me."
    write_notebook(server.root / name, "%load_ext maia", cell, cell, cell)
    notebook = NotebookPage(server, browser, name, "lab")
    browser.requests.clear()
    for number in (0, 1, 2):
        notebook.run(number)
        notebook.wait_done(number)
        if number:
            notebook.wait_text(number, "The end.")
    _answer_over_fakes(notebook, screenshots)
    saved = json.dumps(notebook.save())
    assert f"[a](http://{HOST}/1.png)" in saved
    output = notebook.cell(1).locator(".jp-OutputArea")
    assert output.locator(f"a[href='http://{HOST}/4.png']").count() == 1
    assert f'<img src="http://{HOST}/19.png">' in output.inner_text()
    assert f"![code](http://{HOST}/18.png)" in output.inner_text()
    notebook.reload()
    notebook.wait_text(2, "The end.")
    notebook.page.wait_for_timeout(1500)  # formulas and diagrams are drawn a little later
    assert [url for url in browser.requests if HOST in url] == []


def _answer_over_fakes(notebook: NotebookPage, screenshots: Path) -> None:
    """Reads the whole card of the third cell, where the answer pretends, and allows."""
    notebook.run(3)
    card = notebook.cell(3).locator(".maia-card")
    card.wait_for(timeout=20_000)
    allow = card.locator(".maia-once")
    wait_until(allow.is_enabled, 10, "the button can be pressed")
    answer = notebook.cell(3).locator(".jp-RenderedMarkdown")
    for tag in ("iframe", "style", "form", "button", "script"):
        assert answer.locator(tag).count() == 0
    fixed = "node => [...node.querySelectorAll('*')].some(n => getComputedStyle(n).position === 'fixed')"
    assert not any(part.evaluate(fixed) for part in answer.all())
    assert notebook.page.evaluate("[window.PWN, getComputedStyle(document.body).display]") == [
        None,
        "block",
    ]
    notebook.page.screenshot(path=screenshots / "card-long.png")
    assert "@@ -0,0 +1,10000 @@" in card.inner_text()
    assert "+10,000 -0" in card.inner_text()
    more, rows = card.locator(".maia-link"), card.locator(".maia-row-add")
    assert "499 of 10,000" in more.inner_text()
    while more.is_visible():
        before, words = rows.count(), more.inner_text()
        more.click()
        notebook.page.wait_for_function(
            "words => document.querySelector('.maia-card .maia-link').textContent !== words",
            arg=words,
        )
        assert rows.count() > before
    assert rows.count() == LINES
    assert rows.last.text_content() == f"+line {LINES}"
    allow.click()
    notebook.wait_text(3, "Written.")
    notebook.wait_done(3)
    lines = (notebook.server.root / "long.txt").read_text().splitlines()
    assert len(lines) == LINES
