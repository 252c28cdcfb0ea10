"""`maia -p` in a pipeline: closed, full and unread streams, odd bytes, folders that are not there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ASKS = """
- reply: [{tool_use: {name: Write, input: {file_path: made.txt, content: x}}}]
- reply: ["All done."]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "short.yaml").write_text('- reply: ["All done."]\n')
    (tmp_path / "asks.yaml").write_text(ASKS)
    words = ", ".join(f'"word{number} "' for number in range(1, 300))
    # A pause in which a reader can go away.
    (tmp_path / "long.yaml").write_text(f'- reply: ["word0 ", {{delay: 1}}, {words}]\n')
    return tmp_path


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """`command` in bash, where `maia` is the program and `-p go` with a script is `go SCRIPT`."""
    program = f'maia() {{ "{sys.executable}" -m maia_kernel "$@"; }}\n'
    program += 'go() { maia -p go --model "scripted:$PWD/$1.yaml" "${@:2}"; }\n'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", program + command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code", "out", "err"),
    [
        ("go short 2>/dev/null | cat", 0, "All done.\n", ""),
        ("go none 2>/dev/null | cat", 3, "", ""),
        ("go long | true", 141, "", ""),
        ("maia --help | true", 141, "", ""),
        ("go short >&-", 1, "", "cannot be written to the standard output: it is closed"),
        ("maia --version >&-", 1, "", "it is closed"),
        ("go short >/dev/full", 1, "", "No space left on device"),
        ("go short --output-format json >/dev/full", 1, "", "No space left on device"),
        ("maia --help >/dev/full", 1, "", "No space left on device"),
        ("maia model list >/dev/full", 1, "", "No space left on device"),
        ("go asks 2>&-", 0, "All done.\n", ""),
        ("maia --model scripted:short.yaml <&-", 2, "", "There is no prompt"),
        ("go short --add-dir '~no-such-user/x'", 2, "", "--add-dir names no folder"),
        ("MAIA_CWD=$PWD/nosuch go short", 2, "", "MAIA_CWD names no folder"),
        ("MAIA_CWD='~no-such-user' go short", 2, "", "MAIA_CWD names no folder"),
        ("mkdir gone; cd gone; rmdir ../gone; maia -p go", 2, "", "does not exist any more"),
        ("maia -p go --model 'scripted:~no-such-user/x'", 3, "", "no-such-user/x cannot be read"),
        ("MAIA_MODEL_DIR='~no-such-user/x' maia model list", 3, "", "a home folder that nobody"),
        ("maia model get '~no-such-user/x.gguf'", 2, "", "a home folder that nobody"),
    ],
)
def test_every_edge_is_at_most_one_line(
    folder: Path, command: str, code: int, out: str, err: str
) -> None:
    """Given an odd stream or folder, the exit code is right, stdout holds the answer or nothing, and
    stderr one line or nothing."""
    run = shell(folder, command)
    assert (run.returncode, run.stdout) == (code, out), run.stderr
    assert err in run.stderr
    assert run.stderr.count("\n") == (1 if err else 0)
    assert not (folder / "nosuch").exists()


def test_nobody_reads_and_the_turn_is_closed(folder: Path) -> None:
    """Given a reader that goes away, the turn is stopped and the journal says so."""
    run = shell(folder, "go long | head -c 5")
    assert (run.returncode, run.stdout, run.stderr) == (141, "word0", "")
    (journal,) = (folder / ".maia" / ".sessions").glob("*.jsonl")
    last = json.loads(journal.read_text().splitlines()[-1])
    assert (last["type"], last["reason"]) == ("turn_finished", "interrupted")


@pytest.mark.parametrize("given", ["go asks <&-", "go asks"])
def test_a_question_without_stdin_is_denied(folder: Path, given: str) -> None:
    """Given a closed or empty stdin, what would ask is denied and the turn goes on."""
    run = shell(folder, given)
    assert (run.returncode, run.stdout) == (0, "All done.\n")
    assert run.stderr.count("nobody can be asked") == 1
    assert "Traceback" not in run.stderr


def test_a_folder_that_is_not_there_is_warned_of(folder: Path) -> None:
    """Given --add-dir of a missing folder, a line says so and the turn runs."""
    run = shell(folder, "go short --add-dir nosuch")
    assert (run.returncode, run.stdout) == (0, "All done.\n")
    assert "--add-dir: nosuch is no folder" in run.stderr.replace(f"{folder}/", "")


def test_bytes_that_are_no_utf8_are_sent_as_replacements(folder: Path) -> None:
    """Given odd bytes in argv and in stdin, the model gets U+FFFD in their place."""
    expect = '- expect: {contains: "caf\ufffd"}\n  reply: ["All done."]\n'
    (folder / "odd.yaml").write_text(expect, encoding="utf-8")
    for command in (
        r"maia -p $'caf\xe9' --model scripted:odd.yaml",
        r"printf 'caf\xe9' | maia --model scripted:odd.yaml",
    ):
        run = shell(folder, command)
        assert (run.returncode, run.stdout) == (0, "All done.\n"), run.stderr


def test_json_is_utf8_in_any_locale(folder: Path) -> None:
    """Given a Latin-1 stdout, JSON is UTF-8 all the same."""
    (folder / "smile.yaml").write_text('- reply: ["😀"]\n', encoding="utf-8")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "maia_kernel", "-p", "go", "--model", "scripted:smile.yaml"),
            *("--output-format", "json"),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert json.loads(run.stdout.decode("utf-8"))["text"] == "😀"
