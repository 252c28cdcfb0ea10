"""Loading, unloading, starting from the kernelspec, and the end of a kernel."""

import json
import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.support.kernels import ROOT, FrontEnd, kernel
from tests.support.notebook import calls, notebook, says

SDKS = (
    "anthropic",
    "openai",
    "httpx2",
    "pydantic",
    "ipywidgets",
    "anywidget",
    "nbformat",
    "xllamacpp",
)
LOADED = f"""
%load_ext maia
import sys
print([name for name in {SDKS!r} if name in sys.modules])
"""


def test_loading_says_little_and_imports_little(tmp_path: Path) -> None:
    """Given a project with rules, when the extension is loaded, then at most three lines say what is in
    force, no SDK is imported, and unloading takes everything away."""
    (tmp_path / ".maia").mkdir()
    rules = {"permissions": {"allow": ["Read", "Grep"], "deny": ["Bash(rm:*)"]}}
    (tmp_path / ".maia" / "settings.json").write_text(json.dumps(rules), encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    with kernel(tmp_path, cwd=tmp_path, environ={"MAIA_CWD": "work"}) as front_end:
        lines = front_end.run(LOADED).printed.splitlines()
        assert lines[0].startswith("MAIA ")
        assert "%maia_model" in lines[0]
        assert lines[1] == "Working folder: ~/work"
        assert lines[2].startswith("Permissions: ~/.maia/settings.json (2 allow, 0 ask, 1 deny)")
        assert lines[3:] == ["[]"]
        assert "--max-turns N" in str(front_end.run("%%maia?").reply)
        assert "--save" in str(front_end.run("%maia_model?").reply)
        assert front_end.run("%load_ext maia").status == "ok"
        assert front_end.run("%reload_ext maia").printed.count("MAIA ") == 1
        assert front_end.run("%unload_ext maia").status == "ok"
        left = front_end.run(
            "import threading\nip = get_ipython()\n"
            "print([n for kind in ip.magics_manager.magics.values() for n in kind if 'maia' in n],\n"
            "      [t.name for t in threading.enumerate() if 'maia' in t.name],\n"
            "      [t for t in ip.input_transformers_cleanup if 'maia' in t.__module__],\n"
            "      [c for cs in ip.events.callbacks.values() for c in cs if 'maia' in c.__module__])"
        )
        assert left.printed == "[] [] [] []\n", left.text
        assert front_end.run("%load_ext maia").printed.startswith("MAIA ")


def test_loading_with_a_bad_folder(tmp_path: Path) -> None:
    """Given MAIA_CWD that names no folder, when the extension is loaded, then one line says so, and it
    can be loaded when that is put right."""
    with kernel(tmp_path, environ={"MAIA_CWD": "~no-such-user"}) as front_end:
        run = front_end.run("%load_ext maia")
        assert "MAIA_CWD names no folder: ~no-such-user" in run.error
        assert len(run.of("error")[0]["content"]["traceback"]) == 1
        front_end.run("import os; del os.environ['MAIA_CWD']")
        assert front_end.run("%load_ext maia").status == "ok"


def test_load_time(tmp_path: Path) -> None:
    """Given a kernel, when the extension is loaded, then that takes under a second (the goal is 0.1)."""
    with kernel(tmp_path) as front_end:
        timed = (
            "import time; t = time.perf_counter()\n%load_ext maia\nprint(time.perf_counter() - t)"
        )
        seconds = float(front_end.run(timed).printed.splitlines()[-1])
    assert seconds < 1.0


def test_the_kernelspec_starts(tmp_path: Path) -> None:
    """Given the kernelspec's own arguments, when a kernel starts with them, then the magics are there."""
    folder = ROOT / "jupyter-config" / "kernels" / "maia"
    spec = json.loads((folder / "kernel.json").read_text(encoding="utf-8"))
    assert spec["display_name"] == "MAIA (Python 3)"
    assert {path.name for path in folder.glob("logo-*")} == {
        "logo-32x32.png",
        "logo-64x64.png",
        "logo-svg.svg",
    }
    assert spec["argv"][:5] == ["python", "-P", "-m", "maia.launcher", "-f"]
    (tmp_path / "own_module.py").write_text("name = 'mine'\n")
    launch, extra = tuple(spec["argv"][1:4]), tuple(spec["argv"][6:])
    with kernel(tmp_path, launch=launch, extra=extra) as front_end:
        assert "%%maia PROMPT" in front_end.run("%maia_help").printed
        # The person's own code imports from the folder as in any kernel.
        assert front_end.run("import own_module; print(own_module.name)").printed == "mine\n"
        path = front_end.run("import sys; print(repr(sys.path))").printed
        assert path.count("''") == 1
        assert path.index("''") < path.index("site-packages")


def test_it_warms_up_while_idle(tmp_path: Path) -> None:
    """Given a loaded extension, when the kernel is idle for a while, then what the first prompt needs is
    imported, and not while a cell runs."""
    look = "import sys; print('maia_kernel.agent' in sys.modules, 'anthropic' in sys.modules)"
    with kernel(tmp_path, environ={"MAIA_MODEL": "anthropic:claude-sonnet-4-5"}) as front_end:
        front_end.run("%load_ext maia")
        assert front_end.run(f"import time; time.sleep(1.5)\n{look}").printed == "False False\n"

        def warm() -> bool:
            time.sleep(0.7)
            return front_end.run(look).printed == "True True\n"

        front_end.until(warm, 60, "the imports")


def test_choosing_a_model_when_there_is_none(tmp_path: Path) -> None:
    """Given no model, when something is asked where nobody can choose, then one line says how to set
    one; and %maia_model keeps the first choice as the default."""
    with notebook(tmp_path, MAIA_MODEL="") as book:
        front_end = book.front_end
        run = front_end.run("%%maia\nhello", allow_stdin=False)
        assert run.status == "error"
        assert "%maia_model" in run.error or "MAIA_MODEL" in run.error
        (book.folder / "s.yaml").write_text("- reply: Hello.\n", encoding="utf-8")
        chosen = front_end.run("%maia_model scripted:s.yaml")
        assert "Model: scripted:s.yaml" in chosen.printed
        config = json.loads((tmp_path / ".maia" / "config.json").read_text(encoding="utf-8"))
        assert config["model"] == "scripted:s.yaml"
        assert "Hello." in front_end.run("%maia hello").displayed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_killed_kernel_leaves_no_child(tmp_path: Path, number: signal.Signals) -> None:
    """Given a turn whose command runs, when the kernel is told to end, then it ends, and the command
    with it."""
    with notebook(tmp_path) as book:
        book.ask("Wait.", calls("Bash", command="touch begun; sleep 61"), says("Never."))
        book.answer(choice="once")
        front_end = book.front_end
        front_end.until(lambda: bool(front_end.children()), 10, "a child")
        children = front_end.children()
        os.kill(front_end.pid, number)
        _, alive = psutil.wait_procs(children, timeout=10)
        assert not alive
        assert _gone(front_end)


def test_shutdown_during_a_turn(tmp_path: Path) -> None:
    """Given a turn whose command runs, when the kernel is shut down, then nothing is left, and the
    session's file says what happened."""
    with notebook(tmp_path) as book:
        book.ask("Wait.", calls("Bash", command="touch begun; sleep 61"), says("Never."))
        book.answer(choice="once")
        front_end = book.front_end
        front_end.until(lambda: bool(front_end.children()), 10, "a child")
        children = front_end.children()
        told = time.monotonic()
        front_end.manager.shutdown_kernel(now=False)
        assert time.monotonic() - told < 4.5  # after 5 s Jupyter kills it
        _, alive = psutil.wait_procs(children, timeout=5)
        assert not alive
        session = next((book.folder / ".maia" / ".sessions").glob("*.jsonl"))
        assert "interrupted" in session.read_text(encoding="utf-8")


def _gone(front_end: FrontEnd) -> bool:
    end = time.monotonic() + 10
    while front_end.manager.is_alive():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
