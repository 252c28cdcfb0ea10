"""A permission question as text."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from maia_kernel.dialogue.rows import (
    FOLDED_FROM,
    Person,
    choice_row,
    folded,
    guttered,
    is_escape,
    wrapped,
)
from maia_kernel.neutral import line, shortened
from maia_kernel.plain import display_lines
from maia_kernel.questions import (
    RULE_PLACES,
    PermissionAnswer,
    PermissionQuestion,
    RuleFile,
    RuleOffer,
    RulePlace,
)
from maia_kernel.texts import text

_SUMMARY: Final = 300  # characters


async def ask_permission(
    question: PermissionQuestion, person: Person, cwd: Path
) -> PermissionAnswer:
    """The whole call once, then its choices until one is typed."""
    body = guttered(_display_rows(question, cwd))
    if question.refused is None:
        person.tell(*permission_head(question), *folded(body), *permission_facts(question))
    else:
        person.tell(*wrapped(question.refused.fault, ""))
    long = len(body) > FOLDED_FROM
    choices = list(_permission_choices(question, view=long))
    person.tell(*choices)
    while True:
        typed = await person.line("choose")
        if long and typed.strip().lower() == "v":
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
    rows = ["", *wrapped(text("dialogue.permission.title", tool=tool, summary=summary), "")]
    if question.agent:
        rows += wrapped(text("dialogue.permission.agent", agent=line(question.agent)), "")
    return rows


def permission_facts(question: PermissionQuestion) -> list[str]:
    """What the call touches and why it is asked."""
    rows = []
    if question.touches:
        touched = ", ".join(line(item) for item in question.touches)
        rows += wrapped(text("dialogue.permission.touches", what=touched), "")
    if question.reason:
        rows += wrapped(text("dialogue.permission.reason", why=line(question.reason)), "")
    return rows


def read_permission(typed: str, question: PermissionQuestion) -> PermissionAnswer | None:
    """What `typed` means; None where it is not an answer, as an empty line is not: ask again.

    Escape denies. `a` may name the file and another rule: `a user: Bash(make)`.
    """
    if is_escape(typed):
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
    question: PermissionQuestion, offer: RuleOffer, person: Person
) -> PermissionAnswer | None:
    """The rules, each kept or typed anew, and their file; None when the person goes back."""
    before = question.refused.rules if question.refused is not None else offer.rules
    rules = []
    for number, rule in enumerate(before, 1):
        person.tell(*wrapped(line(rule), f"  {number}  "))
        typed = (await person.line("permission.new_rule")).strip()
        if is_escape(typed):
            return None
        rules += [] if typed == "-" else [typed or rule]
    place: RulePlace | None = None
    person.tell(*(f"  {n}  {line(file.path)}" for n, file in enumerate(offer.files, 1)))
    while place is None:
        typed = (await person.line("permission.which_file")).strip().lower()
        if is_escape(typed):
            return None
        place = _place(typed, offer.files) if typed else _default(offer)
    return PermissionAnswer("always", rules=tuple(rules), place=place) if rules else None


def _permission_choices(question: PermissionQuestion, *, view: bool) -> Iterator[str]:
    if view:
        yield choice_row("v", "permission.view")
    yield choice_row("o", "permission.once")
    if question.offer is not None:
        yield choice_row("s", "permission.session")
        file = line(question.offer.files[0].path) if question.offer.files else ""
        yield choice_row("a", "permission.always", file=file)
        for rule in question.offer.rules:
            yield from wrapped(line(rule), "       ")
        yield choice_row("e", "permission.edit")
    yield choice_row("n", "permission.deny")


def _display_rows(question: PermissionQuestion, cwd: Path) -> list[str]:
    return [row for display in question.displays for row in display_lines(display, cwd, whole=True)]
