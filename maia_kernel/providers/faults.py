"""From what a server or a socket did to MAIA's errors: one line with where, what and what to do.

Every line goes through `Endpoint.clean`, which takes the endpoint's own key out of a server's words.
"""

import json
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from maia_kernel.errors import (
    AuthenticationFailed,
    BadRequest,
    ModelNotFound,
    NetworkFault,
    Overloaded,
    PromptTooLong,
    ProtocolFault,
    ProviderError,
    RateLimited,
    ServerFault,
    StreamBroken,
)
from maia_kernel.texts import text

_LONGEST_RETRY_AFTER = 86_400.0  # seconds
_SAID_LIMIT = 280  # characters of a server's words, so that where and what-to-do fit into a line

# Nobody has a stable wording or code for this: the words of Anthropic, OpenAI, llama.cpp, vLLM,
# Ollama, LiteLLM and their gateways as seen in public reports.
_TOO_LONG = re.compile(
    r"prompt is too long|input is too long|context_length_exceeded|maximum context length"
    r"|context (?:size|window|length)(?: limit)?.{0,40}(?:exceed|too (?:long|large)|overflow)"
    r"|exceeds?.{0,60}(?:context (?:size|window|length)|max_model_len|n_ctx)"
    r"|exceed_context_size|requested tokens.{0,20}exceed|too many (?:input )?tokens"
    r"|reduce the length of the (?:messages|prompt)",
    re.IGNORECASE | re.DOTALL,
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|billing_error|billing_hard_limit|credit balance|spend(?:ing)? (?:cap|limit)"
    r"|exceeded your current quota",
    re.IGNORECASE,
)
_OVERLOADED = re.compile(r"overloaded|no capacity|model is (?:still )?loading", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider's requests go; `secrets` are never shown, `key_hint` says where a key is set."""

    provider: str
    url: str
    secrets: tuple[str, ...] = field(default=(), repr=False)
    key_hint: str = ""

    def is_at(self, *hosts: str) -> bool:
        """Whether the address is on one of `hosts`, whatever the port."""
        try:
            return urlsplit(self.url).hostname in hosts
        except ValueError:
            return False

    @property
    def host(self) -> str:
        """Host, with the port when the address names one."""
        parts = urlsplit(self.url)
        host = parts.hostname or self.clean(self.url)
        return f"{host}:{parts.port}" if parts.port else host

    @property
    def address(self) -> str:
        """The address as it may be shown: without user, password and query."""
        parts = urlsplit(self.url)
        return self.clean(f"{parts.scheme}://{self.host}{parts.path}".rstrip("/"))

    @property
    def where_key(self) -> str:
        """Where the key is set, in the person's words."""
        return self.key_hint or text("providers.key_of_server")

    def clean(self, said: str) -> str:
        """A server's words in one line, shortened, without the key or the address's password."""
        try:
            password = urlsplit(self.url).password
        except ValueError:
            password = None
        for secret in (*self.secrets, password):
            if secret:
                said = said.replace(secret, "***")
        line = " ".join(said.split())
        return line if len(line) <= _SAID_LIMIT else line[: _SAID_LIMIT - 1] + "…"


def from_status(
    endpoint: Endpoint,
    status: int,
    said: str,
    *,
    kind: str = "",
    model: str = "",
    retry_after: float | None = None,
) -> ProviderError:
    """The error for HTTP `status`; `kind` is the server's own type or code of the error.

    A mid-stream error has no status of its own: give what its kind stands for.
    """
    name, what = _classify(status, f"{kind} {said}")
    words = endpoint.clean(said) or text("providers.said_nothing")
    line = text(
        f"providers.{what}",
        provider=endpoint.provider,
        host=endpoint.host,
        address=endpoint.address,
        status=status,
        said=words.rstrip("."),
        model=model or text("providers.this_model"),
        where=endpoint.where_key,
    )
    return name(line, provider=endpoint.provider, status=status, retry_after=retry_after)


def _classify(status: int, said: str) -> tuple[type[ProviderError], str]:
    by_status: dict[int, tuple[type[ProviderError], str]] = {
        401: (AuthenticationFailed, "unauthorized"),
        402: (BadRequest, "no_credit"),
        403: (AuthenticationFailed, "forbidden"),
        404: (ModelNotFound, "not_found"),
        429: (RateLimited, "rate"),
        529: (Overloaded, "overloaded"),
    }
    if status in (400, 413, 422, 500) and _TOO_LONG.search(said):
        return PromptTooLong, "too_long"
    if status in (400, 402, 403, 429) and _NO_CREDIT.search(said):
        return BadRequest, "no_credit"
    if status == 400 and "model_not_found" in said:
        return ModelNotFound, "not_found"
    if status in by_status:
        return by_status[status]
    if status >= 500:
        overloaded = status == 503 or _OVERLOADED.search(said)
        return (Overloaded, "overloaded") if overloaded else (ServerFault, "fault")
    if status in (408, 409, 425):
        return ServerFault, "fault"
    return BadRequest, "refused"


# What the type of an Anthropic error event, or the code of an OpenAI one, stands for.
_KINDS = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "invalid_request_error": 400,
    "exceed_context_size_error": 400,
    "context_length_exceeded": 400,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def status_of(kind: str, default: int = 500) -> int:
    """The HTTP status that an error's type or code stands for, for errors inside a stream."""
    return int(kind) if kind.isdigit() and len(kind) == 3 else _KINDS.get(kind, default)


def said(error: Any) -> tuple[str, str]:
    """Message and type or code of an error body, whatever its shape."""
    if isinstance(error, Mapping):
        inner = error.get("error")
        if inner:
            return said(inner)
        message = error.get("message") or error.get("detail") or error.get("msg") or ""
        kind = str(error.get("code") or "")
        if status_of(kind, 0) == 0:
            kind = str(error.get("type") or kind)
        return message if isinstance(message, str) else json.dumps(message), kind
    plain = str(error or "")
    return ("", "") if plain.lstrip().startswith("<") else (plain, "")


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds to wait as `retry-after-ms` or `retry-after` (seconds or a date) say; None if neither.

    What no server can mean (negative, not finite, more than a day) counts as nothing said.
    """
    exact, written = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    said = (
        _number(exact, unit=0.001),
        _number(written, unit=1.0),
        _seconds_until(written, now=now),
    )
    return next((wait for wait in said if wait is not None), None)


def _number(said: str, *, unit: float) -> float | None:
    try:
        wait = float(said) * unit
    except ValueError:
        return None
    return wait if 0.0 <= wait <= _LONGEST_RETRY_AFTER else None


def _seconds_until(date: str, *, now: float) -> float | None:
    try:
        wait = max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None
    return wait if wait <= _LONGEST_RETRY_AFTER else None


def unreachable(endpoint: Endpoint, cause: BaseException) -> NetworkFault:
    """No connection: refused, unresolved, no route, a failed TLS handshake."""
    line = text(
        "providers.unreachable",
        provider=endpoint.provider,
        host=endpoint.host,
        cause=endpoint.clean(_reason(cause)),
    )
    return NetworkFault(line, provider=endpoint.provider)


def _reason(error: BaseException) -> str:
    """The innermost cause in a word: HTTP libraries wrap what the operating system said."""
    cause: BaseException | None = error
    while cause is not None:
        match cause:
            case ConnectionRefusedError():
                return text("providers.connection_refused")
            case socket.gaierror():
                return text("providers.unknown_host")
            case BaseExceptionGroup():
                cause = cause.exceptions[0]
            case _:
                cause = cause.__cause__ or cause.__context__
    return str(error) or type(error).__name__


def timed_out(endpoint: Endpoint, *, seconds: float | None = None) -> NetworkFault:
    """No answer in time, before the first byte; `seconds` is the limit that passed."""
    key = "providers.timed_out" if seconds is None else "providers.timed_out_after"
    line = text(key, provider=endpoint.provider, host=endpoint.host, seconds=f"{seconds or 0:g}")
    return NetworkFault(line, provider=endpoint.provider, timed_out=True)


def broken(endpoint: Endpoint, cause: str = "") -> StreamBroken:
    """The answer began and did not end."""
    reason = endpoint.clean(cause) or text("providers.no_end_marker")
    line = text(
        "providers.broken", provider=endpoint.provider, host=endpoint.host, cause=reason.rstrip(".")
    )
    return StreamBroken(line, provider=endpoint.provider)


def silent(endpoint: Endpoint, seconds: float) -> StreamBroken:
    """The answer began and then nothing came for `seconds`."""
    return broken(endpoint, text("providers.silent", seconds=f"{seconds:g}"))


def not_the_protocol(
    endpoint: Endpoint, *, body: str, expected: str, what: str | None = None
) -> ProtocolFault:
    """A 2xx answer of another kind: HTML, nothing, other JSON. `expected` names the API.

    `what` describes the body where it was not kept.
    """
    line = text(
        "providers.not_the_protocol",
        provider=endpoint.provider,
        address=endpoint.address,
        what=what or _describe(endpoint, body),
        expected=expected,
    )
    return ProtocolFault(line, provider=endpoint.provider, status=200)


def _describe(endpoint: Endpoint, body: str) -> str:
    start = body.lstrip()[:400]
    if not start:
        return text("providers.body_empty")
    if start.startswith("<"):
        title = re.search(r"<title[^>]*>([^<]{1,80})", start, re.IGNORECASE)
        named = f" ({endpoint.clean(title.group(1))})" if title else ""
        return text("providers.body_html") + named
    return text("providers.body_other", start=endpoint.clean(start[:60]))
