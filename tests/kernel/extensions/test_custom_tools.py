"""TOOL.json: what counts of it, and one clear line for each thing that does not."""

import json
from pathlib import Path
from typing import Any

import pytest

from maia_kernel.extensions.custom_tools import CustomTool, load
from maia_kernel.settings import Flags, Settings
from maia_kernel.settings import load as load_settings

TOOL = {"name": "deploy", "description": "Deploys.", "command": ["./deploy.sh"]}


def settings(folder: Path, *, trust: bool = True) -> Settings:
    return load_settings(folder, environ={}, home=Path.home(), flags=Flags(trust=trust))


def write(folder: Path, name: str, content: Any) -> Path:
    file = folder / ".maia/tools" / name / "TOOL.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), "utf-8")
    return file


def found(folder: Path) -> tuple[tuple[CustomTool, ...], list[str]]:
    warnings: list[str] = []
    return load(settings(folder).active("tool"), folder, warnings.append), warnings


def test_a_whole_one(tmp_path: Path) -> None:
    """Every field is read; tools come sorted by name."""
    schema = {"type": "object", "properties": {"env": {"type": "string"}}, "required": ["env"]}
    more = {"input_schema": schema, "timeout": 7, "read_only": True, "output": "json"}
    file = write(tmp_path, "z", TOOL | more | {"command": ["deploy", "{env}", "--to={env}"]})
    write(tmp_path, "a", {"description": "x", "command": "echo $MAIA_INPUT_a", "shell": True})
    tools, warnings = found(tmp_path)
    assert warnings == []
    assert [tool.name for tool in tools] == ["a", "deploy"]
    assert tools[1] == CustomTool(
        name="deploy",
        description="Deploys.",
        input_schema=schema,
        command=("deploy", "{env}", "--to={env}"),
        file=file,
        timeout=7.0,
        read_only=True,
        output="json",
    )
    assert tools[0].shell
    assert tools[0].command == ("echo $MAIA_INPUT_a",)
    assert tools[0].input_schema == {"type": "object", "properties": {}}
    assert tools[0].timeout == 120


def test_only_the_working_folder_and_only_trusted(tmp_path: Path) -> None:
    """Given tools of the person and of a folder above, then only those of the working folder count, and
    they only once they are trusted."""
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "sub"
    folder.mkdir()
    write(tmp_path, "above", TOOL | {"name": "above"})
    write(Path.home(), "mine", TOOL | {"name": "mine"})
    write(folder, "deploy", TOOL)
    assert [tool.name for tool in found(folder)[0]] == ["deploy"]
    assert load(settings(folder, trust=False).active("tool"), folder, print) == ()


def test_a_change_after_trust(tmp_path: Path) -> None:
    """Given a file that changed, or went, since it was trusted, then it is skipped with a line."""
    file = write(tmp_path, "deploy", TOOL)
    items = settings(tmp_path).active("tool")
    for change in (lambda: file.write_text(json.dumps(TOOL | {"command": ["evil"]})), file.unlink):
        change()
        warnings: list[str] = []
        assert load(items, tmp_path, warnings.append) == ()
        assert "changed since you trusted it" in warnings[0]


def test_a_link_out_of_the_folder(tmp_path: Path) -> None:
    """Given a TOOL.json that is a link to somewhere else, then it is skipped with a line."""
    folder = tmp_path / "work"
    file = write(folder, "deploy", TOOL)
    outside = tmp_path / "TOOL.json"
    file.rename(outside)
    file.symlink_to(outside)
    tools, warnings = found(folder)
    assert tools == ()
    assert len(warnings) == 1
    assert "leads out of the working folder" in warnings[0]


BROKEN = {
    "no JSON": ('{\n "name": "x",\n}', "line 3"),
    "no object": ("[1]", "object"),
    "no description": ({"command": ["x"]}, "description"),
    "an empty description": (TOOL | {"description": " "}, "description"),
    "a name with a space": (TOOL | {"name": "a b"}, "a b"),
    "a name that is too long": (TOOL | {"name": "a" * 65}, "64"),
    "a name that no rule could have": (TOOL | {"name": "1st"}, "1st"),
    "a name that is a number": (TOOL | {"name": 3}, "name"),
    "a reserved name": (TOOL | {"name": "Bash"}, "own tools"),
    "a reserved name in other letters": (TOOL | {"name": "bash"}, "own tools"),
    "an old name": (TOOL | {"name": "KillShell"}, "own tools"),
    "a server's name": (TOOL | {"name": "mcp__a__b"}, "own tools"),
    "no command": ({"name": "x", "description": "x"}, "command"),
    "a command as text": (TOOL | {"command": "rm -rf x"}, "command"),
    "an empty command": (TOOL | {"command": []}, "command"),
    "a number in the command": (TOOL | {"command": ["a", 1]}, "command"),
    "a program from the input": (TOOL | {"command": ["{a}"]}, "cannot come from the input"),
    "an unknown placeholder": (TOOL | {"command": ["a", "{b}"]}, "{b}"),
    "two shell commands": (TOOL | {"command": ["a", "b"], "shell": True}, "one command"),
    "a shell that is a text": (TOOL | {"shell": "yes"}, "shell"),
    "a time of nothing": (TOOL | {"timeout": 0}, "seconds"),
    "a time as text": (TOOL | {"timeout": "1"}, "seconds"),
    "a time that is true": (TOOL | {"timeout": True}, "seconds"),
    "an unknown output": (TOOL | {"output": "xml"}, "output"),
    "a schema that is none": (TOOL | {"input_schema": {"type": 3}}, "input_schema"),
    "a remote reference": (
        TOOL | {"input_schema": {"properties": {"a": {"$ref": "https://example.com/s"}}}},
        "nothing is fetched",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_one_is_one_line(tmp_path: Path, what: str) -> None:
    """Given a TOOL.json with a fault, then it is one warning with file and line, and the others count."""
    content, said = BROKEN[what]
    write(tmp_path, "broken", content)
    write(tmp_path, "whole", TOOL | {"name": "whole"})
    tools, warnings = found(tmp_path)
    assert [tool.name for tool in tools] == ["whole"]
    assert len(warnings) == 1, warnings
    assert ".maia/tools/broken/TOOL.json" in warnings[0]
    assert said in warnings[0]
    assert "\n" not in warnings[0]


def test_the_line_of_a_fault(tmp_path: Path) -> None:
    """The line is the one where the field stands."""
    write(tmp_path, "x", '{\n  "description": "x",\n  "command": ["a"],\n  "timeout": -1\n}')
    assert "TOOL.json, line 4: timeout:" in found(tmp_path)[1][0]


def test_doubles_and_unknown_fields(tmp_path: Path) -> None:
    """Given two of one name, then the first counts; an unknown field is named with the nearest."""
    write(tmp_path, "a", TOOL)
    write(tmp_path, "b", TOOL | {"description": "Another.", "time_out": 3})
    tools, warnings = found(tmp_path)
    assert [tool.description for tool in tools] == ["Deploys."]
    assert any("already a tool deploy" in line for line in warnings)
    assert any("time_out" in line and "timeout" in line for line in warnings)
