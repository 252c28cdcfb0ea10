"""The question about a project's own settings: when it comes, what each answer does, and `%maia_trust`."""

import json
from pathlib import Path

from tests.support.notebook import Notebook, calls, notebook, says

SETTINGS = {
    "permissions": {"allow": ["Bash(touch made.txt)"]},
    "env": {"COLOUR": "blue\u202e<b>"},
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch hooked"}]}]},
}
TOUCH = calls("Bash", command="touch made.txt")


def bring(home: Path) -> Path:
    """A working folder whose project brings its own settings along."""
    folder = home / "work"
    (folder / ".maia").mkdir(parents=True)
    settings = folder / ".maia" / "settings.json"
    settings.write_text(json.dumps(SETTINGS), encoding="utf-8")
    return folder


def rows(question: dict) -> str:
    return "\n".join(row for _, row in question["display"]["rows"])


def rules(book: Notebook) -> str:
    return book.front_end.run("%maia_status").printed


def test_trusting_at_the_first_prompt(tmp_path: Path) -> None:
    """Given a project with settings of its own, when the first prompt is put, then the card lists all
    of them, neutralised, before the model is asked; once trusted they count, also in that turn, and
    the question does not come again."""
    folder = bring(tmp_path)
    with notebook(tmp_path) as book:
        run = book.ask("Make it.", TOUCH, says("Made."))
        _, question = book.question()
        assert question["kind"] == "trust"
        assert "touch hooked" in rows(question)
        assert "Bash(touch made.txt)" in rows(question)
        assert "COLOUR=blue⟨U+202E⟩<b>" in rows(question)
        assert not (folder / ".maia" / ".sessions").exists()
        book.answer(choice="trust")
        run.wait()
        assert "Made." in run.text
        assert (folder / "made.txt").exists()
        again = book.ask("Once more.", calls("Bash", command="echo $COLOUR"), says("Seen."))
        _, question = book.question()
        assert question["kind"] == "permission"
        book.answer(choice="once")
        assert "Seen." in again.wait().text
    with notebook(tmp_path) as book:
        assert "1 allow" in rules(book)
        assert "Made." in book.ask("Again.", TOUCH, says("Made.")).wait().text


def test_putting_it_off(tmp_path: Path) -> None:
    """Given "not now", then nothing of the project counts and this session asks no more; the next does.
    Given "never", the next does not ask either."""
    bring(tmp_path)
    with notebook(tmp_path) as book:
        run = book.ask("Make it.", TOUCH, says("No."))
        book.answer(choice="later")
        asks = lambda: book.question()[1]["kind"] == "permission"  # noqa: E731
        book.front_end.until(asks, 15, "the permission card")
        book.answer(choice="deny")
        assert "No." in run.wait().text
        assert "Hi." in book.ask("Hello.", says("Hi.")).wait().text
    with notebook(tmp_path) as book:
        run = book.ask("Make it.", says("No."))
        assert book.question()[1]["kind"] == "trust"
        book.answer(choice="never")
        assert "No." in run.wait().text
    with notebook(tmp_path) as book:
        assert "Hi." in book.ask("Hello.", says("Hi.")).wait().text
        shown = book.front_end.run("%maia_trust").printed
        assert "refused, ignored:" in shown
        granted = book.front_end.run("%maia_trust grant").printed
        assert granted == "Trusted: 3. It counts from now on; a change will ask again.\n"
        assert "1 allow" in rules(book)
        assert "hooks: Stop" in book.front_end.run("%maia_trust").printed
        assert "forgotten" in book.front_end.run("%maia_trust revoke").printed
        assert "1 allow" not in rules(book)
        assert "Usage" in book.front_end.run("%maia_trust everything").error


def test_as_text(tmp_path: Path) -> None:
    """Given a front-end without widgets, then the question comes as text and is answered by a line."""
    bring(tmp_path)
    with notebook(tmp_path, MAIA_UI="text") as book:
        book.page = False
        run = book.ask("Make it.", TOUCH, says("Made."))
        assert "choice" in book.front_end.answer("")
        assert "choice" in book.front_end.answer("y")
        said = run.wait().text
        assert "Do you trust ~/work?" in said
        assert "  │   Bash(touch made.txt)" in said
        assert "Made." in said
