"""What a project brings along counts only after the person's word, item by item."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from maia_kernel.errors import SettingsError
from maia_kernel.settings import Flags, Settings, load
from maia_kernel.settings.granting import decide, revoke
from maia_kernel.settings.keys import Keys, KnownSecrets
from maia_kernel.settings.trust import trust_file
from maia_kernel.settings.writer import allow_always

HOOK = {"matcher": "Bash", "hooks": [{"type": "command", "command": "make check"}]}


class Project:
    """A home and, outside of it, a project with a git root and a sub-folder to work in."""

    def __init__(self, root: Path) -> None:
        self.home, self.root = root / "home", root / "project"
        self.cwd = self.root / "sub"
        self.home.mkdir()
        self.cwd.mkdir(parents=True)
        (self.root / ".git").mkdir()

    def write(self, path: str, data: Any) -> Path:
        """A file of the project: a text as it is, anything else as JSON."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        return file

    def load(
        self,
        environ: Mapping[str, str] | None = None,
        flags: Flags | None = None,
        session: frozenset[str] = frozenset(),
        cwd: Path | None = None,
    ) -> Settings:
        """The settings of the working folder."""
        return load(
            cwd or self.cwd,
            environ=environ or {},
            home=self.home,
            flags=flags,
            managed=self.home / "none.json",
            session=session,
        )

    def trust(self) -> Settings:
        """The settings once the person has trusted all that waits."""
        settings = self.load()
        decide(settings, settings.waiting, "trusted")
        return self.load()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    return Project(tmp_path)


def names(settings: Settings, state: str = "waiting") -> list[str]:
    """The items in one state, as `kind name`, in the order in which they are shown."""
    return [f"{item.kind} {item.name}" for item in settings.project if item.state == state]


def test_everything_that_could_run_is_listed(project: Project) -> None:
    """Given a project with every kind of thing, all of it waits, in groups, with what it would do."""
    settings = {
        "permissions": {
            "allow": ["Bash(make:*)"],
            "deny": ["Edit"],
            "defaultMode": "acceptEdits",
            "additionalDirectories": ["/usr/share"],
            "askReads": False,
        },
        "env": {"API_TOKEN": "canary-secret", "PLAIN": "shown"},
        "hooks": {"PreToolUse": [HOOK]},
        "sandbox": {"excludedCommands": ["make"]},
        "apiKeyHelper": "./key.sh",
        "enabledPlugins": {"a@b": True},
        "model": "scripted:play.yaml",
        "statusLine": None,
    }
    project.write(".claude/settings.json", settings)
    project.write(".mcp.json", {"mcpServers": {"files": {"command": "npx", "args": ["server"]}}})
    project.write("sub/.maia/tools/run/TOOL.json", {"name": "run", "command": ["./run.sh"]})
    project.write(".maia/tools/above/TOOL.json", {"name": "above", "command": ["./run.sh"]})
    project.write(
        ".maia/skills/deploy/SKILL.md", "---\nname: deploy\nallowed-tools: Bash\n---\nGo."
    )
    project.write(".maia/skills/plain/SKILL.md", "---\nname: plain\n---\nThink first.")
    project.write(".claude/commands/git/sync.md", "Status:\n!`git fetch`\n")
    project.write(".claude/commands/words.md", "Only words!\n")
    project.write(".claude/agents/free.md", "---\npermissionMode: acceptEdits\n---\nGo.")
    project.write(".maia/plugins/p/.claude-plugin/plugin.json", {"name": "p"})
    project.write("sub/.maia/config.json", {"anthropic": {"baseUrl": "http://a.example.com"}})
    project.write("sub/.env", "OPENAI_API_KEY=canary-secret\nDATABASE=x\n")
    found = project.load()
    assert names(found) == [
        "hooks PreToolUse (Bash)",
        "command apiKeyHelper",
        "mcp files",
        "tool .maia/tools/run/TOOL.json",
        "plugin .maia/plugins/p/.claude-plugin/plugin.json",
        "skill .maia/skills/deploy/SKILL.md",
        "slash .claude/commands/git/sync.md",
        "agent .claude/agents/free.md",
        "allow Bash(make:*)",
        "mode permissions.defaultMode",
        "folders /usr/share",
        "sandbox sandbox.excludedCommands",
        "setting enabledPlugins",
        "setting permissions.askReads",
        "config anthropic",
        "model model",
        "env API_TOKEN",
        "env PLAIN",
        "dotenv OPENAI_API_KEY",
    ]
    details = {item.name: item.detail for item in found.project}
    assert "make check" in details["PreToolUse (Bash)"]
    assert "npx" in details["files"]
    assert "./run.sh" in details[".maia/tools/run/TOOL.json"]
    assert details[".claude/commands/git/sync.md"] == "!`git fetch`"
    assert (details["PLAIN"], details["API_TOKEN"]) == ("PLAIN=shown", "API_TOKEN=***")
    assert [rule.text for rule in found.rules] == ["Edit"]
    assert (found.model, found.mode, dict(found.env), found.additional) == (None, "default", {}, ())
    assert (dict(found.dotenv), found.anthropic.base_url) == ({}, None)
    assert [w for w in found.warnings if "19 settings" in w]


def test_trust_stays_and_a_change_asks_again(project: Project) -> None:
    """Given trusted items, when one changes, then it alone waits again; the others still count."""
    data = {"permissions": {"allow": ["Bash(make)"]}, "env": {"A": "1", "B": "2"}}
    project.write("sub/.maia/settings.json", data)
    found = project.trust()
    assert (names(found), dict(found.env), found.warnings) == ([], {"A": "1", "B": "2"}, ())
    project.write("sub/.maia/settings.json", data | {"env": {"A": "1", "B": "other"}})
    found = project.load()
    assert (names(found), dict(found.env)) == (["env B"], {"A": "1"})
    assert [rule.text for rule in found.rules] == ["Bash(make)"]
    # A rule that only moves to the local file is the same rule; in another folder it is another one.
    project.write("sub/.maia/settings.json", {})
    project.write("sub/.maia/settings.local.json", data)
    assert names(project.load()) == []
    project.write(".maia/settings.json", data)
    assert names(project.load()) == ["allow Bash(make)", "env A", "env B"]


def test_a_changed_file_waits(project: Project) -> None:
    """Given a trusted tool, when a byte of its file changes, then it waits, and is not its file any more."""
    file = project.write("sub/.maia/tools/run/TOOL.json", {"name": "run", "command": ["a"]})
    (item,) = project.trust().active("tool")
    assert item.is_of(file.read_bytes())
    project.write("sub/.maia/tools/run/TOOL.json", {"name": "run", "command": ["b"]})
    assert not item.is_of(file.read_bytes())
    assert project.load().active("tool") == ()


def test_the_trust_file(project: Project) -> None:
    """Grants are the person's alone to read, hold no values, and are of one folder."""
    project.write("sub/.maia/settings.json", {"env": {"API_TOKEN": "canary-secret"}})
    project.trust()
    file = trust_file(project.home)
    assert file.stat().st_mode & 0o777 == 0o600
    assert "canary" not in file.read_text(encoding="utf-8")
    other = project.root / "other"
    (other / ".maia").mkdir(parents=True)
    source = project.cwd / ".maia" / "settings.json"
    (other / ".maia" / "settings.json").write_bytes(source.read_bytes())
    assert names(project.load(cwd=other)) == ["env API_TOKEN"]
    link = project.root.parent / "link"
    link.symlink_to(project.cwd)
    assert names(project.load(cwd=link), "trusted") == ["env API_TOKEN"]


@pytest.mark.parametrize("content", ["{broken", "[]", '{"folders": 3}', '{"folders": {"F": []}}'])
def test_a_broken_trust_file_trusts_nothing(project: Project, content: str) -> None:
    """Given a trust file that says nothing sensible, nothing counts; a broken one is never written over."""
    project.write("sub/.maia/settings.json", {"permissions": {"allow": ["Bash(make)"]}})
    file = trust_file(project.home)
    file.parent.mkdir()
    file.write_text(content.replace("F", str(project.cwd)), encoding="utf-8")
    found = project.load()
    assert found.rules == ()
    if not content.startswith('{"'):
        assert len([w for w in found.warnings if "trust.json" in w]) == 1
        for write in (lambda: decide(found, found.waiting, "trusted"), lambda: revoke(found)):
            with pytest.raises(SettingsError):
                write()
        assert file.read_text(encoding="utf-8") == content


def test_refusing_and_revoking(project: Project) -> None:
    """What was refused is not asked again and does not count; revoking forgets every word."""
    project.write("sub/.maia/settings.json", {"permissions": {"allow": ["Bash(make)"]}})
    found = project.load()
    decide(found, found.waiting, "refused")
    found = project.load()
    assert (found.waiting, found.rules, found.warnings) == ((), (), ())
    assert names(found, "refused") == ["allow Bash(make)"]
    decide(found, found.project, "trusted")
    assert len(project.load().rules) == 1
    assert revoke(found) == (project.cwd, project.root)
    assert len(project.load().waiting) == 1


def test_home_is_trusted_for_a_session_only(project: Project) -> None:
    """Given the home folder as working folder, trust counts now and is not kept."""
    (project.home / ".env").write_text("MAIA_EFFORT=low\n", encoding="utf-8")
    found = project.load(cwd=project.home)
    session = decide(found, found.waiting, "trusted")
    assert not trust_file(project.home).exists()
    assert project.load(cwd=project.home, session=session).effort == "low"
    assert project.load(cwd=project.home).effort is None


def test_always_allow_needs_no_second_word(project: Project) -> None:
    """What MAIA writes on the person's word counts at once, and what was there still waits."""
    project.write("sub/.maia/settings.local.json", {"permissions": {"allow": ["Bash(evil)"]}})
    allow_always(project.load(), "Bash(make)")
    found = project.load()
    assert [rule.text for rule in found.rules] == ["Bash(make)"]
    assert names(found) == ["allow Bash(evil)"]
    allow_always(project.load(), "Task(helper)", "Read( a.txt )")
    assert names(project.load()) == ["allow Bash(evil)"]


def test_plan_is_never_wider(project: Project) -> None:
    """A project may start in plan mode untrusted, and in no other: the person's own may be stricter."""
    for mode in ("plan", "default", "dontAsk", "acceptEdits"):
        project.write("sub/.maia/settings.json", {"permissions": {"defaultMode": mode}})
        found = project.load()
        assert (found.mode == "plan", bool(found.waiting)) == (mode == "plan", mode != "plan")


def test_dotenv(project: Project) -> None:
    """Given a trusted `.env`, its keys are below the real environment, secret, and not for children."""
    lines = (
        "export ANTHROPIC_API_KEY='canary-key-one'\nMAIA_EFFORT=low\nSERVER_KEY=canary-key-two\n"
    )
    project.write("sub/.env", f"{lines}MAIA_TRUST=1\nMAIA_BARE=1\nOTHER=canary-other\nnot a line\n")
    servers = {"box": {"url": "http://127.0.0.1:9/v1", "key": "${SERVER_KEY}"}}
    (project.home / ".maia").mkdir()
    (project.home / ".maia" / "servers.json").write_text(json.dumps(servers))
    assert names(project.load()) == [
        "dotenv ANTHROPIC_API_KEY",
        "dotenv MAIA_EFFORT",
        "dotenv SERVER_KEY",
    ]
    assert [w for w in project.load().warnings if "line 7" in w]
    found = project.trust()
    keys = Keys.from_environ({}, found)
    assert keys.anthropic_api_key is not None
    assert keys.anthropic_api_key.reveal() == "canary-key-one"
    real = Keys.from_environ({"ANTHROPIC_API_KEY": "canary-real"}, found)
    assert real.anthropic_api_key is not None
    assert real.anthropic_api_key.reveal() == "canary-real"
    assert (found.effort, project.load({"MAIA_EFFORT": "high"}).effort) == ("low", "high")
    assert found.servers["box"].key
    assert (dict(found.env), found.bare, found.trusted) == ({}, False, False)
    assert KnownSecrets.of(Keys(), found).redact("canary-key-one") == "***"
    assert "canary" not in repr(found)


@pytest.mark.parametrize("content", [b"A=\xff\xfe", b"A" * 300_000, b""])
def test_an_unfit_dotenv(project: Project, content: bytes) -> None:
    """A `.env` that is no text, or too large, is skipped with one line."""
    (project.cwd / ".env").write_bytes(content)
    found = project.load(flags=Flags(trust=True))
    assert dict(found.dotenv) == {}
    assert len(found.warnings) == (1 if content else 0)


@pytest.mark.parametrize("name", [".env", ".mcp.json", ".maia/settings.json", ".maia/mcp.json"])
def test_a_pipe_does_not_block(project: Project, name: str) -> None:
    """A named pipe in a file's place is skipped with one line."""
    file = project.cwd / name
    file.parent.mkdir(exist_ok=True)
    os.mkfifo(file)
    (line,) = project.load().warnings
    assert "not a regular file" in line


def test_links_that_lead_out(project: Project, tmp_path: Path) -> None:
    """A `.maia` that is a link out of the project is left out with one line; within it, it is read."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "settings.json").write_text('{"permissions": {"allow": ["Bash"]}}')
    (project.cwd / ".maia").symlink_to(outside)
    (project.cwd / ".claude").write_text("a file")
    found = project.load(flags=Flags(trust=True))
    assert found.rules == ()
    assert [w.partition(" is ")[2] for w in found.warnings] == [
        "a link that leads out of the project, so it was skipped.",
        "not a folder, so it was skipped.",
    ]
    with pytest.raises(SettingsError):
        allow_always(found, "Bash(make)")
    assert not (outside / "settings.local.json").exists()
    (project.cwd / ".maia").unlink()
    project.write(".maia/settings.json", {"permissions": {"deny": ["Edit"]}})
    (project.cwd / ".maia").symlink_to("../.maia")
    assert {rule.text for rule in project.load().rules} == {"Edit"}


def test_a_link_in_place_of_the_local_file(project: Project) -> None:
    """Given local settings that are a link to the person's own, a rule for this project is not
    written there."""
    own = project.home / ".maia" / "settings.json"
    own.parent.mkdir()
    own.write_text("{}")
    (project.cwd / ".maia").mkdir()
    (project.cwd / ".maia" / "settings.local.json").symlink_to(own)
    with pytest.raises(SettingsError):
        allow_always(project.load(), "Bash(make)")
    assert own.read_text() == "{}"


def test_too_much_to_read(project: Project) -> None:
    """What nobody could look through is not trusted, even when all that was shown is."""
    rules = [f"Bash(make {number})" for number in range(1_200)]
    project.write("sub/.maia/settings.json", {"permissions": {"allow": rules}})
    found = project.load()
    assert len(found.waiting) == 1_000
    assert [w for w in found.warnings if "more settings than" in w]
    assert len(project.trust().rules) == 1_000
