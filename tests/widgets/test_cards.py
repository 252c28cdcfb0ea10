"""Forms and plans on the panel: what the page is given, and what counts as an answer."""

from pathlib import Path
from typing import Any

import pytest

from maia_kernel.display import DiffDisplay, TextDisplay
from maia_kernel.questions import (
    FormAnswer,
    FormField,
    FormOption,
    FormQuestion,
    PermissionQuestion,
    PlanAnswer,
    PlanQuestion,
)
from maia_widgets.cards import card_answer, card_rows, card_view
from maia_widgets.final import decided, final_bundle
from maia_widgets.plan import markdown_tree

CWD = Path("/proj")
FORM = FormQuestion(
    "f",
    (
        FormField(
            "Which?", "Store", (FormOption("SQLite", preview="a\nb"), FormOption("Postgres"))
        ),
        FormField("When?", "Days", (FormOption("Mon"), FormOption("Tue")), multiple=True),
    ),
)
PLAN = PlanQuestion("p", "1. Do\u200b it")


def one(*picked: int, other: str = "") -> dict[str, Any]:
    return {"picked": [*picked], "other": other}


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ({"fields": [one(1), one(0, 1)]}, FormAnswer((("Postgres",), ("Mon", "Tue")))),
        (
            {"fields": [one(other=" DuckDB "), one(1, other="Sun")]},
            FormAnswer((("DuckDB",), ("Tue", "Sun"))),
        ),
        ({"declined": True, "message": "later"}, FormAnswer(message="later")),
        ({"declined": True}, FormAnswer()),
        ({"fields": [one(0), one()]}, None),
        ({"fields": [one(0, 1), one(0)]}, None),
        ({"fields": [one(0, other="both"), one(0)]}, None),
        ({"fields": [one(7), one(0)]}, None),
        ({"fields": [one(-1), one(0)]}, None),
        ({"fields": [one(0)]}, None),
        ({"fields": "x"}, None),
        ({"fields": [None, {"picked": "0"}]}, None),
        ({"id": "other", "fields": [one(1), one(0)]}, None),
        ({}, None),
    ],
)
def test_a_form_needs_an_answer_to_each_question(
    sent: dict[str, Any], answer: FormAnswer | None
) -> None:
    """Places in the lists and words count; one of them where one is asked; anything else is none."""
    assert card_answer({"id": "f", **sent}, FORM) == answer


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ({"choice": "approve"}, PlanAnswer("approve", PLAN.plan)),
        ({"choice": "approve_edits", "plan": " 1. Less "}, PlanAnswer("approve_edits", "1. Less")),
        ({"choice": "reject", "message": "no"}, PlanAnswer("reject", message="no")),
        ({"choice": "always"}, None),
        ({"id": "other", "choice": "approve"}, None),
    ],
)
def test_a_plan_that_was_not_edited_is_approved_as_it_is(
    sent: dict[str, Any], answer: PlanAnswer | None
) -> None:
    """What is shown of a plan is neutralised; what goes back is the plan, or the text as edited."""
    assert card_answer({"id": "p", **sent}, PLAN) == answer
    assert card_view(PLAN, CWD)["source"] == "1. Do⟨U+200B⟩ it"


def test_a_plan_reads_as_markdown() -> None:
    """Headings, lists, emphasis, code and tables are tags; links and pictures are words."""
    plan = "# A *b*\n\n- x\n- y `z`\n\n```py\nq\n```\n\n| h |\n| - |\n| c |\n\n![p](u) [l](v)\nend"
    assert markdown_tree(plan) == [
        ["h1", ["A ", ["em", ["b"]]]],
        ["ul", [["li", ["x"]], ["li", ["y ", ["code", ["z"]]]]]],
        ["pre", [["em", ["py"]], ["code", ["q\n"]]]],
        ["table", [["thead", [["tr", [["th", ["h"]]]]]], ["tbody", [["tr", [["td", ["c"]]]]]]]],
        ["p", ["[p] (u)", " ", "l", " (v)", "\n", "end"]],
    ]


def test_long_rows_come_in_pieces() -> None:
    """A row of 5,000 characters is three rows of the page and one line; its kind goes on."""
    question = PermissionQuestion(
        "1", "Edit", "a", (DiffDisplay("a", "+" + "x" * 4_999), TextDisplay("y\nz")), ""
    )
    rows = card_rows(question)[0]
    assert [(kind, len(words)) for kind, words in rows] == [
        ("add", 2_000),
        ("add-on", 2_000),
        ("add-on", 1_000),
    ]
    first, second = card_view(question, CWD)["displays"]
    assert (first["total"], first["lines"], second["lines"]) == (3, 1, 2)


def test_what_was_chosen_stays_in_the_saved_notebook() -> None:
    """The answers of a form and the word on a plan are lines of the final output."""
    decisions = [
        *decided(FORM, FormAnswer((("Postgres",), ("Mon", "Sun")))),
        *decided(PLAN, PlanAnswer("reject", message="too large")),
        *decided(FORM, FormAnswer(by="nobody")),
        *decided(PLAN, PlanAnswer("reject", by="nobody")),
    ]
    bundle = final_bundle((), decisions, None)
    assert bundle is not None
    assert bundle["text/plain"].splitlines() == [
        "Which? → Postgres",
        "When? → Mon, Sun",
        "Plan → rejected · too large",
    ]
