"""Events and questions as plain text, and untrusted text made visible."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maia_kernel import events, neutral, texts
from maia_kernel.display import DiffDisplay, TableDisplay, TextDisplay, TodoItem
from maia_kernel.measures import count, duration
from maia_kernel.plain import (
    PlainText,
    choice_prompt,
    permission_prompt,
    read_choice,
    read_permission,
)
from maia_kernel.questions import (
    ChoiceAnswer,
    ChoiceOption,
    ChoiceQuestion,
    PermissionAnswer,
    PermissionQuestion,
    RuleOffer,
)
from maia_kernel.usage import Usage

COMMAND = PermissionQuestion(
    id="1",
    tool="Bash",
    summary="git push origin main",
    displays=(TextDisplay("git push origin main", "bash"),),
    reason="no rule allows it",
    touches=("network",),
    offer=RuleOffer("Bash(git push:*)", "~/proj/.maia/settings.local.json"),
)
UNCOVERED = PermissionQuestion(
    id="2", tool="Bash", summary="rm -rf build", displays=(), reason="it removes files"
)
MODELS = ChoiceQuestion(
    id="3",
    title="Which model?",
    options=(
        ChoiceOption("anthropic:big", "big", "200k", "anthropic"),
        ChoiceOption("anthropic:small", "small", "", "anthropic"),
        ChoiceOption("local:small-coder", "small-coder", "", "local"),
    ),
)


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


def test_the_question_shows_everything_the_person_needs() -> None:
    """The whole command, what it touches, why, and each choice with its letter and its rule."""
    asked = permission_prompt(COMMAND)
    for needed in ("git push origin main", "network", "no rule allows it", "Bash(git push:*)"):
        assert needed in asked
    assert "~/proj/.maia/settings.local.json" in asked
    assert asked.endswith("Your choice: ")
    rows = [row for row in asked.splitlines() if row.startswith("  ") and row[2] != " "]
    assert [row.split()[0] for row in rows] == ["o", "s", "a", "n"]
    assert "for this session" not in permission_prompt(UNCOVERED)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("o", PermissionAnswer("once")),
        (" Y ", PermissionAnswer("once")),
        ("s", PermissionAnswer("session")),
        ("a", PermissionAnswer("always", rule="Bash(git push:*)")),
        ("a: Bash(git:*)", PermissionAnswer("always", rule="Bash(git:*)")),
        ("n", PermissionAnswer("deny")),
        ("d", PermissionAnswer("deny")),
        ("n: use a branch: dev", PermissionAnswer("deny", message="use a branch: dev")),
        ("", None),
        ("   ", None),
        ("a:", None),
        ("o: please", None),
        ("maybe", None),
    ],
)
def test_only_an_explicit_answer_counts(typed: str, answer: PermissionAnswer | None) -> None:
    """Letters answer, a reason goes with a denial, an empty or unclear line asks again."""
    assert read_permission(typed, COMMAND) == answer


def test_what_no_rule_can_cover_is_allowed_once_or_denied() -> None:
    """Without an offer neither "session" nor "always" is an answer."""
    assert read_permission("s", UNCOVERED) is None
    assert read_permission("a: Bash", UNCOVERED) is None
    assert read_permission("o", UNCOVERED) == PermissionAnswer("once")


def test_a_command_cannot_hide_a_part_of_itself() -> None:
    """Control codes, ANSI strings, bidi and zero-width characters of a question are all visible."""
    trick = "echo hi\x1b]0;rm -rf ~\x07\u202e\u200b\x1b[2K\rls"
    question = PermissionQuestion(
        "1", "Bash", trick, (TextDisplay(trick, "bash"),), trick, (trick,)
    )
    asked = permission_prompt(question)
    assert asked.replace("\n", "").isprintable()
    assert "rm -rf ~" in asked
    assert "⟨U+202E⟩" in asked
    assert "␛[2K␍ls" in asked


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


@pytest.mark.parametrize(
    ("typed", "value"),
    [("1", "anthropic:big"), ("small", "anthropic:small"), ("coder", "local:small-coder")],
)
def test_an_option_is_picked_by_number_name_or_part(typed: str, value: str) -> None:
    """A number, a whole name, or a part that only one option has picks that option."""
    assert read_choice(typed, MODELS) == ChoiceAnswer(value)


def test_a_picker_can_be_left_and_asks_again_when_unclear() -> None:
    """`q` leaves; an empty line, a number outside, or a part that several have asks again."""
    assert read_choice("q", MODELS) == ChoiceAnswer(None)
    for unclear in ("", "9", "0", "l"):
        assert read_choice(unclear, MODELS) is None
    asked = choice_prompt(MODELS)
    assert asked.index("anthropic\n") < asked.index("big") < asked.index("local\n")


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


@pytest.mark.parametrize("typed", ["\x1b", "\x1b\x1b", " \x1b "])
def test_escape_denies_and_leaves(typed: str) -> None:
    """Escape and Enter deny a permission and leave the picker; an arrow key is no answer."""
    assert read_permission(typed, COMMAND) == PermissionAnswer("deny")
    assert read_choice(typed, MODELS) == ChoiceAnswer(None)
    assert read_permission("\x1b[A", COMMAND) is None
    assert read_choice("\x1b[A", MODELS) is None
