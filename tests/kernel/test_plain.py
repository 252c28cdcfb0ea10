"""Events as plain text, and untrusted text made visible."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maia_kernel import events, neutral, texts
from maia_kernel.display import DiffDisplay, TableDisplay, TextDisplay, TodoItem
from maia_kernel.measures import count, duration
from maia_kernel.plain import PlainText
from maia_kernel.usage import Usage


def written(*happened: events.Event, footer: bool = True) -> str:
    view = PlainText(Path("/proj"), footer=footer)
    return "".join(view.show(event) for event in happened)


def finished(reason: events.EndReason = "done", error: str = "") -> events.TurnFinished:
    usage = Usage(input_tokens=1000, output_tokens=512, cache_read_tokens=9000)
    return events.TurnFinished(reason, usage, 75.2, "anthropic:big", 0.0123, error)


def test_an_answer_flows_and_a_call_gets_a_line_of_its_own() -> None:
    """Text comes as it is; the line of a call starts on a new line; the footer says what it took."""
    shown = written(
        events.TextDelta("I will "),
        events.TextDelta("look."),
        events.ToolStarted("a", "Read", "Read app.py", "▤", read_only=True),
        events.ToolFinished("a", "Read", "Read app.py", False, 0.04),
        events.TextDelta("Done."),
        finished(),
    )
    assert shown == (
        "I will look.\n✓ Read app.py · 40 ms\nDone.\n"
        "anthropic:big · 10k tokens in, 512 out · 90% cached · $0.0123 · 1 min 15 s\n"
    )


def test_a_changing_call_is_announced_before_it_runs_and_shows_its_diff() -> None:
    """A call that changes something is announced, then shows result and displays, indented."""
    diff = DiffDisplay("/proj/app.py", "@@ -1 +1 @@\n-a\n+b\n")
    view = PlainText(Path("/proj"))
    assert view.show(events.ToolStarted("a", "Edit", "Edit app.py", "✎")) == "✎ Edit app.py\n"
    shown = view.show(events.ToolFinished("a", "Edit", "Edit app.py", False, 1.0, (diff,)))
    assert shown == "  done · 1.0 s\n    app.py\n    @@ -1 +1 @@\n    -a\n    +b\n"


def test_long_output_shows_its_end_and_says_what_is_missing() -> None:
    """Of 100 lines of output the last eight are shown, ANSI stripped, and the rest is counted."""
    rows = "\n".join(f"\x1b[31mline {number}\x1b[0m" for number in range(100))
    shown = written(
        events.ToolStarted("a", "Bash", "seq"),
        events.ToolFinished("a", "Bash", "seq", False, 1.0, (TextDisplay(rows),)),
    )
    assert "… 92 earlier lines" in shown
    assert "line 99" in shown
    assert "line 91\n" not in shown
    assert "\x1b" not in shown


def test_todos_notices_retries_and_tables_have_lines() -> None:
    """Every kind of thing that a person should know about has its line."""
    todos = (TodoItem("Fix", "in_progress", "Fixing"), TodoItem("Test", "pending"))
    table = TableDisplay(("name", "n"), (("a", "1"), ("long", "22")))
    shown = written(
        events.TodosChanged(todos),
        events.Notice("warning", "rule ignored"),
        events.Retrying(1, 8, 2.0, "overloaded"),
        events.ToolFinished("a", "Grep", "x", True, 0.1, (table,)),
    )
    assert shown.splitlines() == [
        "▶ Fixing",
        "☐ Test",
        "Warning: rule ignored",
        "overloaded; trying again in 2.0 s (1 of 8)",
        "✗ x · 0.1 s",
        "    name  n",
        "    a     1",
        "    long  22",
    ]


@pytest.mark.parametrize("reason", ["max_turns", "budget", "error", "interrupted", "refusal"])
def test_an_end_that_is_not_done_says_why(reason: events.EndReason) -> None:
    """Every other end has its line, with the error where there is one, even without a footer."""
    shown = written(events.TextDelta("half"), finished(reason, "no key"), footer=False)
    first, why = shown.splitlines()
    assert first == "half"
    assert why
    assert ("no key" in why) is (reason == "error")


@given(st.text())
def test_neutral_text_never_controls_a_screen(anything: str) -> None:
    """Whatever comes in, nothing that a terminal obeys or hides comes out."""
    for neutralise in (neutral.visible, neutral.prose, neutral.output, neutral.line):
        out = neutralise(anything)
        out.encode("utf-8")
        assert not set(out) & set(map(chr, [*range(9), *range(11, 32), *range(127, 160)]))
        assert not set(out) & set(
            "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff"
        )


def test_output_is_what_a_terminal_would_have_left() -> None:
    """A progress bar leaves its last state, and colours leave no trace."""
    assert neutral.output("10%\r50%\r100%\ndone\r\n\x1b[1;32mok\x1b[0m") == "100%\ndone\nok"
    assert neutral.output("\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\") == "link"


def test_emoji_and_joined_scripts_survive_in_prose() -> None:
    """Joiners that languages and emoji need stay in a model's words."""
    for words in ("👩\u200d💻 ⚠️", "می\u200cخواهم", "naïve café, 日本語"):
        assert neutral.prose(words) == words


def test_numbers_are_short() -> None:
    """Tokens and seconds read at a glance."""
    assert [count(n) for n in (7, 950, 12_345, 999_400, 2_500_000)] == [
        "7",
        "950",
        "12.3k",
        "999k",
        "2.5M",
    ]
    assert [duration(s) for s in (0.04, 9.96, 12.4, 61)] == ["40 ms", "10.0 s", "12 s", "1 min 1 s"]


def test_french_says_the_same_with_the_same_placeholders() -> None:
    """The catalogues of this room have the same keys and placeholders in both languages."""
    folder = Path(texts.__file__).parent
    for room in ("plain", "views"):
        both = [
            tomllib.loads((folder / code / f"{room}.toml").read_text(encoding="utf-8"))
            for code in texts.LANGUAGES
        ]
        english, french = ({(t, k): v for t in c for k, v in c[t].items()} for c in both)
        assert english.keys() == french.keys()
        for key, template in english.items():
            assert sorted(placeholders(template)) == sorted(placeholders(french[key])), key


def placeholders(template: str) -> list[str]:
    import string

    return [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]


def test_a_failing_request_is_explained_once() -> None:
    """The same reason again is a short line, another reason a whole one, also after other events."""
    busy, gone = "the server is busy", "the server is gone"
    first, second = events.Retrying(1, 8, 1.0, busy), events.Retrying(2, 8, 2.0, busy)
    other, later = events.Retrying(3, 8, 4.0, gone), events.Retrying(1, 8, 1.0, gone)
    said = written(first, events.RequestStarted(1), second, other, events.TextDelta("Hi"), later)
    assert said.splitlines() == [
        "the server is busy; trying again in 1.0 s (1 of 8)",
        "  again in 2.0 s (2 of 8)",
        "the server is gone; trying again in 4.0 s (3 of 8)",
        "Hi",
        "the server is gone; trying again in 1.0 s (1 of 8)",
    ]


def test_a_terminal_has_its_retry_line_written_over() -> None:
    """Given a terminal, the second short line takes the place of the first."""
    view = PlainText(Path("/proj"), redraw=True)
    shown = [view.show(events.Retrying(n, 8, 2.0, "busy")) for n in (1, 2, 3)]
    assert "\x1b" not in shown[0] + shown[1]
    assert shown[2] == "\x1b[A\x1b[2K\r  again in 2.0 s (3 of 8)\n"
