"""A whole turn on a screen without a browser: what is sent, what stays, what the panel is told."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from maia_kernel.display import DiffDisplay, TextDisplay, TodoItem
from maia_kernel.events import (
    Event,
    Notice,
    PermissionRequested,
    PermissionResolved,
    RequestStarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    TodosChanged,
    ToolFinished,
    ToolInputDelta,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageChanged,
)
from maia_kernel.questions import (
    ChoiceAnswer,
    ChoiceOption,
    ChoiceQuestion,
    PermissionAnswer,
    PermissionQuestion,
    RuleFile,
    RuleOffer,
)
from maia_kernel.texts import language
from maia_kernel.usage import Usage
from maia_widgets.pages import Place
from maia_widgets.panel import Panel
from maia_widgets.turn import TurnView
from tests.support.screen import Screen

CWD = Path("/proj")
DIFF = DiffDisplay("/proj/app.py", "@@ -1 +1 @@\n-old\n+new\n")
FILES = (
    RuleFile("local", "~/proj/.maia/settings.local.json"),
    RuleFile("user", "~/.maia/settings.json"),
)
QUESTION = PermissionQuestion(
    id="q1",
    tool="Edit",
    summary="app.py",
    displays=(DIFF,),
    reason="no rule allows it",
    touches=("app.py",),
    offer=RuleOffer(("Edit(app.py)", "Edit(lib.py)"), FILES),
)
MODELS = ChoiceQuestion(
    "m1", "Which model?", (ChoiceOption("a:one", "one"), ChoiceOption("a:two", "two"))
)
FINISHED = TurnFinished("done", Usage(100, 20), 1.5, "scripted:demo", 0.01)


@asynccontextmanager
async def rich(
    screen: Screen,
    *,
    quiet: bool = False,
    stop: Callable[[], None] | None = None,
    place: Place | None = None,
) -> AsyncIterator[tuple[TurnView, Panel]]:
    panel = Panel(place=place)
    panel.bind(asyncio.get_running_loop(), on_stop=stop)
    view = TurnView(style="rich", panel=panel, cwd=CWD, quiet=quiet, publish=screen)
    view.open()
    try:
        yield view, panel
    finally:
        view.close()


def show(view: TurnView, happened: Iterable[Event]) -> None:
    for event in happened:
        view.show(event)


def page_sends(panel: Panel, **content: Any) -> None:
    """As the page's message arrives."""
    panel._handle_custom_msg(content, [])


def messages(panel: Panel) -> list[dict[str, Any]]:
    """What the kernel says to the page from now on, traits apart."""
    assert panel.comm is not None
    sent: list[dict[str, Any]] = []

    def publish(*_: Any, data: dict[str, Any] | None = None, **__: Any) -> None:
        if data and data.get("method") == "custom":
            sent.append(data["content"])

    panel.comm.publish_msg = publish
    return sent


async def asked(panel: Panel) -> None:
    async with asyncio.timeout(5):
        while not panel.question:
            await asyncio.sleep(0.005)


async def test_a_turn_leaves_its_answer_calls_and_footer_in_order() -> None:
    """Text, a call, text and the footer stand in this order, and no widget is left."""
    screen = Screen()
    async with rich(screen) as (view, _):
        show(
            view,
            [
                TurnStarted("s", "scripted:demo"),
                RequestStarted(1),
                TextDelta("First."),
                ToolStarted("e", "Edit", "app.py", "✎", displays=(DIFF,)),
                ToolFinished("e", "Edit", "app.py", False, 0.2, (DIFF,)),
                RequestStarted(2),
                TextDelta("Last."),
                TodosChanged((TodoItem("Fix it", "completed"),)),
                PermissionResolved("e", "Edit", "app.py", PermissionAnswer("session")),
                FINISHED,
            ],
        )
        assert "widget-view" in str(list(screen.outputs.values())[-1]), "the panel is last"
    assert screen.texts == [
        "First.",
        "✓ app.py · 0.2 s",
        "Last.",
        "☑ Fix it\n✓ Allowed for this session · Edit app.py\n"
        "scripted:demo · 100 tokens in, 20 out · $0.0100 · 1.5 s",
    ]
    assert "widget" not in str(screen.outputs)
    assert screen.shown[0]["text/markdown"] == "First."
    assert screen.shown[1]["text/html"].count("+new") == 1, "the diff is shown once"


@pytest.mark.parametrize("size", [1, 10])
async def test_bytes_are_linear_in_the_answer(size: int) -> None:
    """Ten times the answer sends about ten times the bytes, however small the pieces are."""

    async def sent(kilobytes: int) -> int:
        screen = Screen()
        async with rich(screen) as (view, _):
            for number in range(kilobytes * 2):
                for _ in range(10 // size):
                    view.show(TextDelta("w" * 49 * size))
                view.show(TextDelta(f" {number}\n\n"))
                await asyncio.sleep(0.002)
        return screen.sent

    small, large = await sent(10), await sent(100)
    assert large < 15 * small
    assert large < 12 * 100_000


async def test_updates_come_at_most_ten_times_a_second_and_the_tail_by_itself() -> None:
    """300 pieces in 0.6 s make few messages; what came last is shown without another event."""
    screen = Screen()
    async with rich(screen) as (view, _):
        before = screen.messages
        for number in range(300):
            view.show(TextDelta(f"{number} "))
            await asyncio.sleep(0.002)
        await asyncio.sleep(0.3)
        assert screen.messages - before <= 2 + 10 * 2
        assert screen.texts[0].endswith("299 ")


async def test_a_retry_takes_back_what_the_request_showed() -> None:
    """Text and calls since the last RequestStarted vanish, and the new answer takes their place."""
    screen = Screen()
    async with rich(screen) as (view, _):
        show(view, [TurnStarted("s", "m"), RequestStarted(1), TextDelta("Kept.")])
        show(view, [RequestStarted(2), TextDelta("Wrong."), ToolStarted("a", "Read", "x")])
        view.show(Retrying(1, 8, 0.1, "overloaded"))
        assert "Wrong." not in str(screen.outputs)
        show(view, [RequestStarted(2), TextDelta("Right."), FINISHED])
    assert screen.texts[:2] == ["Kept.", "Right."]
    assert len(screen.shown) == 3


async def test_read_only_calls_in_a_row_share_a_line() -> None:
    """Six reads and a search are one line, which opens to seven; text between begins another."""
    screen = Screen()
    async with rich(screen) as (view, _):
        for number in range(6):
            view.show(
                ToolStarted(f"r{number}", "Read", f"Read {number}.py", "▤", True, counted="files")
            )
        view.show(ToolStarted("g", "Grep", "Search x", "⌕", True, counted="searches"))
        for number in range(6):
            view.show(ToolFinished(f"r{number}", "Read", f"Read {number}.py", False, 0.1))
        view.show(ToolFinished("g", "Grep", "Search x", False, 0.1))
        show(
            view,
            [TextDelta("\n"), ToolStarted("n", "Read", "Read n.py", "▤", True, counted="files")],
        )
        show(
            view,
            [TextDelta("Now."), ToolStarted("o", "Read", "Read o.py", "▤", True, counted="files")],
        )
    assert screen.texts[0].splitlines()[0] == "Read 7 files, 1 search"
    assert len(screen.texts[0].splitlines()) == 9
    assert screen.texts[1:3] == ["Now.", "✗ Read o.py"]


async def test_a_running_call_shows_its_latest_line_and_ends_stopped() -> None:
    """Progress shows the last line, without colours; a turn that is cut off stops the call."""
    screen = Screen()
    async with rich(screen) as (view, _):
        view.show(TurnStarted("s", "m"))
        view.show(ToolStarted("b", "Bash", "make", "$", displays=(TextDisplay("make", "bash"),)))
        show(view, [ToolProgress("b", f"\x1b[3{n}mstep {n}\x1b[0m\n") for n in range(8)])
        await asyncio.sleep(0.25)
        shown = screen.shown[0]["text/html"]
        assert "step 7" in shown
        assert "step 6" not in shown
        assert "\x1b" not in shown
    assert "stopped" in screen.shown[0]["text/html"]


async def test_a_cancelled_turn_leaves_static_markdown() -> None:
    """A turn cancelled while it asks closes the panel, keeps the text, and closing again is safe."""
    screen = Screen()
    opened: list[TurnView] = []

    async def turn() -> None:
        async with rich(screen) as (view, panel):
            opened.append(view)
            show(view, [TurnStarted("s", "m"), UsageChanged(Usage(1000, 5)), TextDelta("Half")])
            view.show(PermissionRequested("q1", QUESTION))
            task.get_loop().call_later(0.05, task.cancel)
            try:
                await view.ask(QUESTION)
            finally:
                assert panel.question == {}

    task = asyncio.create_task(turn())
    with pytest.raises(asyncio.CancelledError):
        await task
    opened[0].close()
    opened[0].show(TextDelta("late"))
    assert screen.texts[0] == "Half"
    assert "1k tokens in" in screen.texts[1]
    assert "widget" not in str(screen.outputs)


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ({"choice": "once"}, PermissionAnswer("once")),
        ({"choice": "session"}, PermissionAnswer("session")),
        ({"choice": "always"}, PermissionAnswer("always")),
        (
            {"choice": "always", "rules": [0, 1]},
            PermissionAnswer("always", rules=QUESTION.offer.rules),
        ),
        (
            {"choice": "always", "rules": [" Edit(*) ", 1, "", 7, None], "place": "user"},
            PermissionAnswer("always", rules=("Edit(*)", "Edit(lib.py)"), place="user"),
        ),
        ({"choice": "always", "rules": "Edit", "place": "x"}, PermissionAnswer("always")),
        ({"choice": "deny"}, PermissionAnswer("deny")),
        ({"choice": "deny", "message": "no"}, PermissionAnswer("deny", message="no")),
    ],
)
async def test_the_card_answers(sent: dict[str, Any], answer: PermissionAnswer) -> None:
    """What the page sends becomes the answer; a wrong id or an unknown choice is no answer."""
    async with rich(Screen()) as (view, panel):
        waiting = asyncio.create_task(view.ask(QUESTION))
        await asked(panel)
        page_sends(panel, kind="answer", id="other", choice="once")
        page_sends(panel, kind="answer", id="q1", choice="anything")
        page_sends(panel, kind="answer", id="q1", choice=None)
        page_sends(panel, kind="nonsense")
        await asyncio.sleep(0.02)
        assert not waiting.done()
        page_sends(panel, kind="answer", id="q1", **sent)
        assert await asyncio.wait_for(waiting, 5) == answer
        assert panel.question == {}


async def test_questions_come_one_at_a_time() -> None:
    """A second question is shown when the first is answered."""
    async with rich(Screen()) as (view, panel):
        first = asyncio.create_task(view.ask(QUESTION))
        await asked(panel)
        second = asyncio.create_task(view.ask(MODELS))
        await asyncio.sleep(0.02)
        assert panel.question["id"] == "q1"
        page_sends(panel, kind="answer", id="q1", choice="deny")
        await first
        async with asyncio.timeout(5):
            while panel.question.get("id") != "m1":
                await asyncio.sleep(0.005)
        page_sends(panel, kind="answer", id="m1", index=7)
        page_sends(panel, kind="answer", id="m1", index=1)
        assert await second == ChoiceAnswer("a:two")


async def test_the_card_hides_nothing() -> None:
    """Hidden characters of a command are signs on the card; a rule that is not edited is kept."""
    trick = "ls \u202e\x1b[8m; rm -rf ~"
    question = PermissionQuestion(
        "q",
        "Bash",
        trick,
        (TextDisplay(trick, "bash"),),
        "",
        offer=RuleOffer((f"Bash({trick})",), FILES),
    )
    async with rich(Screen()) as (view, panel):
        waiting = asyncio.create_task(view.ask(question))
        await asked(panel)
        assert "\u202e" not in str(panel.question)
        assert panel.question["displays"][0]["rows"] == [["same", "ls ⟨U+202E⟩␛[8m; rm -rf ~"]]
        page_sends(panel, kind="answer", id="q", choice="always", rules=[0])
        assert (await waiting).rules == (f"Bash({trick})",)


async def test_outputs_wait_while_a_question_is_open() -> None:
    """What happens meanwhile appears after the answer: the card is not displayed anew under a hand."""
    screen = Screen()
    async with rich(screen) as (view, panel):
        waiting = asyncio.create_task(view.ask(QUESTION))
        await asked(panel)
        before = len(screen.outputs)
        show(view, [Notice("info", "meanwhile"), TextDelta("streamed")])
        await asyncio.sleep(0.15)
        assert len(screen.outputs) == before
        page_sends(panel, kind="answer", id="q1", choice="once")
        await waiting
        assert screen.texts[:2] == ["meanwhile", "streamed"]


async def test_the_status_line_follows_the_turn() -> None:
    """Model, tokens, money and what happens now are on the panel; a reloaded page is told the time."""
    stopped: list[bool] = []
    async with rich(Screen(), stop=lambda: stopped.append(True)) as (view, panel):
        show(view, [TurnStarted("s", "scripted:demo"), RequestStarted(1), ThinkingDelta("hm")])
        assert panel.status["label"] == "Thinking"
        view.show(ToolInputDelta("a", "Edit", "{"))
        assert panel.status["label"] == "Preparing Edit"
        view.show(UsageChanged(Usage(1500, 20, 500), 0.5))
        assert panel.status["tokens"] == "2k in · 20 out"
        assert panel.status["money"] == "$0.5000"
        assert panel.status["stop"]
        await asyncio.sleep(0.15)
        page_sends(panel, kind="ready")
        await asyncio.sleep(0.02)
        assert panel.status["elapsed"] >= 0.1
        page_sends(panel, kind="stop")
        await asyncio.sleep(0.02)
        assert stopped == [True]
        assert panel.status["label"] == "Stopping"


@pytest.mark.parametrize("reason", ["done", "error", "interrupted"])
async def test_a_page_that_is_loaded_anew_gets_the_whole_turn(reason: Any) -> None:
    """The page that ran the cell is asked first; when it is silent the new one is sent every output,
    then each change and the end, with its reason; the panel stays until that page has saved."""
    screen = Screen()
    async with rich(screen, place=Place("ran", "cell-1", 7)) as (view, panel):
        sent = messages(panel)
        page_sends(panel, kind="ready", client="ran")
        show(view, [TurnStarted("s", "m"), TextDelta("Before. ")])
        page_sends(panel, kind="ready", client="anew")
        await asyncio.sleep(0.05)
        assert sent == [{"kind": "who"}]
        async with asyncio.timeout(5):
            while len(sent) < 2:
                await asyncio.sleep(0.02)
        assert (sent[1]["kind"], sent[1]["client"], sent[1]["cell"]) == (
            "restore",
            "anew",
            "cell-1",
        )
        assert [next(iter(output["data"])) for output in sent[1]["outputs"]] == [
            "text/markdown",
            "application/vnd.jupyter.widget-view+json",
        ]
        page_sends(panel, kind="restored", client="anew", done=True)
        show(view, [TextDelta("After."), TurnFinished(reason, Usage(), 1, "m", error="It broke.")])
    puts = [message["data"]["text/plain"] for message in sent if message["kind"] == "put"]
    assert puts[0] == "Before. After."
    why = {"done": "m ·", "error": "It broke.", "interrupted": "Interrupted."}[reason]
    assert why in puts[-1]
    assert sent[-1] == {"kind": "finish", "count": 7}
    page_sends(panel, kind="seen", client="ran")
    await asyncio.sleep(0.02)
    assert panel.comm is not None
    page_sends(panel, kind="seen", client="anew")
    await asyncio.sleep(0.02)
    assert panel.comm is None


async def test_a_second_window_is_not_written_into() -> None:
    """Where the page that ran the cell answers, another page only has the panel; a page that cannot
    write its notebook gets the answer as text in the panel, which stays."""
    async with rich(Screen(), place=Place("ran", "c", 1)) as (view, panel):
        sent = messages(panel)
        page_sends(panel, kind="ready", client="ran")
        page_sends(panel, kind="ready", client="window")
        await asyncio.sleep(0.02)
        page_sends(panel, kind="here", client="ran")
        await asyncio.sleep(1.2)
        assert sent == [{"kind": "who"}]
        page_sends(panel, kind="ready", client="blind")
        await asyncio.sleep(1.2)
        page_sends(panel, kind="restored", client="blind", done=False)
        show(view, [TurnStarted("s", "m"), TextDelta("The answer."), FINISHED])
    page_sends(panel, kind="seen", client="blind")
    await asyncio.sleep(0.02)
    assert panel.comm is not None
    assert panel.answer.startswith("The answer.\n\nscripted:demo")
    panel.close()


async def test_a_long_diff_comes_piece_by_piece_and_whole() -> None:
    """A card of 10,000 lines carries the first, counts them all, and gives each of the others when it
    is asked; what is no place in it gets nothing."""
    diff = "@@ -0,0 +1,10000 @@\n" + "".join(f"+{number}\n" for number in range(10_000))
    question = PermissionQuestion("q1", "Write", "f", (DiffDisplay("/proj/f", diff, True),), "r")
    async with rich(Screen()) as (view, panel):
        sent = messages(panel)
        waiting = asyncio.create_task(view.ask(question))
        await asked(panel)
        (shown,) = panel.question["displays"]
        assert (shown["lines"], shown["total"], shown["size"]) == (10_000, 10_001, "+10,000 -0")
        rows = list(shown["rows"])
        assert len(rows) < 1000
        for wrong in ({"display": 1, "from": 5}, {"display": "0", "from": 5}, {"display": 0}):
            page_sends(panel, kind="rows", id="q1", **wrong)
        page_sends(panel, kind="rows", id="other", display=0, **{"from": 5})
        while len(rows) < shown["total"]:
            before = len(sent)
            page_sends(panel, kind="rows", id="q1", display=0, **{"from": len(rows)})
            await asyncio.sleep(0.01)
            assert len(sent) == before + 1
            rows += sent[-1]["rows"]
        assert [words for _, words in rows] == diff.rstrip("\n").split("\n")
        page_sends(panel, kind="answer", id="q1", choice="deny")
        await waiting


async def test_a_folded_line_names_the_call_that_failed() -> None:
    """Of calls that share a line, the failed one is named on it, marked red."""
    screen = Screen()
    async with rich(screen) as (view, _):
        for name in ("a.py", "nope.py"):
            view.show(ToolStarted(name, "Read", f"Read {name}", "▤", True, counted="files"))
        show(view, [ToolFinished("a.py", "Read", "Read a.py", False, 0.1)])
        show(view, [ToolFinished("nope.py", "Read", "Read nope.py", True, 0.1)])
    head = screen.shown[0]["text/html"].split("</summary>")[0]
    assert 'color:rgb(218,54,51)"> · ✗ Read nope.py (failed)' in head
    assert "✗ Read a.py" not in head


async def test_the_handshake_waits_for_a_front_end() -> None:
    """Ready before or after binding is ready; silence is not, after the given time."""
    early, late, silent = Panel(), Panel(), Panel()
    page_sends(early, kind="ready")
    for panel in (early, late, silent):
        panel.bind(asyncio.get_running_loop())
    asyncio.get_running_loop().call_later(0.05, lambda: page_sends(late, kind="ready"))
    assert await early.wait_ready(1)
    assert await late.wait_ready(1)
    assert not await silent.wait_ready(0.05)
    for panel in (early, late, silent):
        panel.close()


async def test_the_panel_speaks_french() -> None:
    """The panel's own words follow the language of the session."""
    token = language.set("fr")
    try:
        async with rich(Screen()) as (_, panel):
            assert panel.words["deny"] == "Refuser"
    finally:
        language.reset(token)


async def test_thinking_is_one_quiet_line() -> None:
    """Reasoning is folded under a line that says how long it took; `--quiet` leaves it out."""
    for quiet, lines in ((False, 2), (True, 1)):
        screen = Screen()
        async with rich(screen, quiet=quiet) as (view, _):
            show(view, [ThinkingDelta("Let me "), ThinkingDelta("see."), TextDelta("Yes.")])
        assert len(screen.shown) == lines
        assert ("Let me see." in str(screen.shown[0])) is not quiet


async def test_quiet_leaves_the_answer_and_warnings() -> None:
    """No calls, no footer, no notes; a warning and the answer stay."""
    screen = Screen()
    async with rich(screen, quiet=True) as (view, _):
        show(
            view,
            [
                TurnStarted("s", "m"),
                Notice("info", "note"),
                Notice("warning", "beware"),
                ToolStarted("a", "Bash", "ls"),
                ToolFinished("a", "Bash", "ls", False, 0.1),
                TextDelta("Answer."),
                FINISHED,
            ],
        )
    assert screen.texts == ["beware", "Answer."]


async def test_plain_style_writes_to_the_stream_of_the_cell() -> None:
    """Text goes to the stdout that the cell had, also while another one is in its place."""
    with redirect_stdout(io.StringIO()) as stdout:
        view = TurnView(style="plain", cwd=CWD)
        with redirect_stdout(io.StringIO()) as other:
            view.open()
            show(view, [TextDelta("Hi"), ToolFinished("a", "Read", "Read x", False, 0.2), FINISHED])
            view.close()
    assert stdout.getvalue().startswith("Hi\n✓ Read x · 0.2 s\nscripted:demo · ")
    assert other.getvalue() == ""


async def test_a_typed_answer_is_asked_for_until_it_is_one() -> None:
    """The card is written as text; an empty or unclear line asks again; the end of input denies."""
    lines = iter(["", "maybe", "n: not now"])
    prompts: list[str] = []

    async def read(prompt: str) -> str:
        prompts.append(prompt)
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    with redirect_stdout(io.StringIO()) as stdout:
        view = TurnView(style="plain", read=read, cwd=CWD)
    assert await view.ask(QUESTION) == PermissionAnswer("deny", message="not now")
    assert prompts == ["Your choice: "] * 3
    assert "  │ app.py\n" in stdout.getvalue()
    assert "+new" in stdout.getvalue()
    assert await view.ask(QUESTION) == PermissionAnswer("deny", by="nobody")
    assert await view.ask(MODELS) == ChoiceAnswer(None, by="nobody")


async def test_where_nobody_can_be_asked_the_answer_is_no() -> None:
    """Without panel and without input a permission is denied and a picker is left."""
    screen = Screen()
    view = TurnView(style="rich", cwd=CWD, publish=screen)
    view.open()
    assert await view.ask(QUESTION) == PermissionAnswer("deny", by="nobody")
    assert await view.ask(MODELS) == ChoiceAnswer(None, by="nobody")
    view.show(FINISHED)
    view.close()
    assert len(screen.texts) == 1, "the footer is an output of its own"
