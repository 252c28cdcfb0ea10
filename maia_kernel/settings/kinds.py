"""What each setting may be: a check that gives the value, or raises `ValueError` with what it must be."""

import math
import re
from collections.abc import Callable
from typing import Any

from maia_kernel.hosts import normal_place
from maia_kernel.permissions import MODES
from maia_kernel.settings.values import LANGUAGES
from maia_kernel.texts import text

Kind = Callable[[Any], Any]
EFFORTS = ("low", "medium", "high", "xhigh", "max")
_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off", "")
_MODE_NAMES = {"manual": "default"}


def word(value: Any) -> str:
    """A non-empty text."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise ValueError(text("settings.kind.text"))


def texts(value: Any) -> tuple[str, ...]:
    """A text or a list of texts."""
    if isinstance(value, str):
        return (word(value),)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(item for item in value if item.strip())
    raise ValueError(text("settings.kind.texts"))


def mapping(value: Any) -> dict[str, str]:
    """An object of texts."""
    if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
        return dict(value)
    raise ValueError(text("settings.kind.mapping"))


def flag(value: Any) -> bool:
    """Yes or no: true or false; in the environment also 1, 0, yes, no, on, off."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().casefold() in (*_ON, *_OFF):
        return value.strip().casefold() in _ON
    raise ValueError(text("settings.kind.flag"))


def count(value: Any) -> int:
    """A whole number, at least 0."""
    number_ = _number(value)
    if number_ == int(number_) and number_ >= 0:
        return int(number_)
    raise ValueError(text("settings.kind.count"))


def positive(value: Any) -> int:
    """A whole number, at least 1."""
    found = count(value)
    if found:
        return found
    raise ValueError(text("settings.kind.positive"))


def seconds(value: Any) -> float:
    """A positive time in seconds."""
    number_ = _number(value)
    if number_ > 0:
        return number_
    raise ValueError(text("settings.kind.seconds"))


def milliseconds(value: Any) -> float:
    """A positive time in milliseconds, given back in seconds."""
    return seconds(_number(value) / 1000)


def money(value: Any) -> float:
    """A positive amount in USD."""
    return seconds(value)


def one_of(*names: str) -> Kind:
    """One of these words."""

    def check(value: Any) -> str:
        if isinstance(value, str) and value.strip() in names:
            return value.strip()
        raise ValueError(text("settings.kind.one_of", names=", ".join(names)))

    return check


def mode(value: Any) -> str:
    """A permission mode by name; `manual` is another name of `default`."""
    named = _MODE_NAMES.get(value, value) if isinstance(value, str) else value
    return str(one_of(*MODES)(named))


def language(value: Any) -> str:
    """A language with a catalogue of texts; `fr_FR.UTF-8` is `fr`."""
    if isinstance(value, str):
        code = re.split(r"[_.\-@]", value.strip().casefold())[0]
        code = {"french": "fr", "français": "fr", "english": "en"}.get(code, code)
        if code in LANGUAGES:
            return code
    raise ValueError(text("settings.kind.one_of", names=", ".join(LANGUAGES)))


def url(value: Any) -> str:
    """An address with http or https."""
    if isinstance(value, str) and re.match(r"https?://[^\s/]", value.strip()):
        return value.strip()
    raise ValueError(text("settings.kind.url"))


def hosts(value: Any) -> frozenset[str]:
    """A text or a list of texts, each `host` or `host:port`, in normal form."""
    try:
        return frozenset(normal_place(item) for item in texts(value))
    except ValueError:
        raise ValueError(text("settings.kind.hosts")) from None


def ollama_host(value: Any) -> str:
    """An address, or a host, a port or both, as Ollama's own programs take them.

    A server that listens everywhere (`0.0.0.0`) is asked on this machine.
    """
    written = word(value).rstrip("/")
    match = re.fullmatch(r"(?:(https?)://)?(\[[^\]]*\]|[^:/\[\]]*)(?::(\d{1,5}))?(/.*)?", written)
    if match is None:
        raise ValueError(text("settings.kind.url"))
    scheme, host, port, path = match.groups()
    default = {None: ":11434", "http": ":80", "https": ""}[scheme]
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
    return f"{scheme or 'http'}://{host}{default if port is None else f':{port}'}{path or ''}"


def table(value: Any) -> dict[str, Any]:
    """Any object; rooms that come later read it."""
    if isinstance(value, dict):
        return value
    raise ValueError(text("settings.kind.object"))


def anything(value: Any) -> Any:
    """Kept, and read elsewhere or not at all."""
    return value


def _number(value: Any) -> float:
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(text("settings.kind.number"))
    return float(value)
