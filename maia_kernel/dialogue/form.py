"""The model's questions as text."""

import re

from maia_kernel.dialogue.rows import Person, folded, guttered, is_escape, wrapped
from maia_kernel.neutral import line, visible
from maia_kernel.questions import FormAnswer, FormField, FormQuestion
from maia_kernel.texts import text


async def ask_form(question: FormQuestion, person: Person) -> FormAnswer:
    """One question after the other."""
    answers = []
    if question.agent:
        person.tell("", text("dialogue.permission.agent", agent=line(question.agent)))
    for number, field in enumerate(question.fields, 1):
        person.tell(*form_rows(field, number, len(question.fields)))
        answer: FormAnswer | tuple[str, ...] | None = None
        while answer is None:
            key = "form.several" if field.multiple else "form.one"
            answer = read_field(await person.line(key), field)
        if isinstance(answer, FormAnswer):
            return answer
        answers.append(answer)
    return FormAnswer(tuple(answers))


def form_rows(field: FormField, number: int, count: int) -> list[str]:
    """One question of a form with its numbered options and their previews."""
    place = f" ({number}/{count})" if count > 1 else ""
    rows = [
        "",
        *wrapped(f"{line(field.header)}{place}", ""),
        *guttered(visible(field.question).split("\n")),
    ]
    for place_of, option in enumerate(field.options, 1):
        detail = f"  {line(option.description)}" if option.description else ""
        rows += wrapped(f"{line(option.label)}{detail}", f"  {place_of}  ")
        if option.preview:
            rows += folded(guttered(visible(option.preview).split("\n")), "rest")
    return rows


def read_field(typed: str, field: FormField) -> tuple[str, ...] | FormAnswer | None:
    """The labels that the numbers typed stand for, or the words typed; None: ask again.

    `q` or Escape declines the form, `q: REASON` with words for the model.
    """
    words = typed.strip()
    head, colon, rest = words.partition(":")
    if is_escape(typed) or head.strip().lower() == "q":
        return FormAnswer(message=rest.strip() if colon else "")
    if not words:
        return None
    numbers = re.split(r"[\s,]+", words)
    if not all(number.isdecimal() for number in numbers):
        return (words,)
    places = [int(number) for number in numbers]
    if len(places) > 1 and not field.multiple:
        return None
    if not all(1 <= place <= len(field.options) for place in places):
        return None
    return tuple(dict.fromkeys(field.options[place - 1].label for place in places))
