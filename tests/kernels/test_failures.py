"""What a person reads when a prompt cannot be answered: the reason and what to do, once."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.kernels import Run, environment
from tests.support.notebook import Notebook, calls, notebook, says

MODES = {"page": ("auto", "en"), "text": ("text", "en"), "french": ("text", "fr")}
"""What the settings say of the front-end and the language."""


@pytest.fixture(scope="module", params=MODES)
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def book(style: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    ui, language = MODES[style]
    home = tmp_path_factory.mktemp(style)
    with notebook(home, MAIA_UI=ui, MAIA_LANGUAGE=language) as opened:
        yield opened


def seen(run: Run) -> str:
    """What is on the screen: streams, displays and the traceback, not the error's hidden fields."""
    tracebacks = [line for m in run.of("error") for line in m["content"]["traceback"]]
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join((run.printed, *run.displayed, *tracebacks)))


REASONS = {
    "no key": ("--model openai:gpt-x", "OPENAI_API_KEY"),
    "not downloaded": ("--model local:smollm2", "maia model get smollm2"),
    "no such file": ("--model scripted:absent.yaml", "absent.yaml cannot be read"),
    "refused": ("--model scripted:refused.yaml", "bad key"),
}
IN_FRENCH = {
    "no key": "demande une clé et n'en a pas",
    "not downloaded": "n'est pas téléchargé",
    "no such file": "absent.yaml",
    "refused": "bad key",
}


@pytest.mark.parametrize("what", REASONS)
def test_the_reason_is_shown_once(book: Notebook, style: str, what: str) -> None:
    """Given a model that cannot answer, when a cell asks it, then the cell shows why and what to do,
    exactly once."""
    refused = [{"reply": [{"fault": {"status": 401, "message": "bad key"}}]}]
    (book.folder / "refused.yaml").write_text(yaml.safe_dump(refused), encoding="utf-8")
    options, reason = REASONS[what]
    run = book.front_end.run(f"%%maia {options}\nhi")
    assert run.status == "error"
    wanted = IN_FRENCH[what] if style == "french" else reason
    assert seen(run).count(wanted) == 1, seen(run)
    assert "Traceback" not in seen(run)
    assert len(run.of("error")[0]["content"]["traceback"]) == 1


def test_a_denial_is_said_once(book: Notebook, style: str) -> None:
    """Given nobody to ask, then text says once, in the person's language, that the call was denied and
    which rule would allow it; the model is told in English."""
    run = book.ask(
        "Make it.",
        calls("Bash", command="touch denied.txt"),
        says("No.", expect={"tool_result": "nobody can be asked here. The user can allow it"}),
        allow_stdin=False,
    ).wait()
    assert run.status == "ok", run.text
    wanted = "personne ne peut répondre" if style == "french" else "nobody can be asked"
    assert seen(run).count(wanted) == 1, seen(run)
    assert seen(run).count("Bash(touch") == 1
    if style == "french":
        assert "denied" not in seen(run).replace("denied.txt", "")


def test_stopped_code_keeps_what_it_printed(book: Notebook, style: str) -> None:
    """Given code of the model that prints and goes on, when it is interrupted, then what it printed
    is still in the cell, and in the session's file."""
    code = "import time\nprint('half', 'way')\nopen('begun', 'w').close()\ntime.sleep(60)"
    run = book.ask("Go.", calls("Python", code=code), says("Done."))
    if style == "page":
        book.answer(choice="once")
    else:
        book.front_end.answer("o")
    begun = book.folder / "begun"
    book.front_end.until(begun.exists, 15, "the code to run")
    begun.unlink()
    book.front_end.interrupt()
    run.wait()
    updates = [m["content"]["data"].get("text/html", "") for m in run.of("update_display_data")]
    last = [html for html in updates if "import time" in html][-1:]
    assert "half way" in (run.printed if style != "page" else "".join(last))
    if style == "page":
        assert "stopped" in last[0]
    file = max((book.folder / ".maia/.sessions").glob("*.jsonl"), key=lambda f: f.stat().st_mtime)
    assert "It had printed: half way" in file.read_text(encoding="utf-8")


def test_the_doctor_names_what_is_wrong(book: Notebook, style: str) -> None:
    """Given a model without its key, then the doctor calls it a problem and says what to set; with one
    that is not downloaded, how to get it; with a good one, neither. It speaks one language."""
    problem = "PROBLÈME" if style == "french" else "PROBLEM"
    (book.folder / "good.yaml").write_text("- reply: [Hello]", encoding="utf-8")
    for model, fix in (
        ("openai:gpt-x", "OPENAI_API_KEY"),
        ("local:smollm2", "maia model get smollm2"),
        ("scripted:good.yaml", ""),
    ):
        book.front_end.run(f"%maia_model {model}")
        report = book.front_end.run("%maia_doctor").printed
        line = next(line for line in report.splitlines() if model in line)
        assert line.startswith(problem) == bool(fix), line
        assert fix in line
    if style == "french":
        assert not [word for word in ("kernel :", "PROBLEM", ": none", "not set") if word in report]


def test_in_a_plain_ipython(tmp_path: Path) -> None:
    """Given IPython without a kernel, when a prompt fails, then the reason is on the screen once."""
    script = tmp_path / "s.ipy"
    script.write_text("%load_ext maia\n%maia --model openai:gpt-x hi\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", str(script)],
        cwd=tmp_path,
        env=environment(tmp_path, TERM="dumb"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout + done.stderr).count("OPENAI_API_KEY") == 1
