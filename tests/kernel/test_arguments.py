"""Command lines: help and faults are texts of ours, in the person's language."""

from collections.abc import Iterator

import pytest

from maia_kernel.arguments import Arguments, Told
from maia_kernel.errors import UsageError
from maia_kernel.texts import language


@pytest.fixture
def parser() -> Iterator[Arguments]:
    token = language.set("fr")
    made = Arguments("prog", description="Voici.")
    made.options.add_argument("--bare", action="store_true")
    made.options.add_argument("--mode")
    made.options.add_argument("--model")
    made.add_argument("file")
    made.tell("--version", answer="prog 1", help="la version")
    yield made
    language.reset(token)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["f", "--mode"], "prog --mode : il manque une valeur (voir prog --help)"),
        (["f", "--bare=1"], "prog --bare : cette option ne prend pas de valeur, et a reçu '1'"),
        (["f", "--mo", "x"], "prog : --mo peut désigner : --mode, --model (voir"),
        (["f", "g", "--odd"], "prog : g --odd est inconnu (voir"),
        ([], "prog : il manque file (voir"),
    ],
)
def test_a_wrong_command_line_is_one_line_in_the_language(
    parser: Arguments, argv: list[str], says: str
) -> None:
    """Every kind of mistake is a `UsageError` that says where the help is."""
    with pytest.raises(UsageError) as caught:
        parser.read(argv)
    assert str(caught.value).startswith(says)


def test_what_is_asked_for_is_told_and_not_printed(
    parser: Arguments, capsys: pytest.CaptureFixture[str]
) -> None:
    """Help and version are raised, whatever else stands there; nothing is written."""
    with pytest.raises(Told, match=r"usage : prog [\s\S]*afficher cette aide"):
        parser.read(["--help"])
    with pytest.raises(Told, match="prog 1"):
        parser.read(["--version"])
    assert capsys.readouterr() == ("", "")


def test_a_right_command_line_is_read(parser: Arguments) -> None:
    """Options and operands come back by name."""
    options = parser.read(["f", "--mode", "m", "--bare"])
    assert (options.file, options.mode, options.model, options.bare) == ("f", "m", None, True)
