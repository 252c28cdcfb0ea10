"""Settings: files, environment and flags as one frozen value that says where each part came from."""

from maia_kernel.settings.load import load
from maia_kernel.settings.values import (
    AnthropicSettings,
    Flags,
    LoadedFile,
    Secret,
    ServerSettings,
    Settings,
    WebSettings,
)

__all__ = [
    "AnthropicSettings",
    "Flags",
    "LoadedFile",
    "Secret",
    "ServerSettings",
    "Settings",
    "WebSettings",
    "load",
]
