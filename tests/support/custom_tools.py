"""TOOL.json files of a folder."""

import json
from pathlib import Path
from typing import Any


def write_tool(folder: Path, name: str, **fields: Any) -> Path:
    """A tool of the project in `folder`; without more said, it prints its input."""
    given = {"name": name, "description": f"Does {name}.", "command": ["cat"]} | fields
    file = folder / ".maia/tools" / name / "TOOL.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(given, indent=1), "utf-8")
    return file
