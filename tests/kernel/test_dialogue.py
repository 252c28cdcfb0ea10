"""Questions as text: everything is shown, only an explicit answer counts, a rule can be edited."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from maia_kernel.dialogue import ask_typed
from maia_kernel.dialogue.permission import read_permission
from maia_kernel.dialogue.picker import read_choice
from maia_kernel.display import TextDisplay
from maia_kernel.questions import (
    Answer,
    ChoiceAnswer,
    ChoiceOption,
    ChoiceQuestion,
    FormAnswer,
    FormField,
    FormOption,
    FormQuestion,
    PermissionAnswer,
    PermissionQuestion,
    PlanAnswer,
    PlanQuestion,
    Question,
    RefusedRules,
    RuleFile,
    RuleOffer,
)

FILES = (
    RuleFile("local", ".maia/settings.local.json"),
    RuleFile("project", ".maia/settings.json"),
    RuleFile("user", "~/.maia/settings.json"),
)
COMMAND = PermissionQuestion(
    id="1",
    tool="Bash",
    summary="git push origin main",
    displays=(TextDisplay("git push origin main", "bash"),),
    reason="no rule allows it",
    touches=("network",),
    offer=RuleOffer(("Bash(git push:*)",), FILES),
)
COMPOUND = replace(COMMAND, offer=RuleOffer(("Bash(git push:*)", "Bash(npm test:*)"), FILES))
UNCOVERED = PermissionQuestion(
    id="2", tool="Bash", summary="rm -rf build", displays=(), reason="it removes files"
)
MODELS = ChoiceQuestion(
    id="3",
    title="Which model?",
    options=(
        ChoiceOption("anthropic:big", "big", "200k", "anthropic"),
        ChoiceOption("anthropic:small", "small", "", "anthropic"),
        ChoiceOption("local:small-coder", "small-coder", "", "local"),
    ),
)
FORM = FormQuestion(
    "4",
    (
        FormField(
            "Which store?",
            "Store",
            (FormOption("SQLite", "one file", "create table x\nhere"), FormOption("Postgres")),
        ),
        FormField("Which days?", "Days", (FormOption("Mon"), FormOption("Tue")), multiple=True),
    ),
)
PLAN = PlanQuestion("5", "# Do it\n\n1. First")


async def typing(question: Question, lines: Sequence[str]) -> tuple[Answer, str]:
    """The answer of a person who types `lines` and then leaves, and all that was written."""
    shown: list[str] = []
    left = list(lines)

    async def read(prompt: str) -> str:
        shown.append(f"{prompt}\n")
        if not left:
            raise EOFError
        return left.pop(0)

    answer = await ask_typed(question, read=read, write=shown.append, cwd=Path("/proj"))
    assert not left, "every line was asked for"
    return answer, "".join(shown)


async def test_the_question_shows_everything_the_person_needs() -> None:
    """The whole command, what it touches, why, and each choice with its letter and its rule."""
    _, asked = await typing(COMMAND, ["n"])
    for needed in ("git push origin main", "network", "no rule allows it", "Bash(git push:*)"):
        assert needed in asked
    assert ".maia/settings.local.json" in asked
    assert asked.endswith("Your choice: \n")
    rows = [row for row in asked.splitlines() if row.startswith("  ") and row[2:3].isalpha()]
    assert [row.split()[0] for row in rows] == ["o", "s", "a", "e", "n"]
    assert "for this session" not in (await typing(UNCOVERED, ["n"]))[1]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("o", PermissionAnswer("once")),
        (" Y ", PermissionAnswer("once")),
        ("s", PermissionAnswer("session")),
        ("a", PermissionAnswer("always")),
        ("a user", PermissionAnswer("always", place="user")),
        ("a 2", PermissionAnswer("always", place="project")),
        ("a: Bash(git:*)", PermissionAnswer("always", rules=("Bash(git:*)",))),
        ("a p: Bash(git:*)", PermissionAnswer("always", rules=("Bash(git:*)",), place="project")),
        ("n", PermissionAnswer("deny")),
        ("d", PermissionAnswer("deny")),
        ("n: use a branch: dev", PermissionAnswer("deny", message="use a branch: dev")),
        ("", None),
        ("   ", None),
        ("a:", None),
        ("a nowhere", None),
        ("a 4", None),
        ("a user now", None),
        ("o: please", None),
        ("maybe", None),
        ("o o", None),
    ],
)
def test_only_an_explicit_answer_counts(typed: str, answer: PermissionAnswer | None) -> None:
    """Letters answer, a reason goes with a denial, an empty or unclear line asks again."""
    assert read_permission(typed, COMMAND) == answer


def test_what_no_rule_can_cover_is_allowed_once_or_denied() -> None:
    """Without an offer neither "session" nor "always" is an answer."""
    assert read_permission("s", UNCOVERED) is None
    assert read_permission("a: Bash", UNCOVERED) is None
    assert read_permission("o", UNCOVERED) == PermissionAnswer("once")


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["e", "", "", ""], PermissionAnswer("always", rules=COMPOUND.offer.rules)),
        (
            ["e", "Bash(git:*)", "-", "x", "3"],
            PermissionAnswer("always", rules=("Bash(git:*)",), place="user"),
        ),
        (["e", "\x1b", "o"], PermissionAnswer("once")),
        (["e", "", "", "\x1b", "n"], PermissionAnswer("deny")),
        (["e", "-", "-", "", "n"], PermissionAnswer("deny")),
    ],
)
async def test_each_rule_can_be_edited(lines: list[str], answer: PermissionAnswer) -> None:
    """`e` goes through the rules and the files; Escape goes back to the question."""
    assert (await typing(COMPOUND, lines))[0] == answer


async def test_a_refused_rule_is_explained_and_edited_on() -> None:
    """Given rules that were no good, the fault and the choices are shown, not the card once more, and
    `e` begins with what was typed."""
    refused = RefusedRules(("Bash(git push",), "user", "The rule has no closing bracket.")
    answer, asked = await typing(replace(COMMAND, refused=refused), ["e", "", ""])
    assert asked.startswith("The rule has no closing bracket.\n  o  allow once\n")
    assert "1  Bash(git push\n" in asked
    assert answer == PermissionAnswer("always", rules=("Bash(git push",))


async def test_a_long_command_is_folded_until_the_person_wants_all_of_it() -> None:
    """Of 10,000 lines the first are shown with the count of the rest; `v` shows every one."""
    rows = "\n".join(f"echo {number}" for number in range(10_000))
    question = replace(COMMAND, displays=(TextDisplay(rows, "bash"),))
    _, folded = await typing(question, ["n"])
    assert "echo 39\n" in folded
    assert "echo 40\n" not in folded
    assert "9960 more lines; v shows them all" in folded
    _, whole = await typing(question, ["v", "n"])
    assert all(f"│ echo {number}\n" in whole for number in (0, 40, 5_000, 9_999))


@pytest.mark.parametrize(
    ("typed", "value"),
    [("1", "anthropic:big"), ("small", "anthropic:small"), ("coder", "local:small-coder")],
)
def test_an_option_is_picked_by_number_name_or_part(typed: str, value: str) -> None:
    """A number, a whole name, or a part that only one option has picks that option."""
    assert read_choice(typed, MODELS) == ChoiceAnswer(value)


async def test_a_picker_can_be_left_and_asks_again_when_unclear() -> None:
    """`q` leaves; an empty line, a number outside, or a part that several have asks again."""
    answer, asked = await typing(MODELS, ["", "9", "0", "l", "q"])
    assert answer == ChoiceAnswer(None)
    assert asked.index("anthropic\n") < asked.index("big") < asked.index("local\n")


@pytest.mark.parametrize("typed", ["\x1b", "\x1b\x1b", " \x1b "])
async def test_escape_denies_and_leaves(typed: str) -> None:
    """Escape and Enter are a no to every question; an arrow key is no answer."""
    assert read_permission(typed, COMMAND) == PermissionAnswer("deny")
    assert read_choice(typed, MODELS) == ChoiceAnswer(None)
    assert (await typing(FORM, [typed]))[0] == FormAnswer()
    assert (await typing(PLAN, [typed]))[0] == PlanAnswer("reject")
    assert read_permission("\x1b[A", COMMAND) is None
    assert read_choice("\x1b[A", MODELS) is None


@pytest.mark.parametrize("question", [COMMAND, MODELS, FORM, PLAN])
async def test_the_end_of_input_is_nobody(question: Question) -> None:
    """Given a terminal that closes, nobody has answered."""
    answer, _ = await typing(question, [])
    assert answer.by == "nobody"


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["2", "1,2"], FormAnswer((("Postgres",), ("Mon", "Tue")))),
        (["", "3", "1 2", "DuckDB", "2 2"], FormAnswer((("DuckDB",), ("Tue",)))),
        (["1", "q: later"], FormAnswer(message="later")),
    ],
)
async def test_a_form_takes_numbers_or_words(lines: list[str], answer: FormAnswer) -> None:
    """Numbers name options, several where several may be chosen, other words are free text."""
    given, asked = await typing(FORM, lines)
    assert given == answer
    assert "Store (1/2)\n  │ Which store?\n  1  SQLite  one file\n" in asked
    assert "│ create table x\n  │ here\n" in asked


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["", "y"], PlanAnswer("approve", PLAN.plan)),
        (["a"], PlanAnswer("approve_edits", PLAN.plan)),
        (["n: smaller"], PlanAnswer("reject", message="smaller")),
        (["e", "Only", "this", ".", "y"], PlanAnswer("approve", "Only\nthis")),
        (["e", ".", "y"], PlanAnswer("approve", PLAN.plan)),
    ],
)
async def test_a_plan_is_approved_edited_or_rejected(lines: list[str], answer: PlanAnswer) -> None:
    """The plan is shown behind a gutter; an edited one is shown again before it is approved."""
    given, asked = await typing(PLAN, lines)
    assert given == answer
    assert "  │ # Do it\n" in asked
    assert ("  │ Only\n" in asked) is ("Only" in lines)
