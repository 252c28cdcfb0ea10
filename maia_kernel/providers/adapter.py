"""How a module of this room says that it is a provider: it has one `ADAPTER` value.

`registry` finds the modules by looking into the package, so a new provider is one new file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maia_kernel.providers.base import Provider

if TYPE_CHECKING:
    from maia_kernel.settings import Settings
    from maia_kernel.settings.keys import Keys

Names = Callable[["Settings", "Keys"], tuple[str, ...]]
Open = Callable[[str, "Settings", "Keys", Mapping[str, str]], Provider]


@dataclass(frozen=True, slots=True)
class Adapter:
    """`known` are the words this module answers for, `configured` those that could be used now.

    A word may be known and not configured (its key is missing); opening it then still works, and its
    first request says what is missing. `open` gets one of `known`, settings, keys and the environment.
    """

    known: Callable[["Settings"], tuple[str, ...]]
    configured: Names
    open: Open
