"""Files, environment and flags become one value, and every part says where it came from."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from maia_kernel.errors import UsageError
from maia_kernel.settings import Flags, Settings, load


class House:
    """A home and a git project in it, with helpers to write settings and load them."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.cwd = self.project / "sub"
        self.managed = root / "managed.json"
        self.cwd.mkdir(parents=True)
        (self.project / ".git").mkdir()

    def write(self, path: str, data: Any) -> Path:
        """Write JSON (or a text as it is) at a path below home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(data if isinstance(data, str) else json.dumps(data))
        return file

    def load(
        self,
        flags: Flags | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Settings:
        """The settings of the working folder."""
        return load(
            self.cwd, environ=environ or {}, home=self.home, flags=flags, managed=self.managed
        )


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    """An empty house; HOME points at it, so that paths are shown with `~`."""
    built = House(tmp_path)
    monkeypatch.setenv("HOME", str(built.home))
    return built


def permissions(**lists: Any) -> dict[str, Any]:
    """A settings file with permissions."""
    return {"permissions": lists}


def texts(settings: Settings, behavior: str) -> list[str]:
    """The rules of one behaviour, as written."""
    return [rule.text for rule in settings.rules if rule.behavior == behavior]


def test_nothing_set(house: House) -> None:
    """Given no file at all, everything is a default and nothing is warned about."""
    settings = house.load()
    assert (settings.model, settings.mode, settings.rules) == (None, "default", ())
    assert (settings.retry_max, settings.api_timeout, settings.ui) == (8, 600.0, "auto")
    assert settings.warnings == ()
    assert settings.origins == {}
    assert settings.files == ()


def test_precedence_of_the_model(house: House) -> None:
    """The model comes from the flag, else the environment, the nearest project file, the user's."""
    house.write(".maia/config.json", {"model": "a:user"})
    assert house.load().model == "a:user"
    assert house.load().origins["model"] == "~/.maia/config.json"
    house.write("project/.maia/config.json", {"model": "a:root", "smallModel": "a:small"})
    assert house.load().model == "a:root"
    house.write("project/sub/.maia/config.json", {"model": "a:near"})
    assert house.load().model == "a:near"
    assert house.load().small_model == "a:small"
    environ = {"ANTHROPIC_MODEL": "claude-x"}
    assert house.load(environ=environ).model == "anthropic:claude-x"
    environ["MAIA_MODEL"] = "a:env"
    found = house.load(environ=environ)
    assert (found.model, found.origins["model"]) == ("a:env", "MAIA_MODEL")
    found = house.load(Flags(model="a:flag"), environ)
    assert (found.model, found.origins["model"]) == ("a:flag", "--model")


def test_settings_of_other_agents_come_last(house: House) -> None:
    """`.claude` files are read below MAIA's own, and their rules count."""
    house.write(
        ".claude/settings.json", {"model": "claude-y", "effortLevel": "low", "tui": 1, "new": 2}
    )
    found = house.load()
    assert (found.model, found.effort, found.warnings) == ("anthropic:claude-y", "low", ())
    house.write(".maia/config.json", {"effort": "high"})
    house.write("project/.claude/settings.json", permissions(deny=["Bash(rm:*)"]))
    found = house.load()
    assert found.effort == "high"
    assert texts(found, "deny") == ["Bash(rm:*)"]


def test_rules_add_up_from_the_git_root_down(house: House) -> None:
    """Rules of every folder between the git root and the working folder count; above it none do."""
    house.write(".maia/settings.json", permissions(allow=["Bash(a)"], deny=["Bash(b)"]))
    house.write("project/.maia/settings.json", permissions(deny=["Bash(c)"], ask=["Bash(d)"]))
    house.write("project/sub/.maia/settings.local.json", permissions(deny=["Bash(e)"]))
    house.write("../.maia/settings.json", permissions(deny=["Bash(above)"]))
    found = house.load()
    assert sorted(texts(found, "deny")) == ["Bash(b)", "Bash(c)", "Bash(e)"]
    assert texts(found, "allow") == ["Bash(a)"]
    assert texts(found, "ask") == ["Bash(d)"]
    sources = {rule.text: (rule.source.kind, rule.source.folder) for rule in found.rules}
    assert sources["Bash(a)"] == ("user", house.home / ".maia")
    assert sources["Bash(c)"] == ("project", house.project)
    assert sources["Bash(e)"] == ("local", house.cwd)
    counts = {file.path: (file.allow, file.ask, file.deny) for file in found.files}
    assert counts[house.project / ".maia" / "settings.json"] == (0, 1, 1)


def test_a_project_widens_nothing_without_trust(house: House) -> None:
    """Allow rules, env, mode and folders of a project wait for trust; a warning names and counts them."""
    data = permissions(
        allow=["Bash(x)", "Edit"],
        deny=["Bash(y)"],
        defaultMode="acceptEdits",
        additionalDirectories=["/opt"],
    ) | {"env": {"ANTHROPIC_BASE_URL": "http://example.com", "PATH": "/x"}}
    house.write("project/sub/.maia/settings.json", data)
    house.write("project/sub/.maia/config.json", {"anthropic": {"baseUrl": "http://example.com"}})
    found = house.load()
    assert (texts(found, "allow"), texts(found, "deny")) == ([], ["Bash(y)"])
    assert (found.mode, dict(found.env), found.additional) == ("default", {}, ())
    assert found.anthropic.base_url is None
    assert not found.trusted
    (line,) = found.warnings
    assert line.startswith("7 settings of this project")
    assert "allow rules: 2" in line
    assert "MAIA_TRUST=1" in line
    for trusting in (house.load(environ={"MAIA_TRUST": "1"}), house.load(Flags(trust=True))):
        assert texts(trusting, "allow") == ["Bash(x)", "Edit"]
        assert trusting.mode == "acceptEdits"
        assert trusting.additional == (Path("/opt"),)
        assert trusting.env["PATH"] == "/x"
        assert trusting.anthropic.base_url == "http://example.com"
        assert trusting.warnings == ()


def test_trust_is_not_granted_by_files(house: House) -> None:
    """A project's env cannot switch trust on, and MAIA_TRUST=0 is no trust."""
    house.write(
        "project/sub/.maia/settings.json",
        permissions(allow=["Bash"]) | {"env": {"MAIA_TRUST": "1"}},
    )
    house.write(".maia/settings.json", {"env": {"MAIA_TRUST": "1"}})
    assert texts(house.load(), "allow") == []
    assert texts(house.load(environ={"MAIA_TRUST": "0"}), "allow") == []


def test_bare_mode(house: House) -> None:
    """Bare mode leaves out a project's settings but for its deny and ask rules."""
    house.write("project/sub/.maia/config.json", {"model": "a:b"})
    house.write(
        "project/sub/.maia/settings.json",
        permissions(allow=["Bash(x)"], deny=["Bash(y)"], ask=["Edit"]),
    )
    found = house.load(Flags(bare=True, trust=True))
    assert (found.model, found.bare) == (None, True)
    assert [rule.text for rule in found.rules] == ["Bash(y)", "Edit"]
    assert house.load(environ={"MAIA_BARE": "1"}).bare


def test_broken_files_are_named(house: House) -> None:
    """A broken file is skipped and named with line and column; the others count."""
    house.write(".maia/config.json", '{\n  "model": "a:b",\n}')
    house.write(".maia/settings.json", permissions(deny=["Bash"]))
    house.write("project/sub/.maia/settings.json", "[1]")
    house.write("project/.maia/settings.json", b"\xff".decode("latin-1")).write_bytes(b"\xff\xfe{")
    found = house.load()
    assert texts(found, "deny") == ["Bash"]
    joined = "\n".join(found.warnings)
    assert "~/.maia/config.json is not valid JSON (line 3, column 1" in joined
    assert "~/project/sub/.maia/settings.json does not hold a JSON object" in joined
    assert "~/project/.maia/settings.json cannot be read" in joined


def test_unknown_keys_and_bad_values(house: House) -> None:
    """An unknown key is named with the nearest known one, a bad value with what it must be."""
    house.write(
        ".maia/config.json", {"modell": "x", "maxTurns": 0, "retry": {"maxx": 1}, "ui": "big"}
    )
    house.write(".maia/settings.json", permissions(denny=["Bash"], defaultMode="fast", ask="Edit"))
    found = house.load()
    joined = "\n".join(found.warnings)
    assert "'modell'; did you mean 'model'?" in joined
    assert "'retry.maxx'; did you mean 'retry.max'?" in joined
    assert "'permissions.denny'; did you mean 'permissions.deny'?" in joined
    assert "maxTurns is ignored; it must be a whole number, 1 or more" in joined
    assert "ui is ignored; it must be one of: auto, text" in joined
    assert "permissions.defaultMode is ignored" in joined
    assert (found.max_turns, found.mode) == (None, "default")
    assert texts(found, "ask") == ["Edit"]


def test_bad_rules(house: House) -> None:
    """A malformed deny denies its whole tool; other bad rules and unknown tools are warnings."""
    house.write(
        ".maia/settings.json", permissions(deny=["Bash(rm", "bash(x)"], allow=["B*", "Edit(", 3])
    )
    found = house.load()
    assert texts(found, "deny") == ["Bash", "bash(x)"]
    assert texts(found, "allow") == []
    joined = "\n".join(found.warnings)
    assert "all of Bash is denied" in joined
    assert "did you mean Bash?" in joined
    assert "the rule B* is ignored" in joined
    assert "the rule Edit( is ignored" in joined


def test_bypass_needs_the_flag(house: House) -> None:
    """bypassPermissions counts only as a start flag, and not where a file forbids it."""
    house.write(".maia/settings.json", permissions(defaultMode="bypassPermissions"))
    found = house.load(environ={"MAIA_MODE": "bypassPermissions"})
    assert found.mode == "default"
    assert len(found.warnings) == 2
    assert house.load(Flags(mode="bypassPermissions")).mode == "bypassPermissions"
    house.managed.write_text(json.dumps(permissions(disableBypassPermissionsMode="disable")))
    assert house.load(Flags(mode="bypassPermissions")).mode == "default"


def test_the_managed_file_is_above_all(house: House) -> None:
    """An administrator's values beat flags, and may leave only their own allow rules."""
    data = permissions(allow=["Bash(m)"], deny=["WebFetch"], defaultMode="plan")
    house.managed.write_text(json.dumps(data | {"allowManagedPermissionRulesOnly": True}))
    house.write(".maia/settings.json", permissions(allow=["Bash(u)"], deny=["Bash(d)"]))
    found = house.load(Flags(mode="acceptEdits", allowed_tools=("Edit",)))
    assert found.mode == "plan"
    assert texts(found, "allow") == ["Bash(m)"]
    assert texts(found, "deny") == ["WebFetch", "Bash(d)"]


def test_a_project_may_only_tighten_reading(house: House) -> None:
    """A project may make reading ask, but cannot lift the person's own askReads."""
    house.write("project/sub/.maia/settings.json", permissions(askReads=False))
    house.write(".maia/settings.json", permissions(askReads=True, askTimeout=30))
    found = house.load()
    assert (found.ask_reads, found.ask_timeout) == (True, 30.0)
    house.write("project/sub/.maia/settings.json", permissions(askReads=True))
    house.write(".maia/settings.json", permissions(askReads=False))
    assert house.load().ask_reads


def test_environment(house: House) -> None:
    """Documented variables count, the settings' own env above the shell's; bad ones are warnings."""
    house.write(".maia/settings.json", {"env": {"API_TIMEOUT_MS": "5000", "N": 1, "B": True}})
    environ = {
        "API_TIMEOUT_MS": "9000",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": "claude-h",
        "ANTHROPIC_DEFAULT_OPUS_MODEL": "claude-o",
        "ANTHROPIC_MODEL": "opus",
        "MAIA_UI": "text",
        "MAIA_LANGUAGE": "fr_FR.UTF-8",
        "MAX_THINKING_TOKENS": "2048",
        "MAIA_MAX_TURNS": "many",
    }
    found = house.load(environ=environ)
    assert found.api_timeout == 5.0
    assert dict(found.env) == {"API_TIMEOUT_MS": "5000", "N": "1", "B": "true"}
    assert found.anthropic.base_url == "http://127.0.0.1:1"
    assert (found.model, found.small_model) == ("anthropic:claude-o", "anthropic:claude-h")
    assert found.aliases == {"haiku": "anthropic:claude-h", "opus": "anthropic:claude-o"}
    assert (found.ui, found.language, found.thinking_budget) == ("text", "fr", 2048)
    assert any("MAIA_MAX_TURNS" in line and "nombre" in line for line in found.warnings)
    assert house.load(environ={"LANG": "fr_CA.UTF-8"}).language == "fr"
    assert house.load(environ={"LANG": "C"}).language == "en"


def test_flags(house: House) -> None:
    """Flags add rules and folders; one entry may hold several rules; what is wrong is warned of."""
    flags = Flags(
        allowed_tools=("Bash(git log:*),Edit", "Bash(npm test *) Read"),
        disallowed_tools=("WebFetch",),
        add_dirs=(Path("/opt/example"),),
        max_turns=3,
        budget_usd=2.5,
    )
    found = house.load(flags)
    assert texts(found, "allow") == ["Bash(git log:*)", "Edit", "Bash(npm test *)", "Read"]
    assert texts(found, "deny") == ["WebFetch"]
    assert (found.additional, found.max_turns, found.budget_usd) == (
        (Path("/opt/example"),),
        3,
        2.5,
    )
    assert found.warnings == ("--add-dir: /opt/example is no folder.",)


def test_rules_of_flags_that_say_nothing(house: House) -> None:
    """A malformed allow is left out, a malformed deny denies its tool, an unknown tool is named;
    a deny without any tool is refused: going on would do what the person forbade."""
    found = house.load(Flags(allowed_tools=("Bash(x",), disallowed_tools=("Edit(", "Nope(x)")))
    assert texts(found, "allow") == []
    assert texts(found, "deny") == ["Edit", "Nope(x)"]
    said = "\n".join(found.warnings)
    assert "--allowed-tools: the rule Bash(x is ignored" in said
    assert "all of Edit is denied" in said
    assert "Nope, which is no tool" in said
    with pytest.raises(UsageError, match="names no tool"):
        house.load(Flags(disallowed_tools=(")))",)))


def test_a_home_that_nobody_has_is_a_warning(house: House) -> None:
    """Given a folder `~nobody/x` in the settings, it is left out with a line."""
    house.write(".maia/settings.json", permissions(additionalDirectories=["~no-such-user/x"]))
    found = house.load()
    assert found.additional == ()
    assert "additionalDirectories" in "".join(found.warnings)


def test_home_as_working_folder(house: House) -> None:
    """Given home itself as working folder, its files are the person's and count in full."""
    house.write(".maia/settings.json", permissions(allow=["Bash(x)"]))
    found = load(house.home, environ={}, home=house.home, managed=house.managed)
    assert texts(found, "allow") == ["Bash(x)"]
    assert found.warnings == ()


def test_servers(house: House) -> None:
    """Servers have a family, a url and a key that never shows; bad ones are skipped with a warning."""
    house.write(
        ".maia/servers.json",
        {
            "box": {"family": "ollama", "url": "http://127.0.0.1:1", "params": {"temperature": 0, "model": "x"}},
            "far": {"url": "https://example.com/v1", "key": "${FAR_KEY}"},
            "plain": {"url": "https://example.com/v1", "key": "sk-canary-123456"},
            "unset": {"url": "https://example.com/v1", "key": "${UNSET}"},
            "openai": {"url": "https://example.com/v1"},
            "bad": {"url": "ftp://example.com"},
        },
    )  # fmt: skip
    found = house.load(environ={"FAR_KEY": "far-canary-1"})
    assert list(found.servers) == ["box", "far", "plain"]
    assert found.servers["box"].params == {"temperature": 0}
    assert found.servers["box"].family == "ollama"
    assert found.servers["box"].key is None
    key = found.servers["far"].key
    assert key is not None
    assert key.reveal() == "far-canary-1"
    assert "canary" not in repr(found) + str(key) + f"{key}" + "".join(found.warnings)
    assert len(found.warnings) == 4


@pytest.mark.parametrize("written", ["Read", "Read(.env"])
def test_a_deny_written_as_one_text_denies(written: str, house: House) -> None:
    """Given a deny that is a text in place of a list, it counts as one rule, with a warning."""
    file = house.write("project/.maia/settings.json", {"permissions": {"deny": written}})
    settings = house.load()
    assert [(rule.behavior, rule.tool) for rule in settings.rules] == [("deny", "Read")]
    assert file.name in settings.warnings[0]
    assert "counts as the rule" in settings.warnings[0]


@pytest.mark.parametrize("deny", [{"Read": True}, 5, True, None, [5], [None], [["Read"]], [{}]])
def test_a_deny_that_is_no_rule_is_named(deny: Any, house: House) -> None:
    """Given a deny of another type, or such an entry, one warning names the file."""
    house.write("project/.maia/settings.json", {"permissions": {"deny": deny}})
    settings = house.load()
    assert settings.rules == ()
    assert len(settings.warnings) == 1
    assert "project/.maia/settings.json" in settings.warnings[0]
    assert "is ignored" in settings.warnings[0]


@pytest.mark.parametrize("what", ["folder", "pipe", "huge", "loop", "number", "deep", "bytes"])
def test_what_is_no_settings_file_is_named_and_never_waited_for(what: str, house: House) -> None:
    """Given something else in the place of a settings file, one warning names it."""
    path = house.project / ".maia" / "settings.json"
    path.parent.mkdir()
    match what:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "huge":
            path.write_bytes(b" " * (4 * 1024 * 1024 + 1))
        case "loop":
            path.symlink_to(path)
        case "number":
            path.write_text('{"model": ' + "1" * 5_000 + "}")
        case "deep":
            path.write_text("[" * 100_000)
        case "bytes":
            path.write_bytes(b'{"a": "\xff"}')
    settings = house.load()
    assert len(settings.warnings) == 1
    assert "project/.maia/settings.json" in settings.warnings[0]
    assert "\n" not in settings.warnings[0]


def test_additional_folders(house: House) -> None:
    """Home, relative and absolute folders count, a project's from its own folder; others are named."""
    for folder in ("project/docs", "project/sub/docs", "notes"):
        (house.home / folder).mkdir(parents=True)
    house.write(
        "project/.maia/settings.json", permissions(additionalDirectories=["docs", "~/notes", "no"])
    )
    house.write(".maia/settings.json", permissions(additionalDirectories=["docs", "x\u0000"]))
    found = house.load(Flags(trust=True))
    docs, notes = house.project / "docs", house.home / "notes"
    assert found.additional == (docs, notes, house.cwd / "docs")
    assert len(found.warnings) == 2
    assert (
        "~/project/.maia/settings.json: permissions.additionalDirectories names no"
        in (found.warnings[0])
    )


def test_another_claude_folder(house: House) -> None:
    """CLAUDE_CONFIG_DIR stands in for ~/.claude, also as the anchor of its rules."""
    house.write(".claude/settings.json", permissions(deny=["Bash(home)"]))
    house.write("other/settings.json", permissions(deny=["Read(/x)"], allow=["Bash(b)"]))
    assert texts(house.load(), "deny") == ["Bash(home)"]
    found = house.load(environ={"CLAUDE_CONFIG_DIR": str(house.home / "other")})
    assert [(rule.text, rule.source.folder) for rule in found.rules] == [
        ("Read(/x)", house.home / "other"),
        ("Bash(b)", house.home / "other"),
    ]


def test_anchors_of_each_file(house: House) -> None:
    """`/p` counts from the project folder of a project's file, from ~/.maia or ~/.claude of a user's."""
    anchors = {
        "project/.maia/settings.json": house.project,
        "project/sub/.maia/settings.local.json": house.cwd,
        "project/sub/.claude/settings.json": house.cwd,
        ".maia/settings.json": house.home / ".maia",
        ".claude/settings.json": house.home / ".claude",
    }
    for number, path in enumerate(anchors):
        house.write(path, permissions(deny=[f"Read(/{number})"]))
    house.managed.write_text(json.dumps(permissions(deny=["Read(/m)"])))
    found = {rule.text: rule.source.folder for rule in house.load(Flags(trust=True)).rules}
    for number, folder in enumerate(anchors.values()):
        assert found[f"Read(/{number})"] == folder
    assert found["Read(/m)"] == house.managed.parent


def test_the_mode_auto(house: House) -> None:
    """auto counts from the person's files, variables and flags, not from a project, nor forbidden."""
    house.write("project/.maia/settings.json", permissions(defaultMode="auto"))
    house.write("project/sub/.maia/settings.local.json", {"env": {"MAIA_MODE": "auto"}})
    found = house.load(Flags(trust=True))
    assert found.mode == "default"
    assert sum("mode auto is ignored" in line for line in found.warnings) == 2
    house.write(".maia/settings.json", permissions(defaultMode="auto"))
    assert house.load().mode == "auto"
    assert house.load(environ={"MAIA_MODE": "auto"}).mode == "auto"
    assert house.load(Flags(mode="auto")).mode == "auto"
    for forbidding in (permissions(disableAutoMode="disable"), {"disableAutoMode": "disable"}):
        house.write("project/.maia/settings.json", forbidding)
        found = house.load(Flags(mode="auto"))
        assert (found.mode, found.auto_forbidden) == ("default", True)
        assert any("disableAutoMode" in line for line in found.warnings)


def test_the_names_of_modes(house: House) -> None:
    """`manual` is another name of `default`; a local file is above the shared one, lists add up."""
    house.write(".maia/settings.json", permissions(defaultMode="plan", allow=["Bash(u)"]))
    house.write(
        "project/sub/.maia/settings.json", permissions(defaultMode="plan", allow=["Bash(s)"])
    )
    house.write(
        "project/sub/.maia/settings.local.json",
        permissions(defaultMode="manual", allow=["Bash(l)"]),
    )
    found = house.load(Flags(trust=True))
    assert found.mode == "default"
    assert texts(found, "allow") == ["Bash(l)", "Bash(s)", "Bash(u)"]


def test_rules_that_are_not_what_they_look_like(house: House) -> None:
    """Rules that allow nothing, count for one tool, or have an old name are named with the better one."""
    house.write(
        ".maia/settings.json",
        permissions(
            allow=["Glob(src/**)", "MultiEdit(a)", "Agent(model:opus)"],
            deny=["Grep(src/**)", "MultiEdit(b)", "WebFetch(url:x)"],
        ),
    )
    found = house.load()
    assert texts(found, "deny") == ["Grep(src/**)", "Edit(b)", "WebFetch"]
    said = "\n".join(found.warnings)
    assert "a path in Glob(...) allows nothing; write Read(...)" in said
    assert "it counts for Grep alone" in said
    assert said.count("MultiEdit is Edit today") == 2
    assert "can only deny or ask" in said
    assert "all of WebFetch is denied" in said
