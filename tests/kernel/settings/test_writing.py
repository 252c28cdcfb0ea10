"""Keys stay secret, children do not get them, and what the person grants is written and counts."""

import json
import multiprocessing
import os
import pickle
from pathlib import Path

import pytest

from maia_kernel.errors import SettingsError
from maia_kernel.settings import Secret, ServerSettings, Settings, load
from maia_kernel.settings.keys import Keys, KnownSecrets, child_environ, hidden_names
from maia_kernel.settings.writer import allow_always, save_model


def folders(root: Path) -> tuple[Path, Path]:
    """A home and a working folder."""
    home, work = root / "home", root / "work"
    home.mkdir()
    work.mkdir()
    return home, work


def allowed(work: Path, home: Path) -> list[str]:
    """The allow rules that count."""
    found = load(work, environ={}, home=home, managed=home / "none.json")
    return [rule.text for rule in found.rules if rule.behavior == "allow"]


def test_allow_always_counts_next_time(tmp_path: Path) -> None:
    """Given a granted rule, it stands in the local file, the rest is kept, and it counts untrusted."""
    home, work = folders(tmp_path)
    local = work / ".maia" / "settings.local.json"
    local.parent.mkdir()
    local.write_text(
        json.dumps({"permissions": {"deny": ["Edit"], "allow": ["Bash(evil)"]}, "x": 1})
    )
    assert allow_always(Settings(work, home), "Bash(npm test:*)") == local
    allow_always(Settings(work, home), "Bash(npm test:*)")
    data = json.loads(local.read_text())
    assert data["permissions"]["allow"] == ["Bash(evil)", "Bash(npm test:*)"]
    assert (data["permissions"]["deny"], data["x"]) == (["Edit"], 1)
    assert allowed(work, home) == ["Bash(npm test:*)"]
    assert (home / ".maia" / "trust.json").stat().st_mode & 0o777 == 0o600
    data["permissions"]["allow"].remove("Bash(npm test:*)")
    local.write_text(json.dumps(data))
    assert allowed(work, home) == []


def test_a_grant_is_for_one_folder(tmp_path: Path) -> None:
    """A rule granted to one folder does not count in another that holds the same file."""
    home, work = folders(tmp_path)
    other = tmp_path / "other"
    allow_always(Settings(work, home), "Bash(make)")
    (other / ".maia").mkdir(parents=True)
    local = work / ".maia" / "settings.local.json"
    (other / ".maia" / "settings.local.json").write_bytes(local.read_bytes())
    assert allowed(work, home) == ["Bash(make)"]
    assert allowed(other, home) == []


def test_a_broken_file_is_not_written_over(tmp_path: Path) -> None:
    """Given a file that cannot be read, writing is refused and the bytes stay."""
    home, work = folders(tmp_path)
    local = work / ".maia" / "settings.local.json"
    local.parent.mkdir()
    for content in ("{broken", '{"permissions": {"allow": "x"}}'):
        local.write_text(content)
        with pytest.raises(SettingsError):
            allow_always(Settings(work, home), "Bash(make)")
        assert local.read_text() == content
    assert not (home / ".maia" / "trust.json").exists()


def test_save_model(tmp_path: Path) -> None:
    """The chosen model becomes the person's default and nothing else of the file changes."""
    home, work = folders(tmp_path)
    (home / ".maia").mkdir()
    (home / ".maia" / "config.json").write_text('{"language": "fr"}')
    save_model(Settings(work, home), "a:b")
    found = load(work, environ={}, home=home, managed=home / "none.json")
    assert (found.model, found.language) == ("a:b", "fr")


def _grant(work: Path, home: Path, number: int) -> None:
    allow_always(Settings(work, home), f"Bash(make {number})")


def test_writers_do_not_lose_each_others_rules(tmp_path: Path) -> None:
    """Given several processes that grant at the same time, every rule is there afterwards."""
    home, work = folders(tmp_path)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_grant, args=(work, home, number)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(allowed(work, home)) == [f"Bash(make {number})" for number in range(4)]
    assert not [path for path in (work / ".maia").iterdir() if path.suffix == ".tmp"]


def test_secrets_do_not_show() -> None:
    """A secret shows as stars in every text, cannot be pickled, and compares by value."""
    secret = Secret("canary-key-1")
    assert {str(secret), repr(secret), f"{secret}", f"{secret:s}"} == {"***"}
    assert "canary" not in f"{Keys(secret)} {ServerSettings('x', 'y', secret)}"
    assert secret == Secret("canary-key-1")
    assert secret != Secret("other")
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_keys_and_redaction(tmp_path: Path) -> None:
    """Keys come from the environment and the person's env; all of them are redacted, longest first."""
    env = {"OPENAI_API_KEY": "canary-openai", "OTHER_TOKEN": "canary-other", "PLAIN": "visible"}
    servers = {
        "box": ServerSettings("openai", "http://example.com", Secret("canary-openai-longer"))
    }
    settings = Settings(tmp_path, tmp_path, env=env, servers=servers)
    keys = Keys.from_environ(
        {"ANTHROPIC_API_KEY": " canary-anthropic\n", "OPENAI_API_KEY": "x"}, settings
    )
    assert keys.anthropic_api_key == Secret("canary-anthropic")
    assert keys.openai_api_key == Secret("canary-openai")
    assert keys.anthropic_auth_token is None
    known = KnownSecrets.of(keys, settings)
    known.add(Secret("short"))
    shown = known.redact(
        "canary-anthropic canary-openai-longer canary-openai canary-other visible short"
    )
    assert shown == "*** *** *** *** visible short"
    assert "canary" not in repr(known) + repr(settings)


def test_every_key_of_the_environment_is_redacted(tmp_path: Path) -> None:
    """Keys of servers that have no setting, and the values of custom headers, are known as well."""
    environ = {
        "OLLAMA_API_KEY": "canary-ollama",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Team: canary-header\nX-Other: canary-other",
        "MAIA_BTP_CONFIG": "/home/ada/btp_AI.json",
        "PLAIN": "visible",
    }
    known = KnownSecrets.of(Keys(), Settings(tmp_path, tmp_path), environ)
    shown = known.redact("canary-ollama canary-header canary-other /home/ada/btp_AI.json visible")
    assert shown == "*** *** *** /home/ada/btp_AI.json visible"


def test_children_do_not_get_keys() -> None:
    """A child's environment has no key of MAIA's, unless the person's env gives it one."""
    environ = {"PATH": os.defpath, "ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}
    assert child_environ(environ, {}, hidden_names()) == {"PATH": os.defpath}
    assert child_environ(environ, {"OPENAI_API_KEY": "c"})["OPENAI_API_KEY"] == "c"
