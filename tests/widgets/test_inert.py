"""A model's Markdown fetches nothing: what would is a link or text, and code is left alone."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maia_kernel.events import RequestStarted, TextDelta
from maia_widgets.inert import inert
from maia_widgets.turn import TurnView
from tests.support.screen import Screen

URL = "http://evil.example.com/x.png?d=1"


@pytest.mark.parametrize(
    ("said", "becomes"),
    [
        (f"See ![a chart]({URL}).", f"See [a chart]({URL})."),
        (f"![]({URL})", f"[{URL}]({URL})"),
        (f"!![a]({URL}) \\![b]({URL})", f"[a]({URL}) \\[b]({URL})"),
        (f"[![a]({URL})]({URL})", f"[[a]({URL})]({URL})"),
        (f"![a][r] ![r][] ![r]\n\n[r]: {URL}", f"[a][r] [r][] [r]\n\n[r]: {URL}"),
        ("![a](//evil.example.com/x)", "[a](//evil.example.com/x)"),
        ("![a](ht&#116;p://evil.example.com)", "[a](ht&#116;p://evil.example.com)"),
        ("![a](\\//evil.example.com)", "[a](\\//evil.example.com)"),
        ("![a](data:image/svg+xml;base64,AAAA)", "[a](data:image/svg+xml;base64,AAAA)"),
        ("![a](/logout)", "[a](/logout)"),
        (f'<img src="{URL}" alt="A *chart*">', f'<a href="{URL}">A &#42;chart&#42;</a>'),
        (
            "<IMG SRC=//evil.example.com/x>",
            '<a href="https://evil.example.com/x">https://evil.example.com/x</a>',
        ),
        ("<video poster=http://e/ ></video>", '<a href="http://e/">http://e/</a>'),
        ("<iframe src='http://e/'></iframe>", '<a href="http://e/">http://e/</a>'),
        ("<form action='http://e/'>", '<a href="http://e/">http://e/</a>'),
        ("<link rel=stylesheet href=http://e/>", '<a href="http://e/">http://e/</a>'),
        ("<svg><image href='http://e/'/>", '&lt;svg><a href="http://e/">http://e/</a>'),
        ("<style>a{background:url(//e)}</style>", "&lt;style>a{background:url(//e)}&lt;/style>"),
        ("<div style='background:url(//e)' align=left>", '<div align="left">'),
        ("<table background=//e><td width=3>", "<table><td>"),
        ('<a href="https://e/" ping="//e" onclick=x>', '<a href="https://e/">'),
        ("<a href='javascript:x'>", "<a>"),
        ("<iframe src=http://e/\n\n*then* >", "&lt;iframe src=http://e/\n\n*then* >"),
        ("$\\style{background:url(//e)}{x}$", "$\\ style{background:url(//e)}{x}$"),
        ("$\\bbox[background:url(//e)]{x}$", "$\\ bbox[background:url(//e)]{x}$"),
        ('```mermaid\nA@{ img: "http://e/" }\n```', '```text\nA@{ img: "http://e/" }\n```'),
    ],
)
def test_what_would_be_fetched_becomes_a_link_or_text(said: str, becomes: str) -> None:
    """Given a picture, a style or a frame from elsewhere, in any spelling, it is not one any more; and
    what it became is left as it is."""
    assert inert(said) == becomes
    assert inert(becomes) == becomes


@pytest.mark.parametrize(
    "said",
    [
        "Plain *words*, [a link](http://e/), <https://e/>, <a@example.com>, a < b, 3!",
        f"`![a]({URL})`, ``<img src='{URL}'>`` and `a\n<b>`",
        f"```html\n<img src='{URL}'>\n```\n\n~~~\n![a]({URL})\n~~~\n",
        f"- item\n\n  ```\n  <img src={URL}>\n  ```\n",
        f"> ```\n> ![a]({URL})\n> ```\n",
        f"words\n\n    <img src={URL}>\n",
        f"```\n<style>\n![a]({URL})",
        "| `<b>` | x |\n| --- | --- |\n| `<img>` | `![a](http://e/)` |\n",
        "```sh\necho $HOME '<img src=http://e/>'\n```\n",
        "![a](data:image/png;base64,iVBORw0KGgo=) ![b](attachment:b.png) ![c](plots/c-1.png)",
        "<details open>\n<summary>More</summary>\n\nH<sub>2</sub>O<br>\n\n</details>",
        "```mermaid\ngraph TD\n  A-->B[two<br/>lines]\n```\n",
        "$\\styles + \\frac{a}{b}$ and $n!$",
    ],
)
def test_code_and_what_is_harmless_stays(said: str) -> None:
    """Code of every kind, pictures of the notebook, plain tags, links and diagrams are left as they are."""
    assert inert(said) == said


@pytest.mark.parametrize(
    "said",
    [
        # The first fence is none while <script> is a block of HTML.
        f"<script>\n```\n</script>\n```\n<img src={URL}>\n```\n",
        f"<foo title='`'> `\n<img src={URL}> `",
        # JupyterLab takes out what is between two dollars, and with it the beginning of the code.
        f"$\n   ```\n$ ![a]({URL})\n   ```\n",
        f"\\begin{{x}}\n   ```\n\\end{{x}} ![a]({URL})\n   ```\n",
        f"   ```\n$\n   ```\n   ~~~\n$\n   ~~~\n   ```\n![a]({URL})\n   ```\n",
        # A cell ends a code span.
        f"| a |\n| - |\n| ` | ![a]({URL}) ` |",
        # Within HTML there is no code.
        f"<div>\n`<img src={URL}>`\n</div>",
    ],
)
def test_what_only_looks_like_code(said: str) -> None:
    """Given text that one reader takes for code and another does not, the picture is none in either."""
    safe = inert(said)
    assert "![" not in safe
    assert "<img" not in safe


def test_a_formula_stays_a_formula() -> None:
    """Given a less-than before a letter, a formula keeps its meaning and words their look."""
    assert inert("$a<b$") == "$a< b$"
    assert inert("a List<String>") == "a List&lt;String>"


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *[
                    "![a](http://e/)",
                    "<img src=http://e/>",
                    "`",
                    "```\n",
                    "~~~\n",
                    "\n",
                    "\n\n",
                    "$",
                    "<div>",
                    "<script>",
                    "</script>",
                    "<pre>\n",
                    "|",
                    " |-|-|\n",
                    ">",
                    " -",
                    " \\",
                    "x",
                    " <!--",
                ],
                "    ",
            ]
        ),
        max_size=14,
    )
)
def test_it_is_settled_after_once(pieces: list[str]) -> None:
    """Given any mixture of marks, doing it again changes nothing, and without marks of code no picture
    is left."""
    said = "".join(pieces)
    safe = inert(said)
    assert inert(safe) == safe
    if not any(mark in said for mark in ("`", "~", "    ")):
        assert "![" not in safe
        assert "<img" not in safe


@pytest.mark.parametrize(
    "piece", ["`", "<a ", "![](", "<a  ", "<!", "`` ` ", "[", "> <b", "$ `<b ", "| - "]
)
def test_no_text_takes_long(piece: str) -> None:
    """Given a whole segment of one mark again and again, it is done at once."""
    began = time.perf_counter()
    inert("<img>" + piece * (12_000 // len(piece)))
    assert time.perf_counter() - began < 3  # the goal is 0.1 s


async def test_the_answer_on_the_screen_is_inert_while_it_streams(tmp_path: Path) -> None:
    """Given an answer that comes letter by letter, no output on the way holds the picture; the plain
    text is what the model said."""
    screen = Screen()
    sent: list[str] = []

    def publish(bundle: Mapping[str, Any], *, display_id: str, update: bool) -> None:
        sent.append(str(bundle.get("text/markdown", "")))
        screen(bundle, display_id=display_id, update=update)

    view = TurnView(style="rich", cwd=tmp_path, publish=publish)
    view.open()
    view.show(RequestStarted(1))
    said = f'One ![a]({URL}) and <img src="{URL}"> and `<img>`.'
    for letter in said:
        view.show(TextDelta(letter))
        await asyncio.sleep(0.005)
    view.close()
    assert len(sent) > 2
    assert not [markdown for markdown in sent if "![" in markdown or "<img src" in markdown]
    assert screen.texts == [said]
    assert sent[-1] == f'One [a]({URL}) and <a href="{URL}">{URL}</a> and `<img>`.'
