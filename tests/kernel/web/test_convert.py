"""What came from the web as text: boilerplate, encodings, JSON, PDF, pages made to break a reader."""

import io
import json
import sys
import threading

import pypdf
import pytest

from maia_kernel.web import urls
from maia_kernel.web.convert import NoText, Readable, readable
from maia_kernel.web.fetch import Page

HERE = urls.parse("http://example.com/docs/page")

ARTICLE = """<!doctype html><html><head><title>A  title</title><style>p { color: red }</style></head><body>
<div id="onetrust-banner-sdk">We value your privacy <button>Accept all</button></div>
<div class="modal cookie-consent">Cookies!</div>
<header><a href="/">Logo</a></header><nav><a href="/a">Navigation</a></nav>
<div role="search">Search</div><aside>Related</aside>
<main><article><header><h1>Heading<a class="headerlink" href="#h">¶</a></h1></header>
<p>Some <b>bold</b> snake_case 2 * 3 &lt;tag&gt; and a <a href="intro.html#x">link</a>,
<a href="javascript:alert(1)">script</a>, <a href="#here">place</a>.</p>
<pre><code class="language-python">def f(x):
    return x_y * 2</code></pre>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<ul><li>one<ul><li>two</li></ul></li></ul>
<img src="plot.png" alt="A plot"><img src="pixel.gif"><img alt="x" src="data:image/png;base64,AAAA">
<p hidden>hidden one</p><p style="display: none">hidden two</p><p aria-hidden="true">hidden three</p>
<form><input name="q"><button>Go</button></form><script>alert("no")</script></article></main>
<footer>Imprint</footer></body></html>"""

EXPECTED = """# Heading

Some **bold** snake_case 2 * 3 <tag> and a [link](http://example.com/docs/intro.html#x),
script, place.

```python
def f(x):
    return x_y * 2
```

| a | b |
| --- | --- |
| 1 | 2 |

- one
  - two

![A plot](http://example.com/docs/plot.png)"""


def came(body: str | bytes, kind: str = "text/html", charset: str = "utf-8", cut: str = "") -> Page:
    data = body.encode() if isinstance(body, str) else body
    return Page(HERE, 200, kind, charset, data, cut)


def read(
    body: str | bytes, kind: str = "text/html", charset: str = "utf-8", **more: str
) -> Readable:
    return readable(came(body, kind, charset, **more), most=50_000)


# -- HTML ------------------------------------------------------------------------------------------


def test_an_article_without_what_stands_around_it() -> None:
    found = read(ARTICLE)
    assert found.title == "A title"
    assert found.text == EXPECTED


def test_a_page_in_one_form_is_kept_and_a_search_box_is_not() -> None:
    """Given a server that wraps whole pages in a form, the content stays."""
    page = f"<body><form>{'<p>the content of the page</p>' * 20}<input></form><form>Search</form></body>"
    text = read(page).text
    assert "the content" in text
    assert "Search" not in text


def test_an_almost_empty_main_does_not_hide_the_page() -> None:
    page = f"<body><main>x</main><div>{'<p>the content of the page</p>' * 20}</div></body>"
    assert "the content" in read(page).text


def test_a_page_about_cookies_is_not_taken_for_a_banner() -> None:
    page = (
        f"<body><div class='cookie-notice'>{'<p>How to bake cookies</p>' * 20}</div><p>x</p></body>"
    )
    assert "bake" in read(page).text


def test_several_articles_are_all_kept() -> None:
    assert read("<body><article>first</article><article>second</article></body>").text.split() == [
        "first",
        "second",
    ]


@pytest.mark.parametrize(
    "tag", ["div", "b", "ul><li", "table><tr><td", "blockquote", "article", "p hidden"]
)
def test_ten_thousand_levels_of_nesting(tag: str) -> None:
    """Given markup deeper than any recursion, what stands in it and after it is read."""
    name = tag.split(">", maxsplit=1)[0].split()[0]
    page = f"<{tag}>" * 10_000 + "deep" + f"</{name}>" * 10_000 + "<p>after</p>"
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(read(page).text))
    thread.start()
    thread.join()
    assert "after" in found[0]
    assert "deep" in found[0] or "hidden" in tag


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("", ""),
        ("   ", ""),
        ("<!-- only a comment", ""),
        ("<frameset><frame src='x'></frameset>", ""),
        ("plain words", "plain words"),
        ("<p>a<p>b", "a\n\nb"),
        ("<?xml version='1.0' encoding='utf-16'?><html><body>x</body></html>", "x"),
        ("<body @click=x :y=1 1a=3 é=2 xml:lang=en>t</body>", "t"),
        ("<base href='http://[bad'><a href='http://[bad/'>x</a>", "x"),
        ("<base href='/other/'><a href='y'>x</a>", "[x](http://example.com/other/y)"),
        ("<h1 h7>q</h1>", "# q"),
        ("<ol start=99999999999999999999999><li>x</ol>", "99999999999999999999999. x"),
        ("<table><tr><th colspan=99999999>x</th></tr></table>", "| x |\n| --- |"),
        ("a<script>b", "a"),
        ("&#0;&#xD800;&#x110000;&bogus;x", "��&bogus;x"),
    ],
)
def test_odd_pages(page: str, text: str) -> None:
    assert read(page).text.replace("�" * 3, "��") == text


def test_a_very_long_page_is_converted_as_far_as_needed() -> None:
    found = readable(came("<p>word word</p>" * 100_000), most=1_000)
    assert len(found.text) >= 1_000
    assert "only its beginning" in found.notes[0]


# -- encodings -------------------------------------------------------------------------------------

WORDS = "Ça coûte 3 €, naïve café"


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        (WORDS.encode(), "utf-8"),
        (WORDS.encode(), ""),
        (WORDS.encode("cp1252"), "windows-1252"),
        (WORDS.encode("cp1252"), "iso-8859-1"),
        (WORDS.encode("cp1252"), "utf-8"),
        (WORDS.encode("cp1252"), ""),
        (WORDS.encode(), "iso-8859-1"),
        (WORDS.encode(), "us-ascii"),
        (WORDS.encode(), "no-such-charset"),
        (WORDS.encode(), "rot13"),
        (WORDS.encode(), "zlib_codec"),
        (WORDS.encode("utf-16"), "utf-8"),
        (WORDS.encode("utf-8-sig"), "iso-8859-1"),
        (WORDS.encode("utf-16-le"), ""),
    ],
)
def test_text_whatever_the_header_says(body: bytes, charset: str) -> None:
    assert read(body, "text/plain", charset).text == WORDS


def test_the_pages_own_word_counts_where_the_header_is_silent() -> None:
    russian = "Привет, мир"
    page = f'<meta charset="koi8-r"><p>{russian}</p>'.encode("koi8-r")
    assert read(page, charset="").text == russian
    japanese = "<p>日本語のページ</p>".encode("shift_jis")
    assert read(japanese, charset="Shift_JIS").text == "日本語のページ"


def test_a_cut_inside_a_character_spoils_nothing() -> None:
    body = ("é" * 1_000).encode()[:-1]
    assert read(body, "text/plain", "utf-8", cut="cut").text == "é" * 999


# -- other kinds -----------------------------------------------------------------------------------


def test_json_has_a_line_for_each_value() -> None:
    assert read('{"a":[1,"é"]}', "application/json").text == '{\n  "a": [\n    1,\n    "é"\n  ]\n}'
    assert read('{"a":1}', "application/vnd.api+json").text == '{\n  "a": 1\n}'


@pytest.mark.parametrize("body", ["{broken", "[" * 200_000, '{"a": ' + "9" * 5_000 + "}"])
def test_what_is_no_json_stays_as_it_is(body: str) -> None:
    assert read(body, "application/json").text == body


def test_text_stays_as_it_is() -> None:
    source = "<p>not a page</p>\n\tx = 1\n\n\n\n# y"
    for kind in ("text/plain", "text/x-python", "application/javascript", "text/csv"):
        assert read(source, kind).text == source


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "image/png", "a picture"),
        (b"\0\1\2\3" * 100, "application/octet-stream", "no text"),
        (b"PK\3\4\0\0\0\0", "application/zip", "no text"),
        (b"\x7fELF\2\1\1\0\0", "text/plain", "no text"),
        (b"%PDF-1.7 broken", "application/pdf", "damaged"),
        (b"%PDF-1.7\n" + b"\0" * 5_000, "text/html", "damaged"),
    ],
)
def test_what_is_no_text_is_said(body: bytes, kind: str, said: str) -> None:
    with pytest.raises(NoText, match=said):
        read(body, kind, "")


def pdf(pages: int) -> bytes:
    """A PDF of `pages` pages that each say their number."""
    content = "BT /F1 12 Tf 20 100 Td (This is page {}) Tj ET"
    parts = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {pages} /Kids [{' '.join(f'{4 + 2 * n} 0 R' for n in range(pages))}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number in range(1, pages + 1):
        drawn = content.format(number)
        parts.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {3 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        parts.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    out, offsets = "%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{part}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    start = len(out)
    size = len(parts) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return f"{out}startxref\n{start}\n%%EOF\n".encode()


def test_the_text_of_a_pdf_whatever_the_header_says() -> None:
    for kind in ("application/pdf", "application/octet-stream", "text/html"):
        found = read(pdf(2), kind, "")
        assert found.text == "[page 1 of 2]\nThis is page 1\n\n[page 2 of 2]\nThis is page 2"
        assert found.notes == ()


def test_a_big_pdf_is_read_as_far_as_needed() -> None:
    found = readable(came(pdf(400), "application/pdf"), most=500)
    assert len(found.text) >= 500
    assert "of 400" in found.notes[0]
    assert "[page 100 of" not in found.text


def test_an_encrypted_pdf_is_said() -> None:
    writer = pypdf.PdfWriter(io.BytesIO(pdf(1)))
    writer.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    with pytest.raises(NoText, match="encrypted"):
        read(out.getvalue(), "application/pdf")


def test_json_deeper_than_the_recursion_limit_is_no_error() -> None:
    deep = "[" * (sys.getrecursionlimit() + 10) + "]" * (sys.getrecursionlimit() + 10)
    assert json.loads(json.dumps(read(deep, "application/json").text)).startswith("[")
