"""Reminders: what MAIA adds to a user message, marked so that the model does not take it for the user's."""

from collections.abc import Sequence

from maia_kernel.messages import Text
from maia_kernel.tools.plan_mode import PLAN_OVER, PLAN_RULES


def reminder(content: str) -> Text:
    """`content` as a reminder block."""
    return Text(f"<system-reminder>\n{content}\n</system-reminder>")


def undone_turn(done: Sequence[str]) -> str:
    """What an interrupted turn had already changed, for the next prompt."""
    listed = "\n".join(f"- {line}" for line in done)
    return (
        "The user interrupted the previous prompt; that turn is not part of the conversation. "
        f"Before the interrupt these calls had already been made, and their effects remain:\n{listed}"
    )


def background_tasks(lines: Sequence[str]) -> str:
    """Tasks whose state changed since the model last heard of them."""
    listed = "\n".join(f"- {line}" for line in lines)
    return f"Background tasks (TaskOutput reads what they printed):\n{listed}"


def plan_mode(*, on: bool, told: bool) -> tuple[str, ...]:
    """The rules of plan mode while it is on; that it is over, if the model was `told` of it."""
    if on:
        return (PLAN_RULES,)
    return (PLAN_OVER,) if told else ()
