"""Glob and Grep: patterns, order, limits, what is left out, and faults explained."""

import os
import subprocess
from typing import Any

import pytest

from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.permissions.patterns import Anchored
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.glob import Glob, GlobInput
from maia_kernel.tools.grep import Grep, GrepInput
from tests.support.tools import call


@pytest.fixture
def tree(context: ToolContext) -> ToolContext:
    """A git repository with an ignored folder, a hidden one, and files of known ages."""
    names = [
        "a.py",
        "b.ts",
        "c.tsx",
        "src/d.py",
        "src/deep/e.py",
        ".github/f.yml",
        "out/g.py",
        "[x].py",
        "!h.py",
        "secret/key.pem",
    ]
    for age, name in enumerate(names):
        path = context.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"name = '{name}'\nTODO later\nend\n")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    (context.cwd / ".gitignore").write_text("out/\n")
    subprocess.run(["git", "init", "-q", str(context.cwd)], check=True)
    return context


async def glob(context: ToolContext, pattern: str, **more: Any) -> list[str]:
    return (await call(Glob(), context, pattern=pattern, **more)).text.splitlines()


async def grep(context: ToolContext, pattern: str, **more: Any) -> str:
    return (await call(Grep(), context, pattern=pattern, **more)).text


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/*.py", ["a.py", "src/d.py", "src/deep/e.py", "[x].py", "!h.py"]),
        ("*.{ts,tsx}", ["b.ts", "c.tsx"]),
        ("src/*.py", ["src/d.py"]),
        ("./src/**/*.py", ["src/d.py", "src/deep/e.py"]),
        ("src/**", ["src/d.py", "src/deep/e.py"]),
        ("**/*.yml", [".github/f.yml"]),
        ("*.p[xy]", ["a.py", "src/d.py", "src/deep/e.py", "[x].py", "!h.py"]),
        ("!h.py", ["!h.py"]),
        ("{a,b}.{py,ts}", ["a.py", "b.ts"]),
        ("?.ts", ["b.ts"]),
    ],
)
async def test_glob_patterns(tree: ToolContext, pattern: str, found: list[str]) -> None:
    """Patterns find their files, the newest first, without what git ignores."""
    assert await glob(tree, pattern) == found


async def test_glob_folders(tree: ToolContext) -> None:
    """A path, an absolute pattern and one from the parent search there, and the subject says where."""
    assert await glob(tree, "*.py", path="src") == ["src/d.py", "src/deep/e.py"]
    assert await glob(tree, f"{tree.cwd}/src/*.py") == ["src/d.py"]
    absolute = GlobInput(pattern=f"{tree.cwd.parent}/**/*.py")
    assert Glob().subject(absolute, tree).paths[0].path == tree.cwd.parent
    upward = GlobInput(pattern="../*.py")
    assert Glob().subject(upward, tree).paths[0].path == tree.cwd.parent
    assert Glob().subject(GlobInput(pattern="~/*.md"), tree).paths[0].path != tree.cwd
    assert await glob(tree, "*.rs") == ["No file matches *.rs in the working folder."]
    with pytest.raises(ToolFailed, match="does not exist"):
        await glob(tree, "*", path="nowhere")
    with pytest.raises(ToolFailed, match="is a file"):
        await glob(tree, "*", path="a.py")
    with pytest.raises(ToolRetry):
        await glob(tree, "")
    with pytest.raises(ToolRetry, match="braces"):
        await glob(tree, "{a,b,c}" * 8)


async def test_glob_gives_a_thousand_and_counts_the_rest(context: ToolContext) -> None:
    """Given 1,200 files, 1,000 are named and 200 counted."""
    for number in range(1_200):
        (context.cwd / f"{number}.txt").touch()
    lines = await glob(context, "*.txt")
    assert len(lines) == 1_001
    assert lines[-1].startswith("(200 more files")


async def test_denied_files_are_left_out(tree: ToolContext) -> None:
    """Files with a Read denial appear neither by name nor by content."""
    tree.read_denied = (Anchored(tree.cwd, "secret/**"), Anchored(tree.cwd, "*.ts"))
    assert await glob(tree, "**/*.{pem,ts,tsx}") == ["c.tsx"]
    assert "key.pem" not in await grep(tree, "TODO")
    assert "b.ts:" not in await grep(tree, "TODO", output_mode="content")
    assert "key.pem" not in await grep(tree, "TODO", path="secret")


async def test_a_configuration_of_ripgrep_does_not_count(
    tree: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person's ripgrep settings change nothing."""
    config = tree.cwd.parent / "rgrc"
    config.write_text("--no-ignore\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    assert "out/g.py" not in await grep(tree, "TODO")


async def test_grep_files(tree: ToolContext) -> None:
    """By default the files that match, the newest first; glob and type narrow."""
    assert (await grep(tree, "TODO", glob="*.py")).splitlines() == [
        "a.py",
        "src/d.py",
        "src/deep/e.py",
        "[x].py",
        "!h.py",
    ]
    assert (await grep(tree, "TODO", type="ts")).splitlines() == ["b.ts", "c.tsx"]
    assert await grep(tree, "todo") == "No matches found."
    assert (await grep(tree, "todo", **{"-i": True, "path": "a.py"})) == "a.py"


async def test_grep_content(tree: ToolContext) -> None:
    """Matching lines come with path and number; context, only-matching and multiline work."""
    assert await grep(tree, "TODO", path="src", output_mode="content") == (
        "src/d.py:2:TODO later\nsrc/deep/e.py:2:TODO later"
    )
    assert await grep(tree, "TODO", path="a.py", output_mode="content", **{"-C": 1}) == (
        "a.py-1-name = 'a.py'\na.py:2:TODO later\na.py-3-end"
    )
    assert (
        await grep(tree, "la.er", path="a.py", output_mode="content", **{"-o": True, "-n": False})
        == "a.py:later"
    )
    assert await grep(tree, "later.end", path="a.py", output_mode="content", multiline=True) == (
        "a.py:2:TODO later\na.py:3:end"
    )
    assert (
        await grep(tree, "(?<=TODO )later", path="a.py", output_mode="content")
        == "a.py:2:TODO later"
    )
    assert await grep(tree, "-x", path="a.py") == "No matches found."


async def test_grep_counts(tree: ToolContext) -> None:
    """Counts come by file with their sum."""
    text = await grep(tree, "e", path="src", output_mode="count")
    assert text == "src/d.py:3\nsrc/deep/e.py:3\n6 matching lines in 2 files"


async def test_grep_pages(tree: ToolContext) -> None:
    """Head limit and offset page through the lines and say what is left."""
    (tree.cwd / "many.txt").write_text("".join(f"hit {n}\n" for n in range(1_000)))
    fields = {"path": "many.txt", "output_mode": "content"}
    first = (await grep(tree, "hit", **fields)).splitlines()
    assert len(first) == 251
    assert first[-1] == "(750 more lines: go on with offset 250)"
    page = (await grep(tree, "hit", head_limit=2, offset=998, **fields)).splitlines()
    assert page == ["many.txt:999:hit 998", "many.txt:1000:hit 999"]
    assert len((await grep(tree, "hit", head_limit=0, **fields)).splitlines()) == 1_000
    assert "there are 1,000 lines" in await grep(tree, "hit", offset=5_000, **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pattern": "f("}, "not a valid regular expression"),
        ({"pattern": "interface{}["}, "backslash"),
        ({"pattern": "x", "type": "nolanguage"}, "unrecognized file type"),
        ({"pattern": "x", "glob": "[a"}, "glob"),
        ({"pattern": ""}, "not empty"),
    ],
)
async def test_grep_explains_faults(
    tree: ToolContext, fields: dict[str, Any], message: str
) -> None:
    """A wrong pattern, type or glob is explained so that the next call is right."""
    with pytest.raises(ToolRetry, match=message):
        await call(Grep(), tree, **fields)


async def test_very_long_lines_are_cut(tree: ToolContext) -> None:
    """A matching line of a megabyte comes as a preview."""
    (tree.cwd / "min.js").write_text("x" * 1_000_000)
    assert len(await grep(tree, "x+", path="min.js", output_mode="content")) < 1_500


def test_the_schema_has_the_names_models_know() -> None:
    """Flags keep their dashes in the schema, and the parsed input takes them."""
    properties = Grep().schema()["properties"]
    assert {
        "-i",
        "-n",
        "-A",
        "-B",
        "-C",
        "-o",
        "context",
        "head_limit",
        "offset",
        "multiline",
    } <= set(properties)
    assert "anyOf" not in str(properties)
    assert GrepInput.model_validate({"pattern": "x", "-A": 2}).after == 2


async def test_maias_own_transcripts_are_not_searched(context: ToolContext) -> None:
    """Given a transcript that holds the words, Grep and Glob leave it out."""
    folder = context.cwd / ".maia" / ".sessions"
    folder.mkdir(parents=True)
    (folder / "session.jsonl").write_text("needle\n")
    (context.cwd / "a.txt").write_text("needle\n")
    found = await call(Grep(), context, pattern="needle")
    assert found.text.splitlines() == ["a.txt"]
    assert "session.jsonl" not in (await call(Glob(), context, pattern="**/*")).text
