"""A picker as text."""

from maia_kernel.dialogue.rows import Person, is_escape, wrapped
from maia_kernel.neutral import line
from maia_kernel.questions import ChoiceAnswer, ChoiceQuestion


async def ask_choice(question: ChoiceQuestion, person: Person) -> ChoiceAnswer:
    """The list once, then a line until it names one."""
    person.tell(*choice_rows(question))
    while True:
        answer = read_choice(await person.line("choice.prompt"), question)
        if answer is not None:
            return answer


def choice_rows(question: ChoiceQuestion) -> list[str]:
    """The picker as a numbered list under its group headings."""
    rows = ["", *wrapped(line(question.title), "")]
    group = ""
    for number, option in enumerate(question.options, 1):
        if option.group and option.group != group:
            group = option.group
            rows += wrapped(line(group), "  ")
        detail = f"  ({line(option.detail)})" if option.detail else ""
        rows += wrapped(f"{line(option.label)}{detail}", f"  {number:>3}  ")
    return rows


def read_choice(typed: str, question: ChoiceQuestion) -> ChoiceAnswer | None:
    """The option that `typed` names: by number, whole name, or a part that only one has.

    `q` or Escape leaves the picker; None where it is not an answer: ask again.
    """
    if is_escape(typed):
        return ChoiceAnswer(None)
    word = typed.strip().lower()
    if not word:
        return None
    named = [o for o in question.options if word in (o.value.lower(), o.label.lower())]
    if not named and word.isdecimal() and 1 <= int(word) <= len(question.options):
        named = [question.options[int(word) - 1]]
    if not named and word in ("q", "quit"):
        return ChoiceAnswer(None)
    if not named:
        named = [option for option in question.options if word in option.label.lower()]
    return ChoiceAnswer(named[0].value) if len(named) == 1 else None
