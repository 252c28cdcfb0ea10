"""A plan as text."""

from typing import Literal

from maia_kernel.dialogue.rows import Person, choice_row, guttered, is_escape
from maia_kernel.neutral import line, visible
from maia_kernel.questions import PlanAnswer, PlanQuestion
from maia_kernel.texts import text


async def ask_plan(question: PlanQuestion, person: Person) -> PlanAnswer:
    """The plan, and again after each change, until it is approved or rejected."""
    plan = question.plan
    person.tell("", text("dialogue.plan.title"))
    if question.agent:
        person.tell(text("dialogue.permission.agent", agent=line(question.agent)))
    while True:
        person.tell(*guttered(visible(plan).split("\n")), *_plan_choices())
        while (answer := read_plan(await person.line("choose"), plan)) is None:
            pass
        if isinstance(answer, PlanAnswer):
            return answer
        person.tell(text("dialogue.plan.type"))
        plan = await _typed_text(person) or plan


def read_plan(typed: str, plan: str) -> PlanAnswer | Literal["edit"] | None:
    """What `typed` says of `plan`; "edit" to type it anew, None where it is no answer."""
    if is_escape(typed):
        return PlanAnswer("reject")
    head, colon, rest = typed.strip().partition(":")
    word = head.strip().lower()
    if word in ("n", "no", "non"):
        return PlanAnswer("reject", message=rest.strip())
    if colon:
        return None
    match word:
        case "y" | "o" | "yes" | "oui":
            return PlanAnswer("approve", plan)
        case "a":
            return PlanAnswer("approve_edits", plan)
        case "e":
            return "edit"
        case _:
            return None


def _plan_choices() -> list[str]:
    letters = {"y": "approve", "a": "approve_edits", "e": "edit", "n": "reject"}
    return [choice_row(letter, f"plan.{key}") for letter, key in letters.items()]


async def _typed_text(person: Person) -> str:
    """Lines up to one that is a single dot."""
    rows: list[str] = []
    while (row := await person.line("plan.line")).strip() != ".":
        rows.append(row)
    return "\n".join(rows).strip()
