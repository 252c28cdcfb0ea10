"""What the model is told about plan mode, by the tools and by reminders."""

from typing import Final

PLAN_RULES: Final = (
    "Plan mode is on: the user wants to see a plan before anything changes. Until they approve one, do "
    "not edit files and do not run what changes anything; such calls are refused. Explore with read-only "
    "tools, and ask with AskUserQuestion where a choice is the user's. When the plan is complete, call "
    "ExitPlanMode with all of it in Markdown: what will change and where, the steps in order, how the "
    "result will be checked. Do not ask for approval in any other way. A question that needs no change "
    "is simply answered."
)
PLAN_OVER: Final = "Plan mode is over: the rules about plan mode above no longer hold."
