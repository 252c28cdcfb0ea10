"""Host patterns of `WebFetch(domain:...)` rules.

`domain:*` is every host, `*.example.com` any depth below it but not the bare name; elsewhere a star
stays within one label: `example.*` is not `example.evil.com`.
"""

import re
from functools import lru_cache

from maia_kernel.hosts import normal_host
from maia_kernel.texts import text

_PREFIX = "domain:"
_LABEL = re.compile(r"[a-z0-9_*-]+")


def domain_fault(specifier: str) -> str | None:
    """What is wrong with a `domain:host` specifier, in one line; None when nothing is."""
    if not specifier.startswith(_PREFIX):
        return text("permissions.rule.no_domain")
    try:
        _pattern(specifier)
    except ValueError:
        return text("permissions.rule.bad_host", host=specifier.removeprefix(_PREFIX).strip())
    return None


def matches_domain(specifier: str, candidate: str) -> bool:
    """True when the host of `candidate`, `domain:host`, is one that `specifier` means."""
    try:
        host = normal_host(candidate.removeprefix(_PREFIX).strip())
        return _pattern(specifier).fullmatch(host) is not None
    except ValueError:
        return False


@lru_cache(maxsize=1024)
def _pattern(specifier: str) -> re.Pattern[str]:
    written = specifier.removeprefix(_PREFIX).strip()
    if "*" not in written:
        return re.compile(re.escape(normal_host(written)))
    if written == "*":
        return re.compile(".*")
    labels = written.lower().removesuffix(".").split(".")
    deep = labels[0] == "*" and len(labels) > 1
    parts = [_label(label) for label in (labels[1:] if deep else labels)]
    return re.compile((r"(?:[^.]+\.)+" if deep else "") + r"\.".join(parts))


def _label(label: str) -> str:
    if not label.isascii():
        label = normal_host(label)
    if not _LABEL.fullmatch(label):
        raise ValueError(label)
    return "".join("[^.]*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", label))
