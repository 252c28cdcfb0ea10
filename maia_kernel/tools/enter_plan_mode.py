"""EnterPlanMode: from now on only reading, until the person approves a plan."""

from collections.abc import AsyncIterator

from maia_kernel.errors import ToolFailed
from maia_kernel.permissions.subject import Subject
from maia_kernel.texts import text
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput
from maia_kernel.tools.plan_mode import PLAN_RULES


class EnterPlanModeInput(ToolInput):
    """Nothing."""


class EnterPlanMode(Tool[EnterPlanModeInput]):
    """The tool."""

    name = "EnterPlanMode"
    icon = "▷"
    counted = "plans_begun"
    description = (
        "Goes into plan mode: you explore with read-only tools, write a plan, and the user approves it "
        "with ExitPlanMode before anything changes. Use it for work with several possible ways or many "
        "files, or when the user asks for a plan; not for small, clear changes or pure questions."
    )

    @property
    def Input(self) -> type[EnterPlanModeInput]:
        return EnterPlanModeInput

    def read_only(self, call: EnterPlanModeInput, context: ToolContext) -> bool:
        return True

    def concurrency_safe(self, call: EnterPlanModeInput, context: ToolContext) -> bool:
        return False  # the calls after it are decided in plan mode

    def subject(self, call: EnterPlanModeInput, context: ToolContext) -> Subject:
        return Subject(self.name, read_only=True)

    def summary(self, call: EnterPlanModeInput, context: ToolContext) -> str:
        return text("dialogue.plan.entered")

    async def run(
        self, call: EnterPlanModeInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        if context.modes is None or context.ask is None:
            raise ToolFailed(
                "Plan mode is not available here: there is nobody who could approve a plan. Do the work "
                "within what is allowed, or give a plan as your answer."
            )
        if context.modes.current != "plan":
            context.modes.enter_plan()
        yield ToolOutput.of(PLAN_RULES)
