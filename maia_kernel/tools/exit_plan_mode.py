"""ExitPlanMode: the plan goes to the person, who approves, edits or rejects it."""

import uuid
from collections.abc import AsyncIterator

from pydantic import Field

from maia_kernel.display import Display, TextDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.questions import PlanAnswer, PlanQuestion
from maia_kernel.texts import text
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput

_NOBODY = (
    "There is nobody who could approve the plan here, so plan mode goes on and nothing may change. Give "
    "the plan as your answer and end."
)


class ExitPlanModeInput(ToolInput):
    """The plan."""

    plan: str = Field(description="The whole plan, in Markdown", max_length=100_000)


class ExitPlanMode(Tool[ExitPlanModeInput]):
    """The tool."""

    name = "ExitPlanMode"
    icon = "▷"
    counted = "plans"
    description = (
        "Shows your plan to the user and asks for their approval; only in plan mode, when the plan is "
        "complete. They may change its text: follow the plan as it comes back. Do not use it for "
        "research that leads to no change."
    )

    @property
    def Input(self) -> type[ExitPlanModeInput]:
        return ExitPlanModeInput

    def read_only(self, call: ExitPlanModeInput, context: ToolContext) -> bool:
        return True

    def concurrency_safe(self, call: ExitPlanModeInput, context: ToolContext) -> bool:
        return False  # the calls after it are decided in the mode after it

    def validate(self, call: ExitPlanModeInput, context: ToolContext) -> None:
        if not call.plan.strip():
            raise ToolRetry("the plan is empty: give all of it, in Markdown.")

    def subject(self, call: ExitPlanModeInput, context: ToolContext) -> Subject:
        return Subject(self.name, read_only=True)

    def summary(self, call: ExitPlanModeInput, context: ToolContext) -> str:
        return text("dialogue.plan.proposed")

    def displays(self, call: ExitPlanModeInput, context: ToolContext) -> tuple[Display, ...]:
        return (TextDisplay(call.plan, "markdown"),)

    async def run(
        self, call: ExitPlanModeInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        modes = context.modes
        if modes is None or modes.current != "plan":
            raise ToolFailed("Plan mode is not on, so no plan needs approval. Go on with the work.")
        if context.ask is None:
            raise ToolFailed(_NOBODY)
        answer = await context.ask(PlanQuestion(f"plan-{uuid.uuid4().hex}", call.plan))
        if not isinstance(answer, PlanAnswer):
            raise TypeError(f"a plan was answered by {type(answer).__name__}")
        if answer.choice == "reject":
            raise ToolFailed(_NOBODY if answer.by == "nobody" else _rejected(answer))
        mode = modes.leave_plan(accept_edits=answer.choice == "approve_edits")
        edited = answer.plan.strip() != call.plan.strip()
        yield ToolOutput.of(
            _approved(answer, mode, edited=edited), TextDisplay(answer.plan, "markdown")
        )


def _rejected(answer: PlanAnswer) -> str:
    said = f" and said: {answer.message}" if answer.message else ""
    what = "Change the plan accordingly" if said else "Ask what they want changed"
    return f"The user did not approve the plan{said}. Plan mode goes on. {what}."


def _approved(answer: PlanAnswer, mode: str, *, edited: bool) -> str:
    edits = ", edits in the working folder run without asking" if mode == "acceptEdits" else ""
    changed = "The user changed the plan; follow the text below" if edited else "Follow it"
    return (
        f"The user approved the plan. Plan mode is over (mode {mode}{edits}). {changed}, and keep a todo "
        f"list if it has several steps.\n\n# Approved plan\n{answer.plan}"
    )
