"""The environment of the children of this room: what they need, and never a model's key."""

from collections.abc import Mapping

_NAMES = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "TZ",
        "TMPDIR",
        "TEMP",
        "TMP",
        "VIRTUAL_ENV",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "SYSTEMROOT",
        "USERPROFILE",
        "APPDATA",
        "LOCALAPPDATA",
    ]
)
_PREFIXES = ("LC_", "PYTHON", "XDG_")
# What pip reads beside its own variables: proxies and certificates.
_NETWORK_NAMES = frozenset(
    ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC"]
)


def child_environment(environ: Mapping[str, str], *, network: bool = False) -> dict[str, str]:
    """The part of `environ` a child needs; with `network`, also what pip reads to reach an index."""
    return {name: value for name, value in environ.items() if _is_needed(name, network)}


def _is_needed(name: str, network: bool) -> bool:
    if name in _NAMES or name.startswith(_PREFIXES):
        return True
    return network and (
        name in _NETWORK_NAMES or name.startswith("PIP_") or name.lower().endswith("_proxy")
    )
