"""What the model is told of its own Python code, and that the person's kernel outlives it."""

import time
from collections.abc import Iterator

import pytest

from tests.support.kernels import Release
from tests.support.notebook import Notebook, calls, notebook, says


@pytest.fixture(scope="module", params=["6.31", "7.4"])
def book(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Notebook]:
    release: Release = request.param
    home = tmp_path_factory.mktemp("code")
    (home / ".maia").mkdir()
    (home / ".maia/settings.json").write_text('{"permissions": {"allow": ["Python"]}}', "utf-8")
    with notebook(home, release=release) as opened:
        yield opened


FAILING = {
    "exit()": ["SystemExit", "the person's kernel goes on"],
    "quit": ["SystemExit", "the person's kernel goes on"],
    "import sys; sys.exit('over')": ["SystemExit: over"],
    "class Odd:\n    def __repr__(self): raise ValueError('no words')\nOdd()": [
        'File "<cell>", line 2, in __repr__',
        "ValueError: no words",
    ],
    "open('s.py', 'w').write('1/0')\n%run s.py": ["ZeroDivisionError"],
    "x = = 3": ['File "<cell>", line 1', "SyntaxError"],
    "get_ipython().run_line_magic('maia', 'hello')": ["MAIA is busy"],
    "get_ipython().run_line_magic('unload_ext', 'maia')": ["cannot be unloaded now"],
}
HIDDEN = ("site-packages", "UserWarning", "ipykernel_", "magics/maia")


@pytest.mark.parametrize("code", FAILING)
def test_a_failure_is_told(book: Notebook, code: str) -> None:
    """Given code that fails, tries to end the kernel or to meddle with MAIA, then the result is an error
    that says so, without our files in it, and the kernel goes on with MAIA loaded."""
    expect = {"tool_result": FAILING[code], "is_error": True}
    run = book.ask("Go.", calls("Python", code=code), says("I see.", expect=expect)).wait()
    assert "I see." in run.displayed, run.text
    assert not [word for word in HIDDEN if word in str([m["content"] for m in run.messages])]
    assert book.front_end.run("print(6 * 7)").printed == "42\n"
    assert "Mode:" in book.front_end.run("%maia_mode").printed


WRITING = {
    "import os\nn = os.write(1, b'to one, ') + os.write(2, b'to two')": ["to one, to two"],
    "import subprocess\ndone = subprocess.run(['echo', 'a child'])": ["a child"],
    "import sys, subprocess\ndone = subprocess.run(['echo', 'given'], stdout=sys.stdout)": [
        "given"
    ],
    "import os\npid = os.fork()\nif not pid:\n    print('forked')\n    os._exit(0)\nleft = os.waitpid(pid, 0)": [
        "forked"
    ],
    "import os\nfor _ in range(60): n = os.write(1, b'y' * 100_000)": ["characters left out"],
}


@pytest.mark.parametrize("code", WRITING)
def test_what_children_write_is_told(book: Notebook, code: str) -> None:
    """Given code whose output does not go through `sys.stdout`, then it is in the result all the same,
    and the person's own cells write where they did."""
    expect = {"tool_result": WRITING[code], "is_error": False}
    run = book.ask("Go.", calls("Python", code=code), says("I see.", expect=expect)).wait()
    assert "I see." in run.displayed, run.text
    cell = book.front_end.execute("import os, time\nn = os.write(1, b'mine')\ntime.sleep(0.3)")
    assert cell.wait().printed == "mine"


def test_a_child_that_stays_does_not_hold_the_code(book: Notebook) -> None:
    """Given code that leaves a child with its output open, then the result comes at once and the child
    can go on writing."""
    code = "import subprocess\nleft = subprocess.Popen('sleep 1; echo late && touch wrote', shell=True)"
    began = time.monotonic()
    run = book.ask("Go.", calls("Python", code=code), says("Left.")).wait()
    assert time.monotonic() - began < 10
    assert "Left." in run.displayed, run.text
    book.front_end.until((book.folder / "wrote").exists, 10, "the child's end")
    assert book.front_end.run("left.wait()").status == "ok"


def test_a_model_of_one_cell(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Given no model yet, when a cell names one, then it is for that cell; and an interrupt of a fresh
    kernel's first prompt is one line, soon."""
    with notebook(tmp_path_factory.mktemp("fresh"), MAIA_MODEL="") as book:
        run = book.ask("Hello?", {"reply": [{"delay": 30}]})
        book.front_end.until(lambda: bool(run.of("execute_input")), 10, "the cell to begin")
        time.sleep(0.2)  # before that it would be the kernel's own business
        pressed = book.front_end.interrupt()
        run.wait()
        assert run.idle_at is not None
        assert run.idle_at - pressed < 3.0
        assert "TurnInterrupted: MAIA: interrupted." in run.error
        assert "Hello." in book.ask("Hello?", says("Hello.")).wait().displayed
        assert "none yet" in book.front_end.run("%maia_status").printed
        refused = book.front_end.run(
            "%%maia\nhi",
        )
        assert "No model is ready" in refused.error


def test_a_name_that_is_taken(book: Notebook) -> None:
    """Given a session's name, when another conversation asks for it, then it is refused with what to do,
    and the first one's file is as it was."""
    front_end = book.front_end
    assert "Hi." in book.ask("One.", says("Hi."), options="--session taken").wait().displayed
    file = book.folder / ".maia/.sessions/taken.jsonl"
    before = file.read_text(encoding="utf-8")
    assert "choose another name" in front_end.run("%maia_new taken").error
    front_end.run("%maia_new other")
    again = book.ask("Two.", says("Hi."), options="--session taken").wait()
    assert "choose another name" in again.error
    assert file.read_text(encoding="utf-8") == before


def test_help_and_what_is_not_there_yet(book: Notebook) -> None:
    """Given --help, then the options; given an option of a later version, then that it is not there yet;
    given a name that Python uses itself, then a refusal."""
    front_end = book.front_end
    for code in ("%%maia -h\n", "%%maia --help\n", "%maia --help"):
        assert "--max-turns N" in front_end.run(code).printed
    for option in ("--bg", "--budget 5", "--rerun"):
        assert "not available yet" in front_end.run(f"%%maia {option}\nhi").error
    assert "not 'class'" in front_end.run("%%maia --out class\nhi").error
    assert "hide Python's own print" in front_end.run("%%maia --out print\nhi").error
