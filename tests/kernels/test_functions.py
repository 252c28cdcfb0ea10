"""`@maia.tool` in a real kernel: before and after loading, plain and async, what comes back, what is
refused, an interrupt."""

from collections.abc import Iterator

import pytest

from tests.support.kernels import kernel
from tests.support.notebook import Notebook, calls, says

BEFORE = """
import maia
@maia.tool
def early(name: str, times: int = 1) -> str:
    "Greets somebody."
    print("greeting")
    return f"Hello {name}! " * times + str(base)
base = 42
"""
AFTER = """
import asyncio, time
@maia.tool(read_only=True)
async def later(n: int) -> dict:
    "Waits a little."
    await asyncio.sleep(0.01)
    return {"n": n, "who": ["é"]}
@maia.tool
def table() -> object:
    "A table."
    import pandas
    return pandas.DataFrame({"a": [1, 2]})
@maia.tool
def picture() -> object:
    "A picture."
    from IPython.display import Image
    return Image(data=b"\\x89PNG\\r\\n\\x1a\\n", format="png")
@maia.tool
def fails() -> None:
    "Fails."
    {}["no such key"]
@maia.tool
def leaves() -> None:
    "Leaves."
    exit()
@maia.tool
def waits() -> None:
    "Waits."
    open("waiting", "w").close()
    time.sleep(60)
"""


@pytest.fixture(scope="module", params=["6.31", "7.4"])
def book(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Notebook]:
    home = tmp_path_factory.mktemp("functions")
    (home / ".maia").mkdir()
    allowed = '["early", "table", "picture", "fails", "leaves", "waits"]'
    rules = '{"permissions": {"allow": ' + allowed + "}}"
    (home / ".maia/settings.json").write_text(rules, "utf-8")
    folder = home / "work"
    folder.mkdir()
    environ = {"MAIA_MODEL": "scripted:unused.yaml"}
    with kernel(home, release=request.param, cwd=folder, environ=environ) as front_end:
        for code in (BEFORE, "%load_ext maia", AFTER):
            done = front_end.run(code)
            assert done.status == "ok", done.text
        yield Notebook(front_end, folder)


RESULTS = {
    "early": ({"name": "you", "times": 2}, ["greeting", "Hello you! Hello you! 42"], {}),
    "later": ({"n": 3}, ['{"n": 3, "who": ["é"]}'], {}),
    "table": ({}, ["a\n0  1\n1  2"], {}),
    "picture": ({}, ["1 images were shown"], {}),
    "fails": ({}, ['File "<cell>"', "KeyError: 'no such key'"], {"is_error": True}),
    "leaves": ({}, ["SystemExit", "the person's kernel goes on"], {"is_error": True}),
}


@pytest.mark.parametrize("name", RESULTS)
def test_what_comes_back(book: Notebook, name: str) -> None:
    """Given a function of the person, then the model has it as a tool and gets what it printed and
    returned: a text as it is, plain values as JSON, others as a cell shows them; or its error."""
    given, said, more = RESULTS[name]
    expect = {"tool_result": said, "is_error": False, "tools": [name], **more}
    run = book.ask("Go.", calls(name, **given), says("I see.", expect=expect)).wait()
    assert "I see." in run.displayed, run.text
    assert book.front_end.run("print(6 * 7)").printed == "42\n"


def test_a_new_definition_replaces_the_old_one(book: Notebook) -> None:
    """Given a tool that is defined again, then the new one runs; the function stays a function."""
    code = (
        'import maia\n@maia.tool(name="again")\ndef f(a: int = 1) -> int:\n    "x"\n    return {n}'
    )
    for number in (7, 8):
        assert book.front_end.run(code.format(n=number)).status == "ok"
    assert book.front_end.run("print(f())").printed == "8\n"
    expect = {"tool_result": "8", "is_error": False}
    run = book.ask("Go.", calls("again"), says("I see.", expect=expect))
    book.answer(choice="once")
    assert "I see." in run.wait().displayed, run.text


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("@maia.tool\ndef f(a): pass", "has no annotation"),
        ("@maia.tool\ndef f(*a: int): pass", "*a: int"),
        ("@maia.tool\ndef Bash(a: int): pass", "own tools"),
        ("maia.tool(3)", "for functions"),
    ],
)
def test_a_fault_is_one_line(book: Notebook, code: str, said: str) -> None:
    """Given a function that cannot be a tool, then the cell ends with one line that says why."""
    run = book.front_end.run(f"import maia\n{code}")
    assert run.status == "error"
    assert said in run.error
    assert len(run.of("error")[0]["content"]["traceback"]) == 1


def test_an_interrupt_stops_the_function(book: Notebook) -> None:
    """Given a function that runs, when the kernel is interrupted, then it and the turn end at once."""
    run = book.ask("Go.", calls("waits"))
    book.front_end.until((book.folder / "waiting").exists, 20, "the function's start")
    pressed = book.front_end.interrupt()
    assert run.wait().status == "error"
    assert run.idle_at is not None
    assert run.idle_at - pressed < 10.0
    assert book.front_end.run("print(6 * 7)").printed == "42\n"
