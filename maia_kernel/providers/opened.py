"""The providers of one agent: each is opened at its first use and kept until the end."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from maia_kernel.errors import MaiaError
from maia_kernel.providers.base import ModelInfo, Provider
from maia_kernel.providers.registry import open_provider, parse_spec, provider_names
from maia_kernel.texts import text

if TYPE_CHECKING:
    from maia_kernel.settings import Settings
    from maia_kernel.settings.keys import Keys

_MODELS_TIME_LIMIT = 5.0  # seconds for each provider's list


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

    async def aclose(self) -> None:
        """End every connection and child process."""
        providers, self._providers = list(self._providers.values()), {}
        await asyncio.gather(*(provider.aclose() for provider in providers), return_exceptions=True)

    async def _models_of(self, name: str) -> tuple[tuple[ModelInfo, ...], str]:
        try:
            async with asyncio.timeout(_MODELS_TIME_LIMIT):
                return await self._named(name).models(), ""
        except TimeoutError:
            return (), text("turn.provider_silent", provider=name, cause="timeout")
        except MaiaError as error:
            return (), str(error)

    def _named(self, name: str) -> Provider:
        if name not in self._providers:
            self._providers[name] = open_provider(name, self._settings, self._keys, self._environ)
        return self._providers[name]
