"""Which providers there are, and which one a model's name means."""

import difflib
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from maia_kernel import providers
from maia_kernel.errors import UsageError
from maia_kernel.providers import catalog
from maia_kernel.providers.adapter import Adapter
from maia_kernel.providers.base import Provider
from maia_kernel.texts import text

if TYPE_CHECKING:
    from maia_kernel.settings import Settings
    from maia_kernel.settings.keys import Keys


def open_provider(
    name: str, settings: "Settings", keys: "Keys", environ: Mapping[str, str]
) -> Provider:
    """The provider called `name`; no server is asked, and the SDK is loaded on the first request.

    Raises:
        UsageError: nobody is called `name`.
    """
    for adapter in adapters():
        if name in adapter.known(settings):
            return adapter.open(name, settings, keys, environ)
    raise _unknown(name, settings)


def provider_names(settings: "Settings", keys: "Keys") -> tuple[str, ...]:
    """The providers that could be used now: a key, an address or a model is there. Sorted."""
    return tuple(sorted({n for adapter in adapters() for n in adapter.configured(settings, keys)}))


def parse_spec(spec: str, settings: "Settings") -> tuple[str, str]:
    """`provider:model` as its two parts, after aliases; a known family needs no provider.

    Raises:
        UsageError: an unknown provider or name, with the nearest known ones.
    """
    written = spec.strip()
    aliases = aliases_of(settings)
    # `local:` is as good as `local`.
    target = aliases.get(written.removesuffix(":"), written)
    provider, colon, model = target.partition(":")
    if not colon:
        family = catalog.provider_of(target)
        if family is None:
            raise _unknown(written, settings)
        return family, target
    if provider not in known_names(settings):
        raise _unknown(provider, settings)
    if not model.strip():
        raise UsageError(text("providers.no_model", spec=spec, provider=provider))
    return provider, model.strip()


def aliases_of(settings: "Settings") -> dict[str, str]:
    """Short name -> spec: built in, the vendor's environment above, the person's own above all."""
    vendor = {name: f"anthropic:{id}" for name, id in settings.anthropic.models.items()}
    return {**catalog.aliases(), **vendor, **settings.aliases}


def known_names(settings: "Settings") -> tuple[str, ...]:
    """Every word that may stand before the colon, configured or not. Sorted."""
    return tuple(sorted({name for adapter in adapters() for name in adapter.known(settings)}))


def adapters() -> Iterator[Adapter]:
    """The `ADAPTER` of every module of this package that has one."""
    for module in pkgutil.iter_modules(providers.__path__):
        if not module.ispkg:
            loaded = importlib.import_module(f"{providers.__name__}.{module.name}")
            adapter = getattr(loaded, "ADAPTER", None)
            if isinstance(adapter, Adapter):
                yield adapter


def _unknown(word: str, settings: "Settings") -> UsageError:
    names = known_names(settings)
    candidates = [*names, *aliases_of(settings)]
    near = difflib.get_close_matches(word, candidates, n=3, cutoff=0.6)
    known = ", ".join(dict.fromkeys(near)) if near else ", ".join(names)
    key = "providers.unknown_near" if near else "providers.unknown"
    return UsageError(text(key, name=word, known=known))
