"""An answer that would have the page fetch something: JupyterLab in a real Chromium."""

import json

import yaml

from tests.support.lab import Browser, LabServer, NotebookPage, write_notebook

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
# JupyterLab takes out what is between two dollars before it looks for code.
SWALLOWED = "$\n   ```\n$ ![code](http://HOST/17.png)\n   ```\n\nThe end."


def test_an_answer_makes_the_page_fetch_nothing(server: LabServer, browser: Browser) -> None:
    """Given an answer full of pictures, styles, frames and diagrams from elsewhere, while it streams, and
    when the saved notebook is opened again, then the page asks no other machine for anything, and
    shows links and the code."""
    answers = [said.replace("HOST", HOST) for said in ("\n".join(PARTS), SWALLOWED)]
    script = [{"reply": [{"text": said, "chunks": 40, "seconds": 2}]} for said in answers]
    (server.root / "fetch.yaml").write_text(yaml.safe_dump(script))
    name = "fetch.ipynb"
    cell = "%%maia --model scripted:fetch.yaml\nTell me."
    write_notebook(server.root / name, "%load_ext maia", cell, cell)
    notebook = NotebookPage(server, browser, name, "lab")
    browser.requests.clear()
    for number in (0, 1, 2):
        notebook.run(number)
        notebook.wait_done(number)
        if number:
            notebook.wait_text(number, "The end.")
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
