"""The todo list, for the panel and for the end."""

from typing import Any

from maia_kernel.display import TodoItem
from maia_kernel.plain import TODO_MARKS, todo_label
from maia_widgets.markdown import escaped


def todos_view(items: tuple[TodoItem, ...]) -> list[dict[str, Any]]:
    """The list as the panel's `todos` trait."""
    return [{"status": item.status, "text": todo_label(item)} for item in items]


def todos_markdown(items: tuple[TodoItem, ...]) -> str:
    """The list as lines of Markdown; what was in progress is bold."""
    rows = []
    for item in items:
        label = escaped(todo_label(item))
        shown = f"**{label}**" if item.status == "in_progress" else label
        rows.append(f"{TODO_MARKS[item.status]} {shown}")
    # Two spaces break a line. A task list would show a bullet beside each box in JupyterLab.
    return "  \n".join(rows)
