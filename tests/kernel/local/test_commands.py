import re
from pathlib import Path

import pytest

from maia_kernel.localmodel import commands
from maia_kernel.localmodel.catalogue import LocalModel
from tests.support.weights import WEIGHTS, Hub, model, sha256


class Terminal:
    """Runs `maia model ...` and keeps what it wrote."""

    def __init__(self, environ: dict[str, str], *models: LocalModel) -> None:
        self.environ = environ
        self.models = models
        self.out: list[str] = []
        self.err: list[str] = []
        self.drawn: list[str] = []

    def run(self, *argv: str, redraw: bool = False) -> int:
        self.out, self.err, self.drawn = [], [], []
        return commands.main(
            argv,
            write=self.out.append,
            err=self.err.append,
            environ=self.environ,
            models=self.models,
            redraw=self.drawn.append if redraw else None,
        )


@pytest.fixture
def terminal(environ: dict[str, str], hub: Hub) -> Terminal:
    """A terminal where two models are known, both served by the hub."""
    return Terminal(environ, model("big", hub=hub.url), model("small", hub=hub.url))


def test_get_downloads_and_says_how_to_use_it(terminal: Terminal, folder: Path) -> None:
    """Get ends with 0, the path and a command to try; a second time it says that it is here."""
    assert terminal.run("get", "small") == 0
    assert str(folder / "small.gguf") in terminal.out[0]
    assert "--model local:small" in terminal.out[-1]
    assert any("100 %" in line for line in terminal.err)

    assert terminal.run("get", "small") == 0
    assert "already here" in terminal.out[0]
    assert terminal.err == []


def test_progress_is_redrawn_in_place_on_a_terminal(terminal: Terminal) -> None:
    """With a terminal the figure changes in one line, which is ended before the next message."""
    assert terminal.run("get", "small", redraw=True) == 0

    assert terminal.drawn[0].startswith("\r")
    assert "100 %" in terminal.drawn[-2]
    assert terminal.drawn[-1] == "\n"
    assert not any("%" in line for line in terminal.err)


def test_list_shows_what_is_here_and_which_is_used(terminal: Terminal, tmp_path: Path) -> None:
    """Every known model with size, licence and state, one's own files, a star at the default."""
    own = tmp_path / "mine.gguf"
    own.write_bytes(WEIGHTS)
    terminal.run("get", "small")
    terminal.run("get", str(own))
    assert terminal.out[1] == f"sha256 {sha256(WEIGHTS)}"

    assert terminal.run("list") == 0

    big, small, mine, _folder = terminal.out[0].splitlines()
    assert re.fullmatch(r"  big +1 MB +Apache-2\.0 +not here .*", big)
    assert re.fullmatch(r"\* small +1 MB +Apache-2\.0 +downloaded .*", small)
    assert re.fullmatch(r"  mine +1 MB +- +your file .*mine\.gguf", mine)


def test_remove_frees_and_says_how_much(terminal: Terminal, folder: Path) -> None:
    """Remove deletes the file; a second time there is nothing to remove."""
    terminal.run("get", "small")

    assert terminal.run("remove", "small") == 0
    assert "freed" in terminal.out[0]
    assert not (folder / "small.gguf").exists()
    assert terminal.run("remove", "small") == 0
    assert "nothing to remove" in terminal.out[0]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["get", "huge"], "Known: big, small"),
        (["get", "./missing.gguf"], "missing.gguf cannot be read"),
        (["remove"], "needs the name of a model"),
        (["remove", "huge"], "Known: big, small"),
        (["fetch"], "no action 'fetch'"),
    ],
)
def test_a_wrong_command_is_one_line_and_ends_with_2(
    terminal: Terminal, argv: list[str], said: str
) -> None:
    """Mistakes are told in one line, without a traceback."""
    assert terminal.run(*argv) == 2
    assert len(terminal.err) == 1
    assert said in terminal.err[0]


def test_a_failed_download_ends_with_3(terminal: Terminal, hub: Hub) -> None:
    """When no source can give the file the last line says so."""
    hub.status = 503

    assert terminal.run("get", "small") == 3
    assert "could not be downloaded" in terminal.err[-1]


def test_no_command_shows_the_help(terminal: Terminal) -> None:
    """Alone, or with --help, the commands are listed."""
    assert terminal.run() == 0
    assert "remove" in terminal.out[0]
    assert terminal.run("get", "--help") == 0
