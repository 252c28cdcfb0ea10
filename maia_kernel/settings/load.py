"""Files, environment and flags into one frozen `Settings`."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from maia_kernel.paths import expand, shown
from maia_kernel.permissions import Rule
from maia_kernel.settings.collect import Collected
from maia_kernel.settings.dotenv import read_dotenv
from maia_kernel.settings.environment import anthropic_spec, is_on, read_environment, spoken
from maia_kernel.settings.files import read_layers
from maia_kernel.settings.flags import read_flags
from maia_kernel.settings.inventory import take_inventory
from maia_kernel.settings.items import counted, in_order
from maia_kernel.settings.layers import MANAGED, layers, project_folders, sound_bases
from maia_kernel.settings.sandbox import sandbox_settings
from maia_kernel.settings.servers import named_variables, read_servers
from maia_kernel.settings.trust import open_gate
from maia_kernel.settings.values import (
    AnthropicSettings,
    Flags,
    OllamaSettings,
    Settings,
    WebSettings,
)
from maia_kernel.texts import language, text

_PLAIN_PREFIX = "claude-"


def load(
    cwd: Path,
    *,
    environ: Mapping[str, str],
    home: Path,
    flags: Flags | None = None,
    managed: Path = MANAGED,
    session: frozenset[str] = frozenset(),
) -> Settings:
    """The settings for the working folder: managed > flag > environment > project > user > default.

    Nothing in a file raises: what cannot be used is skipped, with a line in `warnings`. `session` are
    digests of project items that the person trusts for this session only.

    Raises:
        UsageError: no tool can be made out in a rule that `flags` deny.
    """
    flags = flags or Flags()
    everything = flags.trust or is_on(environ, "MAIA_TRUST")
    # The warnings themselves are in the person's language, as far as the environment says it.
    asked_for = spoken(environ)
    token = language.set(asked_for[0] if asked_for else language.get())
    try:
        faults: list[str] = []
        gate = open_gate(home, faults.append, everything=everything, session=session)
        bare = flags.bare or is_on(environ, "MAIA_BARE", "CLAUDE_CODE_SIMPLE")
        heap = Collected(cwd, home, environ, bare=bare, gate=gate, warnings=faults)
        _read_project(heap, managed)
        read_environment(heap)
        read_flags(flags, heap)
        if heap.no_auto and heap.value("mode") == "auto":
            heap.warn(text("settings.auto_forbidden"))
            heap.drop("mode")
        servers = read_servers(home, {**heap.dotenv, **environ, **heap.env}, heap.warn)
    finally:
        language.reset(token)
    return Settings(
        cwd=cwd,
        home=home,
        **_values(heap),
        anthropic=_anthropic(heap),
        ollama=OllamaSettings(
            heap.value("ollama.url"),
            heap.value("ollama.context_length"),
            heap.value("ollama.keep_alive"),
        ),
        sandbox=sandbox_settings(heap),
        web=_web(heap),
        servers=servers,
        rules=_rules(heap),
        managed_rules_only=heap.managed_rules_only,
        auto_forbidden=heap.no_auto,
        additional=tuple(dict.fromkeys(heap.additional)),
        env=heap.env,
        dotenv=heap.dotenv,
        bare=heap.bare,
        trusted=everything,
        project=in_order(gate.items.values()),
        files=tuple(heap.files),
        origins={name: at for name, at in heap.origins().items() if not name.startswith("env:")},
        warnings=tuple(heap.warnings),
    )


def _read_project(heap: Collected, managed: Path) -> None:
    """The settings files, and all else that the project brings along."""
    cwd = heap.cwd
    folders = tuple(project_folders(cwd, heap.home))
    sound = sound_bases(folders, heap.warn) if folders else frozenset()
    claude = _claude_folder(heap.environ, cwd)
    read_layers(layers(cwd, heap.home, managed, claude), sound, heap)
    if not heap.bare:
        take_inventory(folders, sound, cwd, heap.gate, heap.warn)
        heap.dotenv = read_dotenv(cwd, heap.gate, named_variables(heap.home), heap.warn)
    waiting = in_order(item for item in heap.gate.items.values() if item.state == "waiting")
    if waiting:
        heap.warn(text("trust.waiting", count=len(waiting), what=counted(waiting)))
    if heap.gate.overfull:
        heap.warn(text("trust.overfull", folder=shown(cwd)))


def _values(heap: Collected) -> dict[str, Any]:
    """The single values that somebody set; the others stay defaults of `Settings`."""
    known = {field.name for field in fields(Settings)}
    set_ = {name: heap.value(name) for name in heap.origins() if name in known}
    for name in ("model", "small_model"):
        spec = set_.get(name)
        if isinstance(spec, str) and spec.startswith(_PLAIN_PREFIX):
            # The public settings format names models without a provider.
            set_[name] = anthropic_spec(spec, {})
    return set_


def _claude_folder(environ: Mapping[str, str], cwd: Path) -> Path | None:
    """The folder that stands in for `~/.claude`."""
    written = environ.get("CLAUDE_CONFIG_DIR")
    try:
        return expand(written, cwd) if written else None
    except RuntimeError:  # pathlib's word for "~nobody"
        return None


def _anthropic(heap: Collected) -> AnthropicSettings:
    return AnthropicSettings(
        base_url=heap.value("anthropic.base_url"),
        api_version=heap.value("anthropic.api_version"),
        auth_style=heap.value("anthropic.auth_style"),
        models=heap.value("anthropic.models", {}),
    )


def _web(heap: Collected) -> WebSettings:
    return WebSettings(
        allow_private=heap.value("web.allow_private", frozenset()),
        search_url=heap.value("web.search_url"),
    )


def _rules(heap: Collected) -> tuple[Rule, ...]:
    if not heap.managed_rules_only:
        return tuple(heap.rules)
    return tuple(
        rule for rule in heap.rules if rule.behavior != "allow" or rule.source.kind == "managed"
    )
