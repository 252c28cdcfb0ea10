"""The providers of one agent: each is opened at its first use and kept until the end."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from maia_kernel.errors import MaiaError
from maia_kernel.providers import catalog
from maia_kernel.providers.base import ModelInfo, Provider
from maia_kernel.providers.registry import open_provider, parse_spec, provider_names
from maia_kernel.texts import text
from maia_kernel.usage import Usage

if TYPE_CHECKING:
    from maia_kernel.settings import Settings
    from maia_kernel.settings.keys import Keys

_MODELS_TIME_LIMIT = 2.0  # seconds for each provider's list; the picker is to open within three
_VENDORS = {"anthropic": "api.anthropic.com", "openai": "api.openai.com"}


class OpenedProviders:
    """Opens by name or spec, with the settings, the keys and the environment."""

    def __init__(self, settings: "Settings", keys: "Keys", environ: Mapping[str, str]) -> None:
        self._settings, self._keys, self._environ = settings, keys, environ
        self._providers: dict[str, Provider] = {}

    def open(self, spec: str) -> tuple[Provider, str]:
        """The provider and the model of `spec`.

        Raises:
            UsageError: the spec names no provider or no model.
            ProviderError: the provider cannot be used as it is set up.
        """
        name, model = parse_spec(spec, self._settings)
        return self._named(name), model

    def ready(self) -> tuple[str, ...]:
        """The names of those that could be used now."""
        return provider_names(self._settings, self._keys)

    async def models(self) -> tuple[tuple[ModelInfo, ...], tuple[str, ...]]:
        """What every configured provider offers, asked at the same time, and one line a failure."""
        # Nothing configured: the embedded model can always be offered.
        answers = await asyncio.gather(*map(self._models_of, self.ready() or ("local",)))
        found = tuple(model for models, _ in answers for model in models)
        return found, tuple(warning for _, warning in answers if warning)

    def price(self, spec: str, usage: Usage) -> float | None:
        """What `usage` costs in USD at list prices; None when nobody knows.

        A server in the vendor's place has prices of its own, and so has a bearer token, which is a
        subscription's or a gateway's.

        Raises:
            UsageError: the spec names no provider or no model.
        """
        name, model = parse_spec(spec, self._settings)
        address = self._address(name)
        if address and urlsplit(address).hostname != _VENDORS.get(name):
            return None
        if name == "anthropic" and self._keys.anthropic_api_key is None:
            return None
        return catalog.price(f"{name}:{model}", usage)

    async def aclose(self) -> None:
        """End every connection and child process."""
        providers, self._providers = list(self._providers.values()), {}
        await asyncio.gather(*(provider.aclose() for provider in providers), return_exceptions=True)

    async def _models_of(self, name: str) -> tuple[tuple[ModelInfo, ...], str]:
        try:
            provider = self._named(name)
            # An SDK's import holds up all of them: no limit begins before every one is open.
            await asyncio.sleep(0)
            async with asyncio.timeout(_MODELS_TIME_LIMIT):
                return await provider.models(), ""
        except TimeoutError:
            address = self._address(name)
            where = f"{name} ({address})" if address else name
            return (), text("turn.models_silent", where=where, seconds=f"{_MODELS_TIME_LIMIT:g}")
        except MaiaError as error:
            return (), str(error)

    def _address(self, name: str) -> str | None:
        """Where `name` is, when the person said so."""
        if name in self._settings.servers:
            return self._settings.servers[name].url
        if name == "anthropic":
            return self._settings.anthropic.base_url
        return self._environ.get("OPENAI_BASE_URL") if name == "openai" else None

    def _named(self, name: str) -> Provider:
        if name not in self._providers:
            self._providers[name] = open_provider(name, self._settings, self._keys, self._environ)
        return self._providers[name]
