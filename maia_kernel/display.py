"""How a tool call looks, said in values: front-ends draw these and never know a tool by name."""

from dataclasses import dataclass
from typing import Any, Literal, assert_never

TodoStatus = Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class TextDisplay:
    """Plain text or code; `language` is a highlighter's name such as `bash`, or empty for output."""

    text: str
    language: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class DiffDisplay:
    """A change of one file as a unified diff without file headers; `new_file` says it is created."""

    path: str
    diff: str
    new_file: bool = False


@dataclass(frozen=True, slots=True)
class TableDisplay:
    """Rows under column names; every cell is already text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ImageDisplay:
    """A picture; `data` is base64."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One entry of the todo list; `active_form` is how it reads while in progress."""

    content: str
    status: TodoStatus
    active_form: str = ""


@dataclass(frozen=True, slots=True)
class TodoDisplay:
    """The whole todo list."""

    items: tuple[TodoItem, ...]


Display = TextDisplay | DiffDisplay | TableDisplay | ImageDisplay | TodoDisplay


def display_to_dict(display: Display) -> dict[str, Any]:
    """JSON-ready form of a display, tagged by `type`."""
    match display:
        case TextDisplay():
            return {
                "type": "text",
                "text": display.text,
                "language": display.language,
                "title": display.title,
            }
        case DiffDisplay():
            return {
                "type": "diff",
                "path": display.path,
                "diff": display.diff,
                "new_file": display.new_file,
            }
        case TableDisplay():
            return {
                "type": "table",
                "columns": list(display.columns),
                "rows": [list(row) for row in display.rows],
            }
        case ImageDisplay():
            return {"type": "image", "media_type": display.media_type, "data": display.data}
        case TodoDisplay():
            return {"type": "todos", "items": [todo_to_dict(item) for item in display.items]}
        case _:
            assert_never(display)


def todo_to_dict(item: TodoItem) -> dict[str, str]:
    """JSON-ready form of a todo item, with the field names models know."""
    return {"content": item.content, "status": item.status, "activeForm": item.active_form}
