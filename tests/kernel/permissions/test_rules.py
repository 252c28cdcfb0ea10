"""The grammar of rules, command patterns and path patterns."""

from pathlib import Path

import pytest

from maia_kernel.permissions import (
    Policy,
    RuleError,
    RuleSource,
    guarded_patterns,
    is_known,
    parse_rule,
    removed_tools,
    whole_tool,
)
from maia_kernel.permissions.patterns import Anchored, below
from maia_kernel.permissions.reads import rule_matches
from maia_kernel.permissions.rules import matches_command

SOURCE = RuleSource("user", None, Path("/home/me/.maia"))


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("npm run build", "npm run build", True),
        ("npm run build", "npm run build --x", False),
        ("ls *", "ls", True),
        ("ls *", "ls -la", True),
        ("ls *", "lsof", False),
        ("ls*", "lsof", True),
        ("ls:*", "ls -la", True),
        ("ls:*", "lsof", False),
        ("git:* push", "git push", False),
        ("* install", "npm install", True),
        ("git * main", "git push origin main", True),
        ("git * main", "git push origin", False),
        (r"ls \*.py", "ls *.py", True),
        (r"ls \*.py", "ls a.py", False),
    ],
)
def test_command_patterns(pattern: str, command: str, expected: bool) -> None:
    """A Bash pattern matches what the public table of patterns says."""
    assert matches_command(pattern, command) is expected


@pytest.mark.parametrize(
    "written",
    [
        *("", "Bash(", "Bash(ls", "Bash()", "Bash(:*)", "(ls)", "Read(!x)", "Read(../x)", "1x"),
        *("Bash(*", "Bash(a\x07b)", "Bash(command:rm *)", "Read(file_path : /x)", "Grep(path:x)"),
        *("WebFetch(example.com)", "WebFetch(https://example.com/*)", "WebFetch(url:*)"),
        *("WebFetch(domain:)", "WebFetch(domain:a b)", "WebFetch(domain:a/b)", "mcp__a__b(c)"),
    ],
)
def test_malformed_rules_are_refused(written: str) -> None:
    """A malformed rule raises and says why."""
    with pytest.raises(RuleError, match=r"\w"):
        parse_rule(written, "deny", SOURCE)


@pytest.mark.parametrize("written", ["*", "B*", "mcp__*"])
def test_an_allow_rule_names_its_tool(written: str) -> None:
    """A glob over tools may deny, but not allow, unless it stays within one MCP server."""
    assert parse_rule(written, "deny", SOURCE).tool == written
    with pytest.raises(RuleError):
        parse_rule(written, "allow", SOURCE)
    assert parse_rule("mcp__server__get_*", "allow", SOURCE).tool == "mcp__server__get_*"


def test_texts_and_aliases() -> None:
    """A rule shows itself as written; a star is the whole tool; old names are today's."""
    assert parse_rule(" Bash(git:*) ", "allow", SOURCE).text == "Bash(git:*)"
    assert parse_rule("Bash(*)", "allow", SOURCE).specifier is None
    assert parse_rule("Task(x)", "deny", SOURCE).tool == "Agent"
    assert parse_rule("Bash(echo (x))", "allow", SOURCE).specifier == "echo (x)"
    assert is_known(parse_rule("Bash", "deny", SOURCE))
    assert not is_known(parse_rule("Bush", "deny", SOURCE))


def test_a_malformed_deny_is_its_whole_tool() -> None:
    """A deny that cannot be read is taken for its tool; without a tool's name there is nothing."""
    broad = whole_tool("Bash(rm", SOURCE)
    assert broad is not None
    assert (broad.behavior, broad.tool, broad.specifier) == ("deny", "Bash", None)
    assert whole_tool("(rm)", SOURCE) is None


def test_removed_tools() -> None:
    """Bare denies take tools out of the list, scoped ones do not."""
    names = ("Bash", "Edit", "Read", "TaskStop", "WebFetch", "WebSearch", "mcp__a__x", "mcp__b__x")
    written = ("Bash", "Read(x)", "Web*", "Edit(*)", "Kill*", "Mcp(a)", "mcp__b__y")
    rules = tuple(parse_rule(t, "deny", SOURCE) for t in written)
    assert removed_tools(rules, names) == set(names) - {"Read", "mcp__b__x"}
    everything = (parse_rule("*", "deny", SOURCE),)
    assert removed_tools(everything, names) == set(names)


DEPTHS = [
    # pattern, path below the working folder, allow, deny
    (".env", ".env", True, True),
    (".env", "a/b/.env", True, True),
    ("src/**", "src/a/b.py", True, True),
    ("src/**", "x/src/a.py", False, True),
    ("src/", "src/a.py", True, True),
    ("src/", "x/src/a.py", False, True),
    ("/src/**", "x/src/a.py", False, False),
    ("src/components/**", "src/components/a", True, True),
    ("src/components/**", "x/src/components/a", False, False),
    ("**/src/**", "x/src/a.py", True, True),
    ("*.py", "a/b.py", True, True),
    ("src/*.py", "src/a.py", True, True),
    ("src/*.py", "src/x/a.py", False, False),
    ("./a.py", "a.py", True, True),
    ("./a.py", "x/a.py", False, True),
    ("src/**", "srcs/a.py", False, False),
    ("src/**", "src", True, True),
]


@pytest.mark.parametrize(("pattern", "path", "allow", "deny"), DEPTHS)
def test_depth_of_path_patterns(
    pattern: str, path: str, allow: bool, deny: bool, tmp_path: Path
) -> None:
    """A relative pattern reaches as deep as the depth table says, further for deny than for allow."""
    policy = Policy((), "default", tmp_path, Path.home())
    source = RuleSource("project", None, tmp_path)
    target = tmp_path / path
    for behavior, expected in (("allow", allow), ("deny", deny)):
        rule = parse_rule(f"Read({pattern})", behavior, source)  # type: ignore[arg-type]
        assert rule_matches(rule, target, target, policy) is expected


def test_anchors(tmp_path: Path) -> None:
    """`//` is absolute, `~` is home, `/` is the source's folder; nothing reaches above its anchor."""
    home, work = tmp_path / "home", tmp_path / "work"
    policy = Policy((), "default", work, home)
    source = RuleSource("user", None, home / ".maia")
    cases = {
        f"/{tmp_path}/x/**": tmp_path / "x" / "a",
        "~/notes/**": home / "notes" / "a",
        "/own/**": home / ".maia" / "own" / "a",
        "here/**": work / "here" / "a",
        "//**/.env": Path("/somewhere/.env"),
    }
    for pattern, inside in cases.items():
        rule = parse_rule(f"Read({pattern})", "deny", source)
        assert rule_matches(rule, inside, inside, policy), pattern
        others = [path for other, path in cases.items() if other != pattern]
        assert not any(rule_matches(rule, path, path, policy) for path in others), pattern


def test_what_a_search_leaves_out(tmp_path: Path) -> None:
    """Read rules become patterns with the folder they start from, which is not always the working one;
    a bare deny is about everything."""
    work = tmp_path / "work"
    source = RuleSource("project", None, tmp_path)
    patterns = [".env", "secrets/**", "//**/*.pem", "/work/private/**", "~/keys/**"]
    rules = tuple(parse_rule(f"Read({pattern})", "deny", source) for pattern in patterns)
    found = guarded_patterns(Policy(rules, "default", work, Path("/home/me")), "deny")
    assert found == (
        Anchored(work, ".env"),
        Anchored(work, "**/secrets/**"),
        Anchored(Path("/"), "/**/*.pem"),
        Anchored(tmp_path, "/work/private/**"),
        Anchored(Path("/home/me"), "/keys/**"),
    )
    assert guarded_patterns(Policy(rules, "default", work, Path("/home/me")), "ask") == ()
    everything = Policy((parse_rule("Read", "deny", source),), "default", work, Path("/home/me"))
    (pattern,) = guarded_patterns(everything, "deny")
    assert below(pattern, work) == "**"
