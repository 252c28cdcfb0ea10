"""Questions as text: what is written, and how the lines typed are understood.

`ask_typed` plays one question on a terminal, in a console or with `input()`. Words of a model, a tool
or a file are neutralised, and stand behind a gutter, so that none of them can pass for a line of ours.
"""

import re
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, assert_never
from unicodedata import combining, east_asian_width

from maia_kernel.neutral import line, shortened, visible
from maia_kernel.plain import display_lines
from maia_kernel.questions import (
    RULE_PLACES,
    Answer,
    ChoiceAnswer,
    ChoiceQuestion,
    FormAnswer,
    FormField,
    FormQuestion,
    PermissionAnswer,
    PermissionQuestion,
    PlanAnswer,
    PlanQuestion,
    Question,
    RuleFile,
    RuleOffer,
    RulePlace,
    TrustAnswer,
    TrustQuestion,
    unanswered,
)
from maia_kernel.texts import text

Read = Callable[[str], Awaitable[str]]
"""Asks the person for one line, as `input()` does; EOFError when there is nobody any more."""
Write = Callable[[str], None]

FOLDED_FROM: Final = 80
"""Rows of a question from which on only the first ones are written, until the person asks for all."""
_SHOWN: Final = 40
_SUMMARY: Final = 300  # characters
_GUTTER, _CONTINUED = "  │ ", "  ┆ "
_NARROWEST: Final = 40  # columns


async def ask_typed(question: Question, *, read: Read, write: Write, cwd: Path) -> Answer:
    """Write `question`, read lines until one is an answer; at the end of input nobody answers."""
    person = _Person(read, write)
    try:
        match question:
            case PermissionQuestion():
                return await _permission(question, person, cwd)
            case ChoiceQuestion():
                return await _choice(question, person)
            case FormQuestion():
                return await _form(question, person)
            case PlanQuestion():
                return await _plan(question, person)
            case TrustQuestion():
                return await _trust(question, person)
            case _:
                assert_never(question)
    except EOFError:
        return unanswered(question)


class _Person:
    """Who reads and types."""

    def __init__(self, read: Read, write: Write) -> None:
        self._read, self._write = read, write

    def tell(self, *rows: str) -> None:
        self._write("".join(f"{row}\n" for row in rows))

    async def line(self, key: str, **values: object) -> str:
        """What is typed after the prompt of `key`; a front-end squeezes a prompt into one line."""
        return await self._read(text(f"dialogue.{key}", **values))


# -- permission -------------------------------------------------------------------------------------


async def _permission(question: PermissionQuestion, person: _Person, cwd: Path) -> PermissionAnswer:
    body = _guttered(_display_rows(question, cwd))
    if question.refused is None:
        person.tell(*permission_head(question), *_folded(body), *permission_facts(question))
    else:
        person.tell(*_wrapped(question.refused.fault, ""))
    folded = len(body) > FOLDED_FROM
    choices = list(_permission_choices(question, folded=folded))
    person.tell(*choices)
    while True:
        typed = await person.line("choose")
        if folded and typed.strip().lower() == "v":
            person.tell(*body, *choices)
        elif question.offer is not None and typed.strip().lower() in ("e", "edit"):
            answer = await _edited(question, question.offer, person)
            if answer is not None:
                return answer
            person.tell(*choices)
        else:
            understood = read_permission(typed, question)
            if understood is not None:
                return understood


def permission_head(question: PermissionQuestion) -> list[str]:
    """Which call is asked about, and by whom."""
    tool, whole = line(question.tool), question.summary
    summary = shortened(whole, _SUMMARY) if question.displays else line(whole)
    rows = ["", *_wrapped(text("dialogue.permission.title", tool=tool, summary=summary), "")]
    if question.agent:
        rows += _wrapped(text("dialogue.permission.agent", agent=line(question.agent)), "")
    return rows


def permission_facts(question: PermissionQuestion) -> list[str]:
    """What the call touches and why it is asked."""
    rows = []
    if question.touches:
        touched = ", ".join(line(item) for item in question.touches)
        rows += _wrapped(text("dialogue.permission.touches", what=touched), "")
    if question.reason:
        rows += _wrapped(text("dialogue.permission.reason", why=line(question.reason)), "")
    return rows


def read_permission(typed: str, question: PermissionQuestion) -> PermissionAnswer | None:
    """What `typed` means; None where it is not an answer, as an empty line is not: ask again.

    Escape denies. `a` may name the file and another rule: `a user: Bash(make)`.
    """
    if _is_escape(typed):
        return PermissionAnswer("deny")
    head, colon, rest = typed.strip().partition(":")
    words, rest = head.lower().split(), rest.strip()
    if words in (["n"], ["d"], ["no"], ["non"], ["deny"]):
        return PermissionAnswer("deny", message=rest)
    if question.offer is not None and words[:1] in (["a"], ["always"]):
        return None if colon and not rest else _always(words[1:], rest, question.offer)
    if colon:
        return None
    if question.offer is not None and words in (["s"], ["session"]):
        return PermissionAnswer("session")
    return PermissionAnswer("once") if words in _ONCE else None


_ONCE = (["o"], ["y"], ["yes"], ["oui"], ["once"])


def _always(words: list[str], rule: str, offer: RuleOffer) -> PermissionAnswer | None:
    rules = (rule,) if rule else ()
    if not words:
        return PermissionAnswer("always", rules=rules, place=_default(offer))
    place = _place(words[0], offer.files)
    if place is None or len(words) > 1:
        return None
    return PermissionAnswer("always", rules=rules, place=place)


def _default(offer: RuleOffer) -> RulePlace:
    return offer.files[0].place if offer.files else RULE_PLACES[0]


def _place(word: str, files: Sequence[RuleFile]) -> RulePlace | None:
    """The file that `word` names: its number, its place, or how it begins."""
    if word.isdecimal() and 1 <= int(word) <= len(files):
        return files[int(word) - 1].place
    named = [file.place for file in files if file.place.startswith(word)]
    return named[0] if len(named) == 1 else None


async def _edited(
    question: PermissionQuestion, offer: RuleOffer, person: _Person
) -> PermissionAnswer | None:
    """The rules, each kept or typed anew, and their file; None when the person goes back."""
    before = question.refused.rules if question.refused is not None else offer.rules
    rules = []
    for number, rule in enumerate(before, 1):
        person.tell(*_wrapped(line(rule), f"  {number}  "))
        typed = (await person.line("permission.new_rule")).strip()
        if _is_escape(typed):
            return None
        rules += [] if typed == "-" else [typed or rule]
    place: RulePlace | None = None
    person.tell(*(f"  {n}  {line(file.path)}" for n, file in enumerate(offer.files, 1)))
    while place is None:
        typed = (await person.line("permission.which_file")).strip().lower()
        if _is_escape(typed):
            return None
        place = _place(typed, offer.files) if typed else _default(offer)
    return PermissionAnswer("always", rules=tuple(rules), place=place) if rules else None


def _permission_choices(question: PermissionQuestion, *, folded: bool) -> Iterator[str]:
    if folded:
        yield _choice_row("v", "permission.view")
    yield _choice_row("o", "permission.once")
    if question.offer is not None:
        yield _choice_row("s", "permission.session")
        file = line(question.offer.files[0].path) if question.offer.files else ""
        yield _choice_row("a", "permission.always", file=file)
        for rule in question.offer.rules:
            yield from _wrapped(line(rule), "       ")
        yield _choice_row("e", "permission.edit")
    yield _choice_row("n", "permission.deny")


def _display_rows(question: PermissionQuestion, cwd: Path) -> list[str]:
    return [row for display in question.displays for row in display_lines(display, cwd, whole=True)]


# -- picker -----------------------------------------------------------------------------------------


async def _choice(question: ChoiceQuestion, person: _Person) -> ChoiceAnswer:
    person.tell(*choice_rows(question))
    while True:
        answer = read_choice(await person.line("choice.prompt"), question)
        if answer is not None:
            return answer


def choice_rows(question: ChoiceQuestion) -> list[str]:
    """The picker as a numbered list under its group headings."""
    rows = ["", *_wrapped(line(question.title), "")]
    group = ""
    for number, option in enumerate(question.options, 1):
        if option.group and option.group != group:
            group = option.group
            rows += _wrapped(line(group), "  ")
        detail = f"  ({line(option.detail)})" if option.detail else ""
        rows += _wrapped(f"{line(option.label)}{detail}", f"  {number:>3}  ")
    return rows


def read_choice(typed: str, question: ChoiceQuestion) -> ChoiceAnswer | None:
    """The option that `typed` names: by number, whole name, or a part that only one has.

    `q` or Escape leaves the picker; None where it is not an answer: ask again.
    """
    if _is_escape(typed):
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


# -- form -------------------------------------------------------------------------------------------


async def _form(question: FormQuestion, person: _Person) -> FormAnswer:
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
        *_wrapped(f"{line(field.header)}{place}", ""),
        *_guttered(visible(field.question).split("\n")),
    ]
    for place_of, option in enumerate(field.options, 1):
        detail = f"  {line(option.description)}" if option.description else ""
        rows += _wrapped(f"{line(option.label)}{detail}", f"  {place_of}  ")
        if option.preview:
            rows += _folded(_guttered(visible(option.preview).split("\n")), "rest")
    return rows


def read_field(typed: str, field: FormField) -> tuple[str, ...] | FormAnswer | None:
    """The labels that the numbers typed stand for, or the words typed; None: ask again.

    `q` or Escape declines the form, `q: REASON` with words for the model.
    """
    words = typed.strip()
    head, colon, rest = words.partition(":")
    if _is_escape(typed) or head.strip().lower() == "q":
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


# -- plan -------------------------------------------------------------------------------------------


async def _plan(question: PlanQuestion, person: _Person) -> PlanAnswer:
    plan = question.plan
    person.tell("", text("dialogue.plan.title"))
    if question.agent:
        person.tell(text("dialogue.permission.agent", agent=line(question.agent)))
    while True:
        person.tell(*_guttered(visible(plan).split("\n")), *_plan_choices())
        while (answer := read_plan(await person.line("choose"), plan)) is None:
            pass
        if isinstance(answer, PlanAnswer):
            return answer
        person.tell(text("dialogue.plan.type"))
        plan = await _typed_text(person) or plan


def read_plan(typed: str, plan: str) -> PlanAnswer | Literal["edit"] | None:
    """What `typed` says of `plan`; "edit" to type it anew, None where it is no answer."""
    if _is_escape(typed):
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
    return [_choice_row(letter, f"plan.{key}") for letter, key in letters.items()]


async def _typed_text(person: _Person) -> str:
    """Lines up to one that is a single dot."""
    rows: list[str] = []
    while (row := await person.line("plan.line")).strip() != ".":
        rows.append(row)
    return "\n".join(rows).strip()


# -- trust ------------------------------------------------------------------------------------------


async def _trust(question: TrustQuestion, person: _Person) -> TrustAnswer:
    rows = _guttered([f"{'' if heading else '  '}{row}" for heading, row in trust_lines(question)])
    title = text("trust.card.title", folder=line(question.folder))
    person.tell("", title, *_wrapped(trust_note(question), ""), *_folded(rows))
    choices = [_choice_row(*row) for row in (("y", "trust.yes"), ("n", "trust.later"))]
    choices += [_choice_row("never", "trust.never")]
    if len(rows) > FOLDED_FROM:
        choices.insert(0, _choice_row("v", "permission.view"))
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
    if _is_escape(typed):
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


# -- rows -------------------------------------------------------------------------------------------


def _choice_row(letter: str, key: str, **values: object) -> str:
    return f"  {letter}  {text(f'dialogue.{key}', **values)}"


def _folded(rows: list[str], key: str = "folded") -> list[str]:
    """The first of many rows, and how many are left out."""
    if len(rows) <= FOLDED_FROM:
        return rows
    left = len(rows) - _SHOWN
    return [*rows[:_SHOWN], text(f"dialogue.{key}", count=left)]


def _guttered(rows: Sequence[str]) -> list[str]:
    """Rows of others, each behind a gutter; what does not fit goes on in the next row."""
    return [piece for row in rows for piece in _wrapped(row, _GUTTER)]


def _wrapped(row: str, first: str) -> list[str]:
    """`row` in pieces that fit the screen, so that none of it begins a line."""
    if row.isascii() and "\t" not in row and len(row) + len(first) < _NARROWEST:
        return [f"{first}{row}".rstrip()]
    width = max(shutil.get_terminal_size((100, 24)).columns - 1, _NARROWEST)
    pieces, begun, used = [], 0, len(first)
    for place, char in enumerate(row):
        cells = _cells(char)
        if used + cells > width:
            pieces.append(row[begun:place])
            begun, used = place, len(_CONTINUED)
        used += cells
    pieces.append(row[begun:])
    return [f"{_CONTINUED if n else first}{piece}".rstrip() for n, piece in enumerate(pieces)]


def _cells(char: str) -> int:
    """Columns that a terminal gives `char`."""
    if char == "\t":
        return 8
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _is_escape(typed: str) -> bool:
    """The Escape key as a line holds it; arrows and other keys send more than that one code."""
    return set(typed.strip()) == {"\x1b"}
