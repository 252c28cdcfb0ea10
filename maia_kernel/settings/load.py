"""Files, environment and flags into one frozen `Settings`."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from maia_kernel.paths import expand
from maia_kernel.permissions import Rule
from maia_kernel.settings.collect import Collected
from maia_kernel.settings.environment import anthropic_spec, is_on, read_environment, spoken
from maia_kernel.settings.files import read_layers
from maia_kernel.settings.flags import read_flags
from maia_kernel.settings.layers import MANAGED, layers
from maia_kernel.settings.servers import read_servers
from maia_kernel.settings.values import AnthropicSettings, Flags, Settings
from maia_kernel.texts import language, text

_PLAIN_PREFIX = "claude-"


def load(
    cwd: Path,
    *,
    environ: Mapping[str, str],
    home: Path,
    flags: Flags | None = None,
    managed: Path = MANAGED,
) -> Settings:
    """The settings for the working folder: managed > flag > environment > project > user > default.

    Nothing in a file raises: what cannot be used is skipped, with a line in `warnings`.

    Raises:
        UsageError: no tool can be made out in a rule that `flags` deny.
    """
    flags = flags or Flags()
    heap = Collected(
        cwd,
        home,
        environ,
        bare=flags.bare or is_on(environ, "MAIA_BARE", "CLAUDE_CODE_SIMPLE"),
        trusted=flags.trust or is_on(environ, "MAIA_TRUST"),
    )
    # The warnings themselves are in the person's language, as far as the environment says it.
    asked_for = spoken(environ)
    token = language.set(asked_for[0] if asked_for else language.get())
    try:
        read_layers(layers(cwd, home, managed, _claude_folder(environ, cwd)), heap)
        read_environment(heap)
        read_flags(flags, heap)
        if heap.no_auto and heap.value("mode") == "auto":
            heap.warn(text("settings.auto_forbidden"))
            heap.drop("mode")
        servers = read_servers(home, {**environ, **heap.env}, heap.warn)
    finally:
        language.reset(token)
    return Settings(
        cwd=cwd,
        home=home,
        **_values(heap),
        anthropic=_anthropic(heap),
        servers=servers,
        rules=_rules(heap),
        managed_rules_only=heap.managed_rules_only,
        auto_forbidden=heap.no_auto,
        additional=tuple(dict.fromkeys(heap.additional)),
        env=heap.env,
        bare=heap.bare,
        trusted=heap.trusted,
        files=tuple(heap.files),
        origins={name: at for name, at in heap.origins().items() if not name.startswith("env:")},
        warnings=tuple(heap.warnings),
    )


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


def _rules(heap: Collected) -> tuple[Rule, ...]:
    if not heap.managed_rules_only:
        return tuple(heap.rules)
    return tuple(
        rule for rule in heap.rules if rule.behavior != "allow" or rule.source.kind == "managed"
    )
