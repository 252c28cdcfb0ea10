"""A question of trust as text."""

from collections.abc import Iterator

from maia_kernel.dialogue.rows import (
    FOLDED_FROM,
    Person,
    choice_row,
    folded,
    guttered,
    is_escape,
    wrapped,
)
from maia_kernel.neutral import line
from maia_kernel.questions import TrustAnswer, TrustQuestion
from maia_kernel.texts import text


async def ask_trust(question: TrustQuestion, person: Person) -> TrustAnswer:
    """All that would become active, then the choices until one is typed."""
    rows = guttered([f"{'' if heading else '  '}{row}" for heading, row in trust_lines(question)])
    title = text("trust.card.title", folder=line(question.folder))
    person.tell("", *wrapped(title, ""), *wrapped(trust_note(question), ""), *folded(rows))
    choices = [choice_row(*row) for row in (("y", "trust.yes"), ("n", "trust.later"))]
    choices += [choice_row("never", "trust.never")]
    if len(rows) > FOLDED_FROM:
        choices.insert(0, choice_row("v", "permission.view"))
    person.tell(*choices)
    while True:
        typed = await person.line("choose")
        if typed.strip().lower() == "v":
            person.tell(*rows, *choices)
            continue
        answer = read_trust(typed)
        if answer is not None:
            return answer


def trust_note(question: TrustQuestion) -> str:
    """What trust means here, in a sentence or two."""
    return text("trust.card.changed" if question.known else "trust.card.note")


def trust_lines(question: TrustQuestion) -> Iterator[tuple[bool, str]]:
    """All that would become active, neutralised, as `(heading, row)`."""
    group = None
    for row in question.rows:
        if row.group != group:
            group = row.group
            count = sum(other.group == group for other in question.rows)
            yield True, f"{line(group)} ({count})"
        yield False, f"{line(row.name)}  ·  {line(row.file)}"
        if row.detail and row.detail != row.name:
            yield False, f"    {line(row.detail)}"


def read_trust(typed: str) -> TrustAnswer | None:
    """What `typed` means; None where it is no answer. Escape is "not now"."""
    if is_escape(typed):
        return TrustAnswer("later")
    match typed.strip().lower():
        case "y" | "yes" | "oui" | "t" | "trust":
            return TrustAnswer("trust")
        case "n" | "no" | "non" | "l" | "later":
            return TrustAnswer("later")
        case "never" | "jamais":
            return TrustAnswer("never")
        case _:
            return None
