"""The corpus of hostile paths: what is decided, what the tool then says, and nothing of outside."""

import os
import re
import socket
import tomllib
from pathlib import Path
from typing import Any

import pytest

from maia_kernel.errors import ToolError
from maia_kernel.permissions import (
    Behavior,
    Policy,
    Rule,
    RuleSource,
    decide,
    guarded_patterns,
    parse_rule,
)
from maia_kernel.tools.base import Tool
from maia_kernel.tools.edit import Edit
from maia_kernel.tools.glob import Glob
from maia_kernel.tools.grep import Grep
from maia_kernel.tools.read import Read
from maia_kernel.tools.write import Write
from tests.support.tools import call, tool_context

CORPUS = tomllib.loads((Path(__file__).parents[2] / "corpora/paths.toml").read_text("utf-8"))
ENTRIES: list[dict[str, Any]] = CORPUS["path"]
TOOLS: dict[str, tuple[Tool[Any], str, dict[str, str]]] = {
    "Read": (Read(), "file_path", {}),
    "Write": (Write(), "file_path", {"content": "PWNED\n"}),
    "Edit": (Edit(), "file_path", {"old_string": "a", "new_string": "PWNED"}),
    "Grep": (Grep(), "path", {"pattern": "ours|TOKEN|PRIVATE"}),
    "Glob": (Glob(), "path", {"pattern": "**"}),
}


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    """At least eighty paths, each with a name of its own."""
    names = [entry["name"] for entry in ENTRIES]
    assert len(set(names)) == len(names) >= 80


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["name"] for entry in ENTRIES])
async def test_paths(
    entry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given the tree and the rules, the path is decided as written, and what is allowed reads nothing and
    writes nothing outside."""
    top = tmp_path.resolve()
    places = _tree(top)
    monkeypatch.setenv("HOME", places["home"])
    tool, field, more = TOOLS[entry.get("tool", "Read")]
    field = "pattern" if entry.get("pattern") else field
    parsed = tool.Input.model_validate({**more, field: _filled(entry["path"], places)})
    additional = (Path(places["extra"]),) if entry.get("additional") else ()
    policy = Policy(
        rules=tuple(_rule(text, top / "work", places) for text in entry.get("rules", ())),
        mode="acceptEdits" if tool.name in ("Write", "Edit") else "default",
        cwd=top / "work",
        home=Path(places["home"]),
        additional=additional,
    )
    context = tool_context(top, additional=additional)
    context.read_denied = guarded_patterns(policy, "deny")
    before = _outside(top)
    if entry["expect"] == "invalid":
        with pytest.raises(ToolError, match=entry["says"]):
            tool.validate(parsed, context)
        return
    decision = decide(tool.subject(parsed, context), policy)
    assert decision.behavior == entry["expect"], decision.reason
    if decision.behavior == "allow":
        fields = parsed.model_dump(exclude_unset=True)
        try:
            text = (await call(tool, context, **fields)).text
        except ToolError as error:
            text = str(error)
        assert re.search(entry["says"], text), text
        assert "PRIVATE" not in text or entry.get("may_read")
        assert tool.name not in ("Grep", "Glob") or "private.txt" not in text
    assert _outside(top) == before


def _rule(text: str, cwd: Path, places: dict[str, str]) -> Rule:
    behavior, _, rule = _filled(text, places).partition(" ")
    kind: Behavior = "deny" if behavior == "deny" else "allow"
    return parse_rule(rule, kind, RuleSource("user", None, cwd))


def _filled(text: str, places: dict[str, str]) -> str:
    for name, value in places.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _tree(top: Path) -> dict[str, str]:
    tree = CORPUS["tree"]
    places = {name: str(top / name) for name in ("work", "outside", "home", "extra")}
    for folder in tree["folders"]:
        (top / folder).mkdir(parents=True)
    for name, content in tree["files"].items():
        (top / name).write_text(content)
    for name, target in tree["links"].items():
        (top / name).symlink_to(_filled(target, places))
    for name, target in tree["hard"].items():
        (top / name).hardlink_to(top / target)
    for name in tree["fifos"]:
        os.mkfifo(top / name)
    for name in tree["sockets"]:
        _bind(top / name)
    return {**places, "long": "x" * 300, "deep": "sub/../" * 900, "open": "{", "close": "}"}


def _bind(path: Path) -> None:
    # The name of a socket has a limit of 108 bytes.
    folder = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)


def _outside(top: Path) -> dict[str, bytes]:
    """Everything outside the working folder."""
    return {
        str(path): path.read_bytes() if path.is_file() else b""
        for place in ("outside", "home", "extra")
        for path in sorted((top / place).rglob("*"))
        if not path.is_symlink()
    }
