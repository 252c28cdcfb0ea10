"""What the model is sent: the system prompt, reminders, and the request put together."""

from maia_kernel.context.prompt import Surroundings, observe, system_prompt
from maia_kernel.context.reminders import background_tasks, plan_mode, reminder, undone_turn
from maia_kernel.context.request import assemble, joined

__all__ = [
    "Surroundings",
    "assemble",
    "background_tasks",
    "joined",
    "observe",
    "plan_mode",
    "reminder",
    "system_prompt",
    "undone_turn",
]
