"""Keys of model servers: found, held in memory, kept out of texts and out of children."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from maia_kernel.settings.values import Secret, Settings

MINIMUM_REDACTED = 6
_NAMES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY")
# Variables of servers that MAIA speaks to; a child that needs one gets it through `env`.
_HIDDEN = (
    *_NAMES,
    "ANTHROPIC_CUSTOM_HEADERS",
    "OPENAI_CUSTOM_HEADERS",
    "AZURE_OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "DEEPSEEK_API_KEY",
    "TOGETHER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "XAI_API_KEY",
    "OLLAMA_API_KEY",
    "VLLM_API_KEY",
    "LITELLM_API_KEY",
    "LLAMA_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AICORE_CLIENT_SECRET",
    "MAIA_BTP_CONFIG",
)
# The value says where the secret is, and a message may name that place.
_PATHS = ("MAIA_BTP_CONFIG",)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that are set; `repr` shows only which."""

    anthropic_api_key: Secret | None = None
    anthropic_auth_token: Secret | None = None
    openai_api_key: Secret | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], settings: Settings) -> "Keys":
        """The keys of the environment, the settings' `env` above it and `.env` below."""
        merged = settings.ambient(environ)
        return cls(*(_secret(merged.get(name)) for name in _NAMES))


@dataclass(slots=True)
class KnownSecrets:
    """Every secret value of this process, to be taken out of what is shown or stored."""

    _values: list[str] = field(default_factory=list, repr=False)

    @classmethod
    def of(
        cls, keys: Keys, settings: Settings, environ: Mapping[str, str] = MappingProxyType({})
    ) -> "KnownSecrets":
        """The keys, the servers' keys, key-like values of the settings' `env`, and the variables of
        `environ` that children do not inherit.
        """
        known = cls()
        known.learn(keys, settings)
        for name in _HIDDEN:
            known._learn_variable(name, environ.get(name, ""))
        return known

    def _learn_variable(self, name: str, value: str) -> None:
        if name.endswith("_CUSTOM_HEADERS"):
            # Lines of `Name: value`: a request and an error show the value alone.
            for line in value.splitlines():
                self.add(_secret(line.partition(":")[2]))
        elif is_key_name(name) and name not in _PATHS:
            self.add(_secret(value))

    def learn(self, keys: Keys, settings: Settings) -> None:
        """Know what `of` knows, beside what is known already."""
        for secret in (keys.anthropic_api_key, keys.anthropic_auth_token, keys.openai_api_key):
            self.add(secret)
        for server in settings.servers.values():
            self.add(server.key)
        for name, value in (*settings.env.items(), *settings.dotenv.items()):
            self._learn_variable(name, value)

    def add(self, secret: Secret | None) -> None:
        """Know one more; None and values under `MINIMUM_REDACTED` characters are left alone."""
        value = "" if secret is None else secret.reveal()
        # A password with a quote reads otherwise in the journal and in the input of a call.
        for form in {value, json.dumps(value, ensure_ascii=False)[1:-1]}:
            if len(value) >= MINIMUM_REDACTED and form not in self._values:
                self._values.append(form)
        # Longest first: one secret may hold another.
        self._values.sort(key=len, reverse=True)

    def redact(self, text: str) -> str:
        """`text` with every known secret replaced by `***`."""
        for value in self._values:
            text = text.replace(value, "***")
        return text

    def kinds(self, texts: Iterable[str]) -> tuple[str, ...]:
        """`("known key",)` when one of the texts holds a known secret."""
        return ("known key",) if any(self.redact(text) != text for text in texts) else ()

    def unfinished(self, text: str) -> int:
        """How many characters at the end of `text` may be the beginning of a secret."""
        return max((_overlap(text, value) for value in self._values), default=0)


def _overlap(text: str, secret: str) -> int:
    """The length of the longest end of `text` with which `secret` begins, short of all of it."""
    longest = min(len(text), len(secret) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(secret[:size])), 0)


def hidden_names() -> tuple[str, ...]:
    """The variables that children do not inherit."""
    return _HIDDEN


def is_key_name(name: str) -> bool:
    """True for a variable whose name says that its value is a secret."""
    upper = name.upper()
    return name in _HIDDEN or upper.endswith(("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "APIKEY"))


def child_environ(
    environ: Mapping[str, str], env: Mapping[str, str], hidden: Iterable[str] = _HIDDEN
) -> dict[str, str]:
    """The environment of a child: without MAIA's keys, unless the person's `env` sets them."""
    kept = {name: value for name, value in environ.items() if name not in frozenset(hidden)}
    return {**kept, **env}


def _secret(value: str | None) -> Secret | None:
    stripped = (value or "").strip()
    return Secret(stripped) if stripped else None
