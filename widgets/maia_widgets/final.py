"""What stays of the panel when the turn is over: static Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from maia_kernel import plain
from maia_kernel.display import TodoItem
from maia_kernel.events import TurnFinished
from maia_kernel.neutral import line
from maia_kernel.questions import (
    Answer,
    ChoiceAnswer,
    ChoiceQuestion,
    FormAnswer,
    FormQuestion,
    PermissionAnswer,
    PlanAnswer,
    PlanQuestion,
    Question,
    TrustAnswer,
    TrustQuestion,
)
from maia_kernel.texts import text
from maia_widgets.html import MUTED
from maia_widgets.markdown import code, escaped
from maia_widgets.outputs import Bundle
from maia_widgets.todos import todos_markdown

CELL_SAYS = ("error", "interrupted")
"""Ends that fail the cell, with a line of their own; a view would only repeat it."""


@dataclass(frozen=True, slots=True)
class Decided:
    """One question of the turn with its answer; of a picker or a form, `answer` is what was chosen."""

    summary: str
    answer: PermissionAnswer | str
    tool: str = ""


def decided(question: Question, answer: Answer) -> list[Decided]:
    """What of a question stays to be read; permissions come as events."""
    match question, answer:
        case ChoiceQuestion(), ChoiceAnswer():
            labels = [o.label for o in question.options if o.value == answer.value]
            return [Decided(question.title, label) for label in labels]
        case FormQuestion(), FormAnswer():
            asked = zip(question.fields, answer.fields, strict=False)
            return [Decided(field.question, ", ".join(given)) for field, given in asked]
        case PlanQuestion(), PlanAnswer() if answer.by == "person":
            said = text(f"views.decision.{answer.choice}")
            title = text("views.panel.plan")
            return [Decided(title, f"{said} · {answer.message}" if answer.message else said)]
        case TrustQuestion(), TrustAnswer() if answer.by == "person":
            said = text(f"trust.said.{answer.choice}")
            return [Decided(text("trust.card.title", folder=question.folder), said)]
        case _:
            return []


def final_bundle(
    todos: tuple[TodoItem, ...],
    decisions: Sequence[Decided],
    finished: TurnFinished | None,
    *,
    alone: bool = False,
) -> Bundle | None:
    """The todo list, what was allowed or denied, how it ended, one footer line; None if empty.

    `alone` is for a page that does not see the cell fail.
    """
    parts: list[str] = []
    rows: list[str] = []
    if todos:
        parts.append(todos_markdown(todos))
        rows += plain.todo_lines(todos)
    if decisions:
        parts.append("  \n".join(_decision(decision, markdown=True) for decision in decisions))
        rows += [_decision(decision, markdown=False) for decision in decisions]
    if finished is not None:
        if finished.reason not in ("done", *(() if alone else CELL_SAYS)):
            why = text(f"plain.end.{finished.reason}", error=finished.error)
            parts.append(f"**{escaped(why)}**")
            rows.append(line(why))
        footer = plain.footer(finished)
        parts.append(f'<small style="{MUTED}">{escaped(footer)}</small>')
        rows.append(footer)
    if not parts:
        return None
    return {"text/markdown": "\n\n".join(parts), "text/plain": "\n".join(rows)}


def _decision(decided: Decided, *, markdown: bool) -> str:
    quoted = code(decided.summary) if markdown else line(decided.summary)
    answer = decided.answer
    if isinstance(answer, str):
        return f"{quoted} → {code(answer) if markdown else line(answer)}"
    key = answer.choice if answer.by == "person" else answer.by
    mark = "✗" if answer.choice == "deny" else "✓"
    tool = escaped(decided.tool) if markdown else line(decided.tool)
    words = f"{mark} {text(f'views.decision.{key}')} · {tool} {quoted}"
    if answer.message:
        words += f" · {escaped(answer.message) if markdown else line(answer.message)}"
    return words
