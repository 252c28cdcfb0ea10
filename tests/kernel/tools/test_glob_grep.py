"""Glob and Grep: patterns, order, limits, what is left out, and faults explained."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.permissions.patterns import Anchored
from maia_kernel.settings.keys import KnownSecrets
from maia_kernel.settings.values import Secret
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


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.log", ["kept.log"]),
        ("**/*.log", ["kept.log"]),
        ("out/**", []),
        ("out/*.py", []),
        ("src", ["src/d.py", "src/deep/e.py"]),
        ("src/", ["src/d.py", "src/deep/e.py"]),
        ("src/deep/e.py", ["src/deep/e.py"]),
        ("**/deep/*", ["src/deep/e.py"]),
        ("s?c/**/e.py", ["src/deep/e.py"]),
        ("{src/*.py,*.ts}", ["b.ts", "src/d.py"]),
        ("{a", []),
        ("secret/key.{pem,crt}", ["secret/key.pem"]),
        (".env*", [".env", ".env.example"]),
    ],
)
async def test_what_git_ignores_stays_out_whatever_the_pattern(
    tree: ToolContext, pattern: str, found: list[str]
) -> None:
    """Given patterns that name ignored files, folders, or both, the files are those of the pattern that
    git does not ignore."""
    (tree.cwd / ".gitignore").write_text("out/\n*.log\n!kept.log\n")
    for name in ("a.log", "src/b.log", "kept.log", ".env", ".env.example"):
        (tree.cwd / name).write_text("x")
    lines = await glob(tree, pattern)
    assert sorted(lines) == (sorted(found) or [f"No file matches {pattern} in the working folder."])


async def test_a_glob_for_grep_brings_nothing_back_that_git_ignores(tree: ToolContext) -> None:
    """Given a glob that ignored files match, too, Grep leaves them out; a negative one takes away."""
    (tree.cwd / ".gitignore").write_text("out/\n*.ts\n")
    assert "out/g.py" not in await grep(tree, "TODO", glob="**/*")
    assert "No matches" in await grep(tree, "TODO", glob="*.ts")
    assert "a.py" not in await grep(tree, "TODO", glob="!*.py")
    with pytest.raises(ToolRetry, match="without its ]"):
        await glob(tree, "[a")


async def test_a_glob_is_of_the_folder_searched_or_of_the_working_folder(tree: ToolContext) -> None:
    """Given a path and a glob with folders, it counts from the path, or from here if it begins so."""
    for pattern in ("deep/*.py", "src/deep/*.py", "./src/deep/*.py", "**/e.py"):
        assert await grep(tree, "TODO", path="src", glob=pattern) == "src/deep/e.py"
    assert "No matches" in await grep(tree, "TODO", path="src", glob="src/*.ts")


async def test_denials_hold_in_every_folder_that_is_searched(tree: ToolContext) -> None:
    """Given Read rules with other anchors than the working folder, a search elsewhere keeps them."""
    other = tree.cwd.parent / "other"
    for name in ("keys/a.txt", "b.txt", "private.txt", "asked.txt"):
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_text("TODO")
    tree.additional = (other,)
    tree.read_denied = (
        Anchored(other, "/keys/**"),
        Anchored(tree.cwd.parent, "/other/b.txt"),
        Anchored(Path("/"), "/**/private.txt"),
    )
    tree.read_asked = (Anchored(other, "asked.txt"),)
    assert "No matches" in await grep(tree, "TODO", path=str(other))
    assert (await glob(tree, "**/*", path=str(other)))[0].endswith("other/asked.txt")
    tree.read_asked = ()
    assert (await grep(tree, "TODO", path=str(other))).endswith("other/asked.txt")
    (tree.cwd / "link").symlink_to(other)
    assert await grep(tree, "TODO", path="link") == "link/asked.txt"


async def test_files_for_keys_are_searched_only_by_name(tree: ToolContext) -> None:
    """Given key files, a search of the folder leaves them out and says so, not their templates."""
    for name in (".env", ".env.example", "src/id_rsa"):
        (tree.cwd / name).write_text("WORD=1")
    found = await grep(tree, "WORD")
    assert found.splitlines() == [
        ".env.example",
        "(2 files that hold keys are left out: name one with path to search it)",
    ]
    assert await grep(tree, "WORD", path=".env") == ".env"
    tree.read_denied = (Anchored(tree.cwd, ".env"),)
    assert ".env.example" in await grep(tree, "WORD")


async def test_a_secret_is_hidden_before_a_long_line_is_cut(tree: ToolContext) -> None:
    """Given a key where a line is cut, no half of it is shown."""
    key = "sk-test-canary-0123456789"
    known = KnownSecrets()
    known.add(Secret(key))
    tree.secrets = known
    (tree.cwd / "min.js").write_text("x" * 990 + key + "x" * 3_000)
    text = await grep(tree, "x+", path="min.js", output_mode="content")
    assert key[:9] not in text
    assert "***" in text


async def test_names_with_line_ends_and_odd_bytes(tree: ToolContext) -> None:
    """Given names that a line cannot hold or that are no text, each is one line, and none is lost."""
    (tree.cwd / "two\nlines.md").write_text("NEEDLE")
    os.write(
        fd := os.open(os.fsencode(tree.cwd) + b"/caf\xe9.md", os.O_CREAT | os.O_WRONLY), b"NEEDLE"
    )
    os.close(fd)
    assert sorted(await glob(tree, "*.md")) == ["caf\ufffd.md", "two\\nlines.md"]
    assert sorted((await grep(tree, "NEEDLE")).splitlines()) == ["caf\ufffd.md", "two\\nlines.md"]
