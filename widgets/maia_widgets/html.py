"""Values to HTML, pure. Everything is escaped, and styled inline only.

A saved notebook is opened without our style sheet and through JupyterLab's sanitizer, which drops
`<style>`, CSS variables and unknown properties: colours are translucent, so that they suit light and
dark pages. Classes serve the live panel's style sheet, as an addition.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import assert_never

from maia_kernel.display import (
    DiffDisplay,
    Display,
    ImageDisplay,
    TableDisplay,
    TextDisplay,
    TodoDisplay,
    TodoItem,
)
from maia_kernel.neutral import line, output, prose, visible
from maia_kernel.plain import TODO_MARKS, todo_label
from maia_kernel.texts import text

OPEN_LINES = 40
"""Lines shown at once; more are folded below them."""
MOST_LINES = 2000
"""Lines kept in a saved output; the rest is counted."""
MOST_COLUMNS = 2000
"""Characters kept of one line."""

MUTED = "opacity:.65"
FAILED = "color:rgb(218,54,51)"
_MONO = "font-family:monospace;font-size:12px;line-height:1.45"
_BOX = (
    f"{_MONO};margin:4px 0 6px 0;padding:4px 0;border:1px solid rgba(128,128,128,.25);"
    "border-radius:4px;white-space:pre-wrap;overflow-wrap:anywhere;background:transparent"
)
_ROW = "display:block;padding:0 8px"
_ROWS = {
    "add": f"{_ROW};background-color:rgba(46,160,67,.18)",
    "del": f"{_ROW};background-color:rgba(248,81,73,.18)",
    "hunk": f"{_ROW};color:rgb(110,118,129)",
    "same": _ROW,
}


def display_html(display: Display, *, shown_path: str = "") -> str:
    """A display as HTML; `shown_path` replaces the path of a diff where it should read shorter."""
    match display:
        case TextDisplay():
            neutral = visible if display.language else output
            rows = [("same", row) for row in neutral(display.text.rstrip("\n")).split("\n")]
            return _heading(display.title) + _folded(rows)
        case DiffDisplay():
            path = shown_path or display.path
            title = text("views.call.new_file", path=path) if display.new_file else path
            return _heading(title) + _folded(list(diff_rows(display.diff)))
        case TableDisplay():
            return _table(display)
        case ImageDisplay():
            return _image(display)
        case TodoDisplay():
            return todos_html(display.items)
        case _:
            assert_never(display)


def diff_rows(diff: str) -> Iterator[tuple[str, str]]:
    """Lines of a unified diff with their kind: `add`, `del`, `hunk` or `same`."""
    if not diff:
        return
    kinds = {"+": "add", "-": "del", "@": "hunk", "\\": "hunk"}
    for row in visible(diff.replace("\r\n", "\n").rstrip("\n")).split("\n"):
        yield kinds.get(row[:1], "same"), row


def todos_html(items: tuple[TodoItem, ...]) -> str:
    """The todo list."""
    rows = "".join(
        f'<div style="padding:0 8px{";" + MUTED if item.status == "completed" else ""}">'
        f"{TODO_MARKS[item.status]} {escape(todo_label(item))}</div>"
        for item in items
    )
    return f'<div style="margin:4px 0 6px 0">{rows}</div>'


def prose_html(words: str) -> str:
    """Plain words of a model, as they are."""
    return f'<div style="white-space:pre-wrap;{MUTED}">{escape(prose(words))}</div>'


def call_html(
    icon: str,
    summary: str,
    tail: str,
    body: str = "",
    *,
    failed: bool = False,
    failures: Sequence[str] = (),
    quiet: bool = False,
) -> str:
    """The line of a call: icon, summary, a grey tail (duration), and `body` (HTML) when opened.

    `failures` are the calls that failed, of a line that many share.
    """
    look = f";{FAILED}" if failed else f";{MUTED}" if quiet else ""
    head = (
        f'<span style="display:inline-block;width:1.4em{look}">{escape(line(icon))}</span>'
        f'<span style="{MUTED if quiet else ""}">{escape(line(summary))}</span>'
    )
    for name in failures:
        words = f"✗ {line(name)} ({text('views.call.failed')})"
        head += f'<span style="{FAILED}"> · {escape(words)}</span>'
    if tail:
        head += f'<span style="{MUTED}"> · {escape(line(tail))}</span>'
    return _line(head, body)


def running_html(icon: str, summary: str, latest: str = "") -> str:
    """The line of a call that runs: a spinner (turning while the panel lives) and its last words."""
    head = (
        f'<span class="maia-busy" style="display:inline-block;width:1.4em">{escape(line(icon))}'
        f"</span><span>{escape(line(summary))}</span>"
    )
    if latest:
        style = f"{_MONO};{MUTED};padding-left:1.7em;white-space:pre;overflow:hidden"
        head += f'<div class="maia-latest" style="{style}">{escape(latest)}</div>'
    return _line(head, "")


def note_html(words: str, level: str) -> str:
    """One line beside the answer; `level` is info, warning or error."""
    icon, colour = {
        "info": ("ⓘ", ""),
        "warning": ("⚠", "color:rgb(191,135,0)"),
        "error": ("✗", FAILED),
    }.get(level, ("ⓘ", ""))
    mark = f'<span style="display:inline-block;width:1.4em;{colour}">{icon}</span>'
    return _line(f"{mark}<span>{escape(line(words))}</span>", "")


def _line(head: str, body: str) -> str:
    if not body:
        return f'<div class="maia-line" style="padding-left:1.1em">{head}</div>'
    # The triangle of the summary stands where lines without a body have their padding.
    return (
        f'<details class="maia-line"><summary style="cursor:pointer">{head}</summary>'
        f'<div style="padding-left:2.5em">{body}</div></details>'
    )


def _heading(title: str) -> str:
    return f'<div style="{_MONO};{MUTED}">{escape(line(title))}</div>' if title else ""


def _folded(rows: list[tuple[str, str]]) -> str:
    """Rows in a box: the first ones open, the next ones folded, those past the limit counted."""
    kept, hidden = rows[:MOST_LINES], len(rows) - MOST_LINES
    # A fold that hides three lines would be sillier than the lines.
    first, rest = (
        (kept, []) if len(kept) <= OPEN_LINES + 5 else (kept[:OPEN_LINES], kept[OPEN_LINES:])
    )
    parts = [_box(first)]
    if rest:
        label = escape(text("views.call.more_lines", count=len(rest)))
        parts.append(
            f'<details><summary style="cursor:pointer;{MUTED}">{label}</summary>{_box(rest)}</details>'
        )
    if hidden > 0:
        label = escape(text("views.call.left_out", count=hidden))
        parts.append(f'<div style="{MUTED}">{label}</div>')
    return "".join(parts)


def _box(rows: Iterable[tuple[str, str]]) -> str:
    # Rows of one kind share a block: a thousand added lines are one element, not a thousand.
    blocks = "".join(
        f'<span class="maia-{kind}" style="{_ROWS[kind]}">'
        + "\n".join(escape(_shortened(row)) for _, row in group)
        + "</span>"
        for kind, group in groupby(rows, key=lambda row: row[0])
    )
    return f'<pre style="{_BOX}">{blocks}</pre>'


def _shortened(row: str) -> str:
    return row if len(row) <= MOST_COLUMNS else row[:MOST_COLUMNS] + "…"


def _table(table: TableDisplay) -> str:
    rows, hidden = table.rows[:MOST_LINES], len(table.rows) - MOST_LINES
    head = "".join(f"<th>{escape(line(name))}</th>" for name in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(line(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    end = ""
    if hidden > 0:
        end = f'<div style="{MUTED}">{escape(text("views.call.left_out", count=hidden))}</div>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{end}"


def _image(image: ImageDisplay) -> str:
    # Only raster formats: an SVG could carry scripts and links.
    kind = image.media_type.removeprefix("image/")
    if kind not in ("png", "jpeg", "gif", "webp") or not _is_base64(image.data):
        return _heading(text("plain.turn.image", media_type=image.media_type))
    return f'<img src="data:image/{kind};base64,{image.data}" style="max-width:100%">'


def _is_base64(data: str) -> bool:
    return data.isascii() and data.replace("+", "").replace("/", "").rstrip("=").isalnum()
