"""MAIA's agent: the loop, its tools, models and permissions. It knows no notebook and no screen."""

from maia_kernel._version import __version__

__all__ = ["__version__"]
