"""`maia -p`, run as a program: output on stdout, the rest on stderr, exit codes, signals, a terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.support.server import ModelServer

SCRIPT = """
- expect: {contains: go}
  reply:
    - "I will write it."
    - tool_use: {name: Write, input: {file_path: made.txt, content: "made\\n"}}
- reply: ["All done."]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "script.yaml").write_text(SCRIPT)
    return tmp_path


def maia(
    folder: Path, *arguments: str, stdin: str = "", **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "maia_kernel", *arguments],
        cwd=folder,
        input=stdin,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_answer_is_on_stdout_and_denials_are_explained_on_stderr(folder: Path) -> None:
    """Given no terminal, what would ask is denied with the rule that would allow it."""
    run = maia(folder, "-p", "go", "--model", "scripted:script.yaml")
    assert run.returncode == 0, run.stderr
    assert run.stdout == "I will write it.\n\nAll done.\n"
    assert "Edit(./made.txt)" in run.stderr
    assert not (folder / "made.txt").exists()


def test_an_allowed_tool_runs_without_asking(folder: Path) -> None:
    """Given --allowed-tools, the write happens."""
    run = maia(
        folder, "-p", "go", "--model", "scripted:script.yaml", "--allowed-tools", "Edit(made.txt)"
    )
    assert run.returncode == 0, run.stderr
    assert (folder / "made.txt").read_text() == "made\n"


def test_json_is_the_last_event_alone(folder: Path) -> None:
    """Given --output-format json, stdout is one object with the answer and the usage."""
    run = maia(folder, "-p", "go", "--model", "scripted:script.yaml", "--output-format", "json")
    result = json.loads(run.stdout)
    assert (result["type"], result["reason"], result["text"]) == (
        "turn_finished",
        "done",
        "All done.",
    )


def test_stream_json_is_one_event_a_line(folder: Path) -> None:
    """Given stream-json, every line is an event and the last one ends the turn."""
    run = maia(
        folder, "-p", "go", "--model", "scripted:script.yaml", "--output-format", "stream-json"
    )
    kinds = [json.loads(line)["type"] for line in run.stdout.splitlines()]
    assert kinds[0] == "turn_started"
    assert kinds[-1] == "turn_finished"
    assert "permission_requested" in kinds


def test_a_prompt_may_come_from_stdin(folder: Path) -> None:
    """Given a pipe, its text is the prompt, or stands below the one of -p."""
    run = maia(folder, "--model", "scripted:script.yaml", stdin="please go on")
    assert run.returncode == 0, run.stderr
    assert "All done." in run.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["-p", "go"], 3, "ANTHROPIC_API_KEY"),
        (["-p", "go", "--model", "nonsense:x"], 2, "nonsense"),
        (["-p", "go", "--model", "scripted:none.yaml"], 3, "none.yaml"),
        (["-p", "go", "--model", "scripted:script.yaml", "--mode", "wild"], 2, "acceptEdits"),
        (["--model", "scripted:script.yaml"], 2, "maia -p"),
        (["-p", "go", "--budget", "lots"], 2, "500k"),
        (["-p", "go", "--budget", "infk"], 2, "500k"),
        (["-p", "go", "--max-turns", "0"], 2, "above 0"),
    ],
)
def test_a_mistake_is_one_line_with_what_to_do(
    folder: Path, arguments: list[str], code: int, says: str
) -> None:
    """Given a user's mistake, the exit code tells its kind and no traceback is shown."""
    run = maia(folder, *arguments)
    assert run.returncode == code, run.stderr
    assert says in run.stderr
    assert "Traceback" not in run.stderr


def test_a_limit_is_exit_code_4(folder: Path) -> None:
    """Given max turns, the program says so with its own code."""
    run = maia(folder, "-p", "go", "--model", "scripted:script.yaml", "--max-turns", "1")
    assert run.returncode == 4, run.stderr


QUESTIONS = """
- reply:
    - tool_use:
        name: AskUserQuestion
        input:
          questions:
            - {question: 'Which store?', header: Store, options: [{label: SQLite}, {label: Postgres}]}
- expect: {tool_result: '"Which store?" = "Postgres"'}
  reply: [{tool_use: {name: Bash, input: {command: "touch made.txt"}}}]
- reply: ["All done."]
"""


@pytest.fixture
def terminal(folder: Path) -> "pexpect.spawn[str]":
    """The program on a terminal, with the script of `folder`."""
    return at_terminal(folder)


def at_terminal(folder: Path) -> "pexpect.spawn[str]":
    return pexpect.spawn(
        sys.executable,
        ["-m", "maia_kernel", "-p", "go", "--model", "scripted:script.yaml"],
        cwd=str(folder),
        encoding="utf-8",
        timeout=20,
    )


def test_a_terminal_is_asked_in_text(folder: Path, terminal: "pexpect.spawn[str]") -> None:
    """Given a terminal, the question shows the diff; Enter alone is no answer; `o` allows."""
    terminal.expect("made.txt")
    terminal.expect("Your choice")
    terminal.sendline("")
    terminal.expect("Your choice")
    terminal.sendline("o")
    terminal.expect("All done")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert (folder / "made.txt").exists()


def test_a_form_and_a_rule_are_typed(folder: Path) -> None:
    """Given a form and then a command, a number answers the one; for the other a rule that would not
    cover it is refused with a line, and the next one is written to the file that is named."""
    (folder / "script.yaml").write_text(QUESTIONS)
    terminal = at_terminal(folder)
    terminal.expect("Which store")
    terminal.expect("Number, or your own words")
    terminal.sendline("2")
    terminal.expect("Your choice")
    terminal.sendline("a: Bash(ls:*)")
    terminal.expect("would not allow this call")
    terminal.expect("Your choice")
    terminal.sendline("a project: Bash(touch:*)")
    terminal.expect("All done")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    written = json.loads((folder / ".maia" / "settings.json").read_text())
    assert written["permissions"]["allow"] == ["Bash(touch:*)"]
    assert (folder / "made.txt").exists()


def test_ctrl_c_at_the_question_ends_the_program(
    folder: Path, terminal: "pexpect.spawn[str]"
) -> None:
    """Given a question on a terminal, Ctrl-C ends at once with code 130 and nothing written."""
    terminal.expect("Your choice")
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 130
    assert not (folder / "made.txt").exists()


def test_escape_at_the_question_denies(folder: Path, terminal: "pexpect.spawn[str]") -> None:
    """Given a question on a terminal, Escape and Enter deny it; the turn goes on."""
    terminal.expect("Your choice")
    terminal.sendline("\x1b")
    terminal.expect("All done")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert not (folder / "made.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--help"], "usage : maia"),
        (["-p", "go", "--model"], "il manque une valeur"),
        (["-p", "go", "--output-format", "xml"], "n'est pas un format"),
        (["model"], "Télécharger"),
        (["model", "fetch"], "pas d'action"),
    ],
)
def test_the_command_line_speaks_the_persons_language(
    folder: Path, arguments: list[str], says: str
) -> None:
    """Given French by variable, help and mistakes are French."""
    run = maia(folder, *arguments, MAIA_LANGUAGE="fr")
    said = run.stdout + run.stderr
    assert says in said
    for english in ("usage: ", "error:", "expected", "invalid", "show this"):
        assert english not in said


def test_a_language_of_the_settings_counts_before_the_command_line(
    folder: Path, home: Path
) -> None:
    """Given French in the person's settings, a mistake in the command line is told in French."""
    (home / ".maia").mkdir()
    (home / ".maia" / "config.json").write_text('{"language": "fr"}')
    run = maia(folder, "--nonsense", LANG="C.UTF-8")
    assert (run.returncode, run.stderr) == (
        2,
        "maia : --nonsense est inconnu (voir maia --help)\n",
    )


def test_retries_are_told_once_in_full(folder: Path) -> None:
    """Given a server that stays overloaded, its long reason is one line and the others are short."""
    with ModelServer() as server:
        for _ in range(3):
            server.error(529, "much too busy", headers={"retry-after": "0"})
        run = maia(
            folder,
            *("-p", "go", "--model", "anthropic:claude-sonnet-5"),
            MAIA_RETRY_MAX="2",
            ANTHROPIC_API_KEY="sk-ant-example",
            ANTHROPIC_BASE_URL=server.url,
        )
    assert run.returncode == 3, run.stderr
    lines = run.stderr.splitlines()
    assert sum("trying again in" in line for line in lines) == 1
    assert sum(line.startswith("  again in") for line in lines) == 1
