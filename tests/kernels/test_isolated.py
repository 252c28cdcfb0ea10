"""Isolated Python: a copy of the real kernel that sees everything and changes nothing."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.kernels import Release
from tests.support.notebook import Notebook, calls, notebook, says


@pytest.fixture(scope="module", params=["6.31", "7.4"])
def book(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Notebook]:
    release: Release = request.param
    home = tmp_path_factory.mktemp("isolated")
    (home / ".maia").mkdir()
    (home / ".maia/settings.json").write_text('{"permissions": {"allow": ["Python"]}}', "utf-8")
    with notebook(home, release=release) as opened:
        opened.front_end.run("import os, threading, time\nnumbers = [1, 2, 3]")
        yield opened


def tell(book: Notebook, code: str, *wanted: str, failed: bool = False, **fields: object) -> None:
    """Run `code` isolated; the model is told each of `wanted`."""
    expect = {"tool_result": list(wanted), "is_error": failed}
    call = calls("Python", code=code, isolated=True, **fields)
    run = book.ask("Go.", call, says("I see.", expect=expect)).wait()
    assert "I see." in run.displayed, run.text


RUNS = {
    "numbers.append(4); print(sum(numbers)); len(numbers)": ["10", "4"],
    "import os\nn = os.write(1, b'raw ')\nprint('printed')\nos.system('echo child') and None": [
        "raw printed",
        "child",
    ],
    "import asyncio\nawait asyncio.sleep(0.01)\nprint('awaited')": ["awaited"],
    "import asyncio\nasync def f(): return 'ran'\nasyncio.run(f())": ["ran"],
    "!echo from a shell": ["from a shell"],
    "from concurrent.futures import ThreadPoolExecutor\n"
    "print(list(ThreadPoolExecutor(2).map(abs, [-1, -2])))": ["[1, 2]"],
    "from IPython.display import HTML\nHTML('<b>bold</b>')": ["IPython.core.display.HTML"],
    "import ipywidgets\nipywidgets.IntSlider()": ["IntSlider"],
    "print('y' * 100_000)": ["characters left out"],
}


@pytest.mark.parametrize("code", RUNS)
def test_it_runs_as_a_cell_does(book: Notebook, code: str) -> None:
    """Given code of any kind, what it prints and returns comes back."""
    tell(book, code, *RUNS[code])


FAILS = {
    "1 / 0": ["ZeroDivisionError", 'File "<cell>", line 1'],
    "import os\nprint('before')\nos._exit(3)": ["exit code 3", "before"],
    "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)": ["SIGSEGV"],
    "import ctypes\nctypes.string_at(0)": ["SIGSEGV"],
    "exit()": ["SystemExit"],
    "input('name? ')": ["does not support input"],
}


@pytest.mark.parametrize("code", FAILS)
def test_its_end_is_told(book: Notebook, code: str) -> None:
    """Given code that fails or takes its process down, the result says how, and the kernel goes on."""
    tell(book, code, *FAILS[code], failed=True)
    assert book.front_end.run("print(6 * 7)").printed == "42\n"


def test_nothing_of_the_kernel_changes(book: Notebook) -> None:
    """Given code that rebinds, changes and deletes, patches modules, moves and sets variables of the
    environment, the kernel has everything as before."""
    code = (
        "import os, json\nnumbers.clear(); del numbers; new = 1; json.dumps = None\n"
        "os.chdir('/'); os.environ['NEW'] = '1'\nget_ipython().ex('hidden = 1')"
    )
    tell(book, code, "(no output)")
    check = (
        "import json, os\nprint(numbers, 'new' in dir(), 'hidden' in dir(), json.dumps([1]), "
        "os.getcwd() == '/', 'NEW' in os.environ, _ if '_' in dir() else '')"
    )
    assert book.front_end.run(check).printed.split(" ", 6)[:6] == [
        "[1,", "2,", "3]", "False", "False", "[1]",
    ]  # fmt: skip


def test_it_is_killed_at_its_deadline(book: Notebook) -> None:
    """Given code that hangs, with children of its own that ignore signals and leave the group, nothing
    is left after the time limit, and the kernel goes on."""
    code = (
        "import subprocess, sys, time\n"
        "for flag in (False, True):\n"
        "    subprocess.Popen(['bash', '-c', \"trap '' TERM; sleep 987.5\"], start_new_session=flag)\n"
        "print('started', flush=True)\ntime.sleep(60)"
    )
    began = time.monotonic()
    tell(book, code, "2.5 s", "started", failed=True, timeout=2_500)
    assert time.monotonic() - began < 30
    assert not [p for p in psutil.process_iter() if "987.5" in " ".join(_line(p))]
    assert book.front_end.run("print(6 * 7)").printed == "42\n"


def test_a_lock_that_another_thread_holds(book: Notebook) -> None:
    """Given a lock held by a thread of the kernel, code that wants it is ended at its deadline."""
    book.front_end.run("lock = threading.Lock()\nheld = lock.acquire()")
    tell(book, "lock.acquire()", "1 s", failed=True, timeout=1_000)
    assert book.front_end.run("lock.release()\nprint(lock.locked())").printed == "False\n"


def _line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_the_sandbox_holds_it(tmp_path: Path) -> None:
    """Given the sandbox, isolated code asks nobody; it works in the working folder and cannot write
    elsewhere, read keys, or connect."""
    (tmp_path / ".maia").mkdir()
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/id_rsa").write_text("x")
    (tmp_path / ".maia/settings.json").write_text(json.dumps({"sandbox": {"enabled": True}}))
    outside = tmp_path.parent / "outside.txt"
    code = (
        "import os, socket\nprint(open('data/in.txt', 'w').write('x'))\n"
        f"for what in (lambda: open({str(outside)!r}, 'w'), lambda: os.listdir({str(tmp_path / '.ssh')!r}),\n"
        "             lambda: socket.create_connection(('127.0.0.1', 9), 1)):\n"
        "    try:\n        what()\n        print('REACHED')\n"
        "    except OSError as error:\n        print(type(error).__name__)"
    )
    with notebook(tmp_path) as opened:
        (opened.folder / "data").mkdir()
        expect = {"tool_result": ["1\nPermissionError\nPermissionError"], "is_error": False}
        call = calls("Python", code=code, isolated=True)
        run = opened.ask("Go.", call, says("I see.", expect=expect)).wait()
        assert "I see." in run.displayed, run.text
        told = "Ran in the sandbox: it changes files of the working folders"
        expect = {"tool_result": [told], "is_error": True}
        call = calls("Python", code=f"open({str(outside)!r}, 'w')", isolated=True)
        run = opened.ask("Go.", call, says("I see.", expect=expect)).wait()
        assert "I see." in run.displayed, run.text
    assert not outside.exists()
    assert (tmp_path / "work/data/in.txt").read_text() == "x"
