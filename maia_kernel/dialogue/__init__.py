"""Questions as text: what is written, and how the lines typed are understood.

`ask_typed` plays one question on a terminal, in a console or with `input()`. Words of a model, a tool
or a file are neutralised, and stand behind a gutter, so that none of them can pass for a line of ours.
"""

from pathlib import Path
from typing import assert_never

from maia_kernel.dialogue.form import ask_form
from maia_kernel.dialogue.permission import ask_permission
from maia_kernel.dialogue.picker import ask_choice
from maia_kernel.dialogue.plan import ask_plan
from maia_kernel.dialogue.rows import Person, Read, Write
from maia_kernel.dialogue.trust import ask_trust
from maia_kernel.questions import (
    Answer,
    ChoiceQuestion,
    FormQuestion,
    PermissionQuestion,
    PlanQuestion,
    Question,
    TrustQuestion,
    unanswered,
)

__all__ = ["Read", "Write", "ask_typed"]


async def ask_typed(question: Question, *, read: Read, write: Write, cwd: Path) -> Answer:
    """Write `question`, read lines until one is an answer; at the end of input nobody answers."""
    person = Person(read, write)
    try:
        match question:
            case PermissionQuestion():
                return await ask_permission(question, person, cwd)
            case ChoiceQuestion():
                return await ask_choice(question, person)
            case FormQuestion():
                return await ask_form(question, person)
            case PlanQuestion():
                return await ask_plan(question, person)
            case TrustQuestion():
                return await ask_trust(question, person)
            case _:
                assert_never(question)
    except EOFError:
        return unanswered(question)
