"""Prompts in real kernels: answers, permissions, interrupts, mistakes."""

import time
from collections.abc import Iterator

import pytest

from tests.support.kernels import Release, Run
from tests.support.notebook import Notebook, calls, notebook, says

LIMIT = 3.0
"""Seconds for the kernel to be idle after an interrupt: ten times the goal of 0.3."""
STUBBORN_LIMIT = 10.0
"""Seconds, where a child has to be killed; the goal is 2.5."""


@pytest.fixture(
    scope="module",
    params=[("6.31", False), ("7.4", False), ("7.4", True)],
    ids=["6.31", "7.4", "7.4-subshell"],
)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Notebook]:
    release: Release
    release, subshell = request.param
    home = tmp_path_factory.mktemp("turns")
    with notebook(home, release=release, subshell=subshell) as opened:
        yield opened


@pytest.fixture
def book(shared: Notebook) -> Iterator[Notebook]:
    shared.front_end.forget()
    shared.front_end.run("%maia_new")
    yield shared
    assert shared.front_end.run("print(6 * 7)").printed == "42\n"
    assert shared.front_end.children() == []


def test_an_answer(book: Notebook) -> None:
    """Given a prompt, when it is answered, then the answer is in the cell as Markdown and no widget is
    left in it."""
    run = book.ask("Hello?", says("Hello **there**.")).wait()
    assert run.status == "ok", run.text
    assert run.displayed[0] == "Hello **there**."
    assert run.displayed[-1].startswith("<small")
    assert not [name for name in run.displayed if "widget" in name]
    assert not run.error


def test_allowing_with_a_click(book: Notebook) -> None:
    """Given a call that asks, when Allow once is clicked, then the call runs, and the queued cell only
    after the turn."""
    run = book.ask(
        "Make it.",
        calls("Bash", command="echo made > made.txt"),
        says("Done.", expect={"is_error": False}),
    )
    queued = book.front_end.execute("import pathlib; print(pathlib.Path('made.txt').read_text())")
    _, question = book.question()
    assert question["tool"] == "Bash"
    assert not (book.folder / "made.txt").exists()
    clicked = time.monotonic()
    book.answer(choice="once")
    run.wait()
    assert time.monotonic() - clicked < 10
    assert run.status == "ok", run.text
    assert queued.wait().printed == "made\n\n"
    assert run.idle_at is not None
    assert queued.messages[0]["msg_type"] == "status"
    (book.folder / "made.txt").unlink()


def test_denying_with_a_reason(book: Notebook) -> None:
    """Given a call that asks, when it is denied with a reason, then the model is told both."""
    run = book.ask(
        "Make it.",
        calls("Bash", command="touch denied.txt"),
        says("I will not.", expect={"tool_result": "use the other folder", "is_error": True}),
    )
    book.answer(choice="deny", message="use the other folder")
    assert "I will not." in run.wait().displayed
    assert not (book.folder / "denied.txt").exists()


def test_nobody_to_ask(book: Notebook) -> None:
    """Given a front-end that allows no input, when a call would ask, then it is denied, and the cell
    says which rule would allow it."""
    run = book.ask(
        "Make it.",
        calls("Bash", command="touch nobody.txt"),
        says("I could not."),
        allow_stdin=False,
    ).wait()
    assert run.status == "ok"
    assert not book.panels()
    assert "Bash(touch" in run.text
    assert "I could not." in run.displayed
    assert not (book.folder / "nobody.txt").exists()


def test_python_in_the_live_kernel(book: Notebook) -> None:
    """Given variables of the person, when the model runs Python, then it works on them, and what it
    defines stays."""
    book.front_end.run("numbers = [1, 2, 3]")
    run = book.ask(
        "Sum it.",
        calls("Python", code="total = sum(numbers)\nprint('adding')\ntotal"),
        says("It is 6.", expect={"tool_result": ["adding", "6"]}),
    )
    book.answer(choice="once")
    assert run.wait().status == "ok", run.text
    assert book.front_end.run("print(total)").printed == "6\n"


def test_a_figure(book: Notebook) -> None:
    """Given code that shows a picture, when the model runs it, then the person sees it."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
    code = f"from IPython.display import display\ndisplay({{'image/png': '{pixel}'}}, raw=True)"
    run = book.ask("Draw.", calls("Python", code=code), says("Drawn."))
    book.answer(choice="once")
    assert run.wait().status == "ok", run.text
    assert pixel in str([message["content"] for message in run.messages])


STREAMING = {"reply": [{"text": "word " * 400, "chunks": 400, "seconds": 60}]}
WAITING = {
    "streaming": [STREAMING],
    "asking": [calls("Bash", command="touch asked.txt")],
    "a stubborn child": [calls("Bash", command="trap '' TERM INT; while true; do sleep 60; done")],
    "user code": [calls("Python", code="import time\ntime.sleep(60)")],
}


@pytest.mark.parametrize("what", WAITING)
def test_interrupt(book: Notebook, what: str) -> None:
    """Given a running turn, when stop is pressed, then the kernel is idle soon, no process is left, the
    variables and the conversation are as before, what was queued is dropped, and the next cell works."""
    book.front_end.run("kept = 1")
    book.ask("First.", says("One.")).wait()
    run = _begin(book, what)
    queued = book.front_end.execute("kept = 2")
    time.sleep(0.2)
    pressed = book.front_end.interrupt()
    run.wait()
    assert run.idle_at is not None
    limit = STUBBORN_LIMIT if what == "a stubborn child" else LIMIT
    assert run.idle_at - pressed < limit
    assert "TurnInterrupted: MAIA: interrupted." in run.error
    assert queued.wait().status == "aborted"
    assert book.front_end.children() == []
    assert book.front_end.run("print(kept)").printed == "1\n"
    after = book.ask("Second.", says("Two.", expect={"messages": 3})).wait()
    assert "Two." in after.displayed, after.text


@pytest.mark.parametrize("what", ["streaming", "asking", "user code"])
def test_stop_button_of_the_panel(book: Notebook, what: str) -> None:
    """Given a running turn, when the panel's own stop button is clicked, then it ends like by the
    kernel's (on ipykernel 6 the click waits while user code runs)."""
    old = _is_old(book)
    run = _begin(book, what)
    time.sleep(0.2)
    clicked = time.monotonic()
    book.stop()
    if what == "user code" and old:
        # Nobody reads the messages of ipykernel 6 while code runs in its main thread.
        book.front_end.read(0.5)
        assert not run.idle
        clicked = book.front_end.interrupt()
    run.wait()
    assert run.idle_at is not None
    assert run.idle_at - clicked < LIMIT
    assert "TurnInterrupted" in run.error


def test_interrupted_while_the_page_is_asked(book: Notebook) -> None:
    """Given a page that does not answer the handshake, when the turn is interrupted before that is
    clear, then the next turn asks the page again."""
    front_end = book.front_end
    session, book.page = front_end.client.session.session, False
    front_end.client.session.session = "another-page"
    try:
        run = book.ask("Hello?", says("Hello."))
        front_end.until(lambda: bool(book.panels()), 20, "a panel")
        front_end.interrupt()
        assert "TurnInterrupted" in run.wait().error
        book.page = True
        front_end.forget()
        again = book.ask("Hello?", says("Hello.")).wait()
        assert "Hello." in again.displayed
        assert len(book.panels()) == 1
    finally:
        front_end.client.session.session, book.page = session, True


def test_a_page_without_widgets(book: Notebook) -> None:
    """Given a front-end that draws no widgets, when a call asks, then it is asked with input(), and the
    next turn does not wait for the handshake again."""
    front_end = book.front_end
    session, book.page = front_end.client.session.session, False
    front_end.client.session.session = "a-console"
    try:
        for name in ("first", "second"):
            began = time.monotonic()
            run = book.ask("Make it.", calls("Bash", command=f"echo 1 > {name}.txt"), says("Done."))
            prompt = front_end.answer("maybe")
            waited = time.monotonic() - began
            assert prompt == front_end.answer("y")
            assert run.wait().status == "ok", run.text
            assert (book.folder / f"{name}.txt").exists()
            assert "Done." in run.printed
        assert waited < 3.0
        assert len(book.panels()) == 1
    finally:
        front_end.client.session.session, book.page = session, True


def test_mistakes_are_one_line(book: Notebook) -> None:
    """Given a person's mistake or a server's fault, then it is one line without a traceback, queued
    cells stop, and the next cell works."""
    front_end = book.front_end
    for code, said in (
        ("%%maia --quite\nhello", "--quiet"),
        ("%%maia", "The prompt is empty"),
        ("%%maia --model nobody:x\nhello", "nobody"),
        ("%%maia --model scripted:absent.yaml\nhello", "absent.yaml"),
        ("%maia_mode yolo", "yolo"),
        ("%maia_model a b", "%maia_model [PROVIDER:MODEL]"),
        ("%maia_status now", "%maia_status"),
    ):
        run = front_end.run(code)
        assert said in run.error, run.text
        assert len(run.of("error")[0]["content"]["traceback"]) == 1
    refused = {"reply": [{"delay": 0.5}, {"fault": {"status": 401, "message": "bad key"}}]}
    run = book.ask("Hello?", refused)
    queued = front_end.execute("1")
    assert run.wait().status == "error"
    assert queued.wait().status == "aborted"
    assert run.text.count("Traceback") == 0
    assert len(run.of("error")[0]["content"]["traceback"]) == 1
    assert front_end.run("print('on')").printed == "on\n"


def test_prompt_untouched(book: Notebook) -> None:
    """Given a prompt with what IPython acts on, then the model gets it as it was typed."""
    book.front_end.run("x = 'EXPANDED'")
    prompt = 'is {x} "worth" $x or `!x`, %time what?'
    script = says("Yes.", expect={"contains": prompt})
    assert "Yes." in book.ask(prompt, script).wait().displayed
    (book.folder / "line.yaml").write_text(
        "- {expect: {contains: 'what is {x}?'}, reply: Yes.}\n", encoding="utf-8"
    )
    assert "Yes." in book.front_end.run("%maia --model scripted:line.yaml what is {x}?").displayed


def test_binding_the_answer(book: Notebook) -> None:
    """Given --out, then the answer is bound to that name and there is no Out[]."""
    run = book.ask("Hello?", says("Hello."), options="--out greeting").wait()
    assert not run.of("execute_result")
    assert book.front_end.run("print(greeting)").printed == "Hello.\n"


def test_conversation_goes_on_and_begins_anew(book: Notebook) -> None:
    """Given two prompts, then the second goes with the first; after %maia_clear, %maia_new or with --new
    it does not."""

    def messages(count: int) -> dict[str, object]:
        return says("Yes.", expect={"messages": count})

    front_end = book.front_end
    assert "Yes." in book.ask("One.", messages(1)).wait().displayed
    assert "Yes." in book.ask("Two.", messages(3)).wait().displayed
    front_end.run("%maia_clear")
    assert "Yes." in book.ask("Three.", messages(1)).wait().displayed
    assert "Yes." in book.ask("Four.", messages(1), options="--new").wait().displayed
    assert "named" in front_end.run("%maia_new named").printed
    assert "Yes." in book.ask("Five.", messages(1)).wait().displayed
    assert "Session: named · 2 messages" in front_end.run("%maia_status").printed


def test_asked_from_its_own_code(book: Notebook) -> None:
    """Given a model whose Python code asks MAIA, then that is refused in one line and nothing hangs."""
    code = "get_ipython().run_line_magic('maia', 'hello')"
    run = book.ask("Go.", calls("Python", code=code), says("No.", expect={"tool_result": "busy"}))
    book.answer(choice="once")
    assert "No." in run.wait().displayed, run.text


def _begin(book: Notebook, what: str) -> Run:
    run = book.ask("Wait.", *WAITING[what])
    if what == "streaming":
        run.wait_for_text("word")
        return run
    book.question()
    if what != "asking":
        book.answer(choice="once")
        book.front_end.until(lambda: not book._questions(), 10, "the call to start")
        if what == "a stubborn child":
            book.front_end.until(lambda: bool(book.front_end.children()), 10, "a child")
    return run


def _is_old(book: Notebook) -> bool:
    return book.front_end.run("import ipykernel; print(ipykernel.__version__)").printed < "7"
