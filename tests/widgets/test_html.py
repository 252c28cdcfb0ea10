"""Displays and call lines as HTML."""

from html.parser import HTMLParser

import pytest

from maia_kernel.display import (
    DiffDisplay,
    Display,
    ImageDisplay,
    TableDisplay,
    TextDisplay,
    TodoDisplay,
    TodoItem,
)
from maia_widgets import html, markdown

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x1b[31m\"'"


class Tags(HTMLParser):
    """Collects tags and attributes, and checks that they nest."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.words = ""
        self._open: list[str] = []
        self.feed(markup)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        if tag not in ("img", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.parametrize(
    "display",
    [
        TextDisplay(EVIL),
        TextDisplay(EVIL, "bash", EVIL),
        DiffDisplay(EVIL, f"@@ -1 +1 @@\n-{EVIL}\n+{EVIL}\n"),
        TableDisplay((EVIL,), ((EVIL,),)),
        ImageDisplay(EVIL, EVIL),
        ImageDisplay("image/png", 'AAAA" onerror="alert(1)'),
        ImageDisplay("image/svg+xml", "AAAA"),
        TodoDisplay((TodoItem(EVIL, "pending"),)),
    ],
)
def test_nothing_untrusted_becomes_markup(display: Display) -> None:
    """Tags, handlers, control and direction characters of a display are shown, never obeyed."""
    tags = Tags(html.call_html(EVIL, EVIL, EVIL, html.display_html(display)))
    assert not {"script", "img"} & set(tags.tags)
    assert tags.names <= {"class", "style"}
    assert not set(tags.words) & {"\x1b", "\u202e"}


def test_a_diff_is_coloured_line_by_line_without_a_style_sheet() -> None:
    """Added and removed lines have a background of their own, inline."""
    shown = html.display_html(DiffDisplay("a.py", "@@ -1,2 +1,2 @@\n same\n-old\n+new\n"))
    assert '<span class="maia-del" style="display:block' in shown
    assert "rgba(46,160,67,.18)" in shown.split("+new")[0].rsplit("<span", 1)[1]
    assert "rgba(248,81,73,.18)" in shown.split("-old")[0].rsplit("<span", 1)[1]
    assert "var(" not in shown


def test_a_diff_of_ten_thousand_lines_is_folded() -> None:
    """The first lines are open, the next ones folded, and the rest is counted: bytes stay bounded."""
    diff = "@@ -0,0 +1,9999 @@\n" + "".join(f"+line {number}\n" for number in range(9999))
    shown = html.display_html(DiffDisplay("big.py", diff))
    tags = Tags(shown)
    assert tags.tags.count("details") == 1
    first, _, rest = shown.partition("<details>")
    assert "line 38\n" in first or "line 38<" in first
    assert "line 60" not in first
    assert "line 60" in rest
    assert "line 9000" not in shown
    assert "8000" in tags.words
    assert len(shown) < 100_000


def test_a_call_opens_only_where_there_is_something_inside() -> None:
    """A line without a body is a plain line; with one it is a details element."""
    assert Tags(html.call_html("▤", "Read a", "3 ms")).tags[0] == "div"
    opened = Tags(html.call_html("▤", "Read a", "3 ms", "<pre>x</pre>"))
    assert opened.tags[:2] == ["details", "summary"]
    assert "Read a · 3 ms" in opened.words


def test_a_picture_is_shown_and_a_todo_list_has_its_marks() -> None:
    """PNG data becomes an image of the page; todo items show their state."""
    assert 'src="data:image/png;base64,iVBORw0="' in html.display_html(
        ImageDisplay("image/png", "iVBORw0=")
    )
    todos = TodoDisplay((TodoItem("a", "completed"), TodoItem("b", "in_progress", "doing b")))
    assert Tags(html.display_html(todos)).words == "☑ a▶ doing b"


@pytest.mark.parametrize("words", ["a`b", "``", "`", "x", "", "*a* <b> [c](d) $e$ ~f~ |g| \\"])
def test_untrusted_words_stay_words_in_markdown(words: str) -> None:
    """A code span is longer than the backticks in it, and escaped words keep no markup."""
    span = markdown.code(words)
    fence = span[: len(span) - len(span.lstrip("`"))]
    assert span.endswith(fence)
    assert fence not in span[len(fence) : -len(fence)]
    escaped = markdown.escaped(words)
    assert "<" not in escaped
    assert not any(char in escaped.replace(f"\\{char}", "") for char in "*[]$~|")
