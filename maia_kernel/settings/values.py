"""The values that settings are made of."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn

from maia_kernel.permissions import Mode, Rule
from maia_kernel.sandbox.values import SandboxSettings
from maia_kernel.settings.items import Kind, ProjectItem

Ui = Literal["auto", "text"]
AuthStyle = Literal["bearer", "x-api-key"]
LANGUAGES = ("en", "fr")


class Secret:
    """A value that never shows itself: its text, format and repr are `***`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value, for the one place that sends it."""
        return self._value

    def __str__(self) -> str:
        return "***"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format("***", spec)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")


@dataclass(frozen=True, slots=True)
class Flags:
    """What the start itself says: the command line, or the options of a call."""

    model: str | None = None
    mode: Mode | None = None
    max_turns: int | None = None
    bare: bool = False
    trust: bool = False
    add_dirs: tuple[Path, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    budget_tokens: int | None = None
    budget_usd: float | None = None


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """A server of `~/.maia/servers.json`. `params` are extra top-level fields of every request."""

    family: str
    url: str
    key: Secret | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnthropicSettings:
    """The Anthropic endpoint; `models` are the ids behind the aliases opus, sonnet, haiku."""

    base_url: str | None = None
    api_version: str | None = None
    auth_style: AuthStyle | None = None
    models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OllamaSettings:
    """The Ollama server; `context_length` in tokens, `keep_alive` as Ollama writes it (`10m`, `-1`)."""

    url: str | None = None
    context_length: int | None = None
    keep_alive: str | None = None


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The web: hosts (`host` or `host:port`) fit though their addresses are private, and a SearXNG."""

    allow_private: frozenset[str] = frozenset()
    search_url: str | None = None


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A settings file that was read, and how many rules of it count."""

    path: Path
    allow: int = 0
    ask: int = 0
    deny: int = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that was set, in one value, with where it came from. Times are in seconds.

    `origins` names the source of each value that is not a default (`"model"` -> `~/.maia/config.json`);
    `warnings` are lines for the person about what was skipped. `managed_rules_only`: no allow rule but
    an administrator's counts; `auto_forbidden`: a file switches the mode `auto` off. `env` is for
    children too; `dotenv`, of the folder's `.env`, is only MAIA's and below the real environment.
    `project` is what the project brought along that could run code or widen rights, whether it counts
    or not; `trusted`: the start said that all of it does.
    """

    cwd: Path
    home: Path
    model: str | None = None
    small_model: str | None = None
    fallback_model: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    language: str = "en"
    ui: Ui = "auto"
    rules: tuple[Rule, ...] = ()
    managed_rules_only: bool = False
    mode: Mode = "default"
    auto_forbidden: bool = False
    additional: tuple[Path, ...] = ()
    ask_reads: bool = False
    ask_timeout: float | None = None
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret_shapes: bool = True
    dotenv: Mapping[str, str] = field(default_factory=dict, repr=False)
    retry_max: int = 8
    retry_broken: int | None = None
    max_turns: int | None = None
    api_timeout: float = 600.0
    connect_timeout: float = 10.0
    silence_timeout: float = 300.0
    effort: str | None = None
    thinking_budget: int | None = None
    max_output_tokens: int | None = None
    budget_tokens: int | None = None
    budget_usd: float | None = None
    anthropic: AnthropicSettings = field(default_factory=AnthropicSettings)
    ollama: OllamaSettings = field(default_factory=OllamaSettings)
    web: WebSettings = field(default_factory=WebSettings)
    servers: Mapping[str, ServerSettings] = field(default_factory=dict)
    bare: bool = False
    trusted: bool = False
    project: tuple[ProjectItem, ...] = ()
    files: tuple[LoadedFile, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def waiting(self) -> tuple[ProjectItem, ...]:
        """What the person has not yet decided on."""
        return tuple(item for item in self.project if item.state == "waiting")

    def active(self, kind: Kind) -> tuple[ProjectItem, ...]:
        """The trusted items of a kind; of whole files, `ProjectItem.is_of` tells if one changed since."""
        return tuple(i for i in self.project if i.kind == kind and i.state == "trusted")

    def ambient(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment as MAIA reads it: `.env`, above it the real one, above it the settings' own."""
        return {**self.dotenv, **environ, **self.env}
