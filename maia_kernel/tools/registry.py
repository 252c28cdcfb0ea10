"""The tools there are."""

import shutil
from typing import Any

from maia_kernel.settings import WebSettings
from maia_kernel.tools.ask_user_question import AskUserQuestion
from maia_kernel.tools.base import Tool
from maia_kernel.tools.bash import Bash
from maia_kernel.tools.current_model import CurrentModel
from maia_kernel.tools.edit import Edit
from maia_kernel.tools.enter_plan_mode import EnterPlanMode
from maia_kernel.tools.exit_plan_mode import ExitPlanMode
from maia_kernel.tools.glob import Glob
from maia_kernel.tools.grep import Grep
from maia_kernel.tools.python import Python
from maia_kernel.tools.read import Read
from maia_kernel.tools.task_output import TaskOutput
from maia_kernel.tools.task_stop import TaskStop
from maia_kernel.tools.todo_write import TodoWrite
from maia_kernel.tools.web_fetch import WebFetch
from maia_kernel.tools.write import Write


def builtin_tools(*, kernel: bool, web: WebSettings | None = None) -> tuple[Tool[Any], ...]:
    """MAIA's own tools, sorted by name; Python only with a live `kernel`, Bash only where it exists.

    What only Bash starts, TaskOutput and TaskStop, comes with it.
    """
    web = web or WebSettings()
    tools: list[Tool[Any]] = [CurrentModel(), Edit(), Glob(), Grep(), Read(), TodoWrite(), Write()]
    tools += [AskUserQuestion(), EnterPlanMode(), ExitPlanMode()]
    tools.append(WebFetch(web.allow_private))
    if shutil.which("bash") is not None:
        tools += [Bash(), TaskOutput(), TaskStop()]
    if kernel:
        tools.append(Python())
    return tuple(sorted(tools, key=lambda tool: tool.name))
