"""Every error MAIA raises on purpose, in one tree.

    MaiaError                       one line for the person: what happened, why, what to do
      UsageError                    the person's mistake: a wrong option, an unknown model, a bad name
        NoModelChosen               nothing says which model should answer
      SettingsError                 a settings file that cannot be used
      SessionError                  a session file that cannot be read or written
      LocalModelError               the embedded model: not installed, not downloaded, its server died
      SandboxError                  a command cannot be kept within its bounds
      EngineStopped                 the engine was shut down while a turn was asked of it
      ProviderError                 a model's server: `status`, `provider`, `retry_after`
        AuthenticationFailed        no key, wrong key, no access
        ModelNotFound               unknown model or address
        BadRequest                  the server refuses the request as it is
        PromptTooLong               more than the context window
        RateLimited                 429
        Overloaded                  529, or a server that says so
        ServerFault                 other 5xx
        NetworkFault                refused, unresolved, timed out before an answer
        StreamBroken                the answer began and did not end
        ProtocolFault               an answer that is not of the expected format (HTML, empty, wrong JSON)
      ToolError                     the whole vocabulary of a tool's author
        ToolFailed                  tell the model that it failed, and why
        ToolRetry                   tell the model how to call the tool right
        NeedsUser                   only a person can go on: refused where nobody can be asked

A message is at most 500 characters and never holds a key.
"""

from typing import ClassVar

MESSAGE_LIMIT = 500


class MaiaError(Exception):
    """Root: `str(error)` is the one line shown to the person."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str) -> None:
        line = " ".join(message.split())
        super().__init__(line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 1] + "…")


class UsageError(MaiaError):
    """The person asked for something that does not exist or cannot be."""

    exit_code = 2


class NoModelChosen(UsageError):
    """Nothing says which model should answer."""

    exit_code = 3


class SettingsError(MaiaError):
    """A settings file that cannot be used."""

    exit_code = 2


class SessionError(MaiaError):
    """A session that cannot be read or written."""


class LocalModelError(MaiaError):
    """The embedded local model cannot be used."""

    exit_code = 3


class SandboxError(MaiaError):
    """A command cannot be kept within its bounds; it was not started."""


class EngineStopped(MaiaError):
    """The engine is shut down."""


class ProviderError(MaiaError):
    """A model's server failed. Branch on the class, `status` (HTTP) and `retry_after` (seconds)."""

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.status = status
        self.retry_after = retry_after


class AuthenticationFailed(ProviderError):
    """No key, a wrong key, or no access with it."""


class ModelNotFound(ProviderError):
    """The server does not know the model, or the address."""


class BadRequest(ProviderError):
    """The server refuses the request as it is; repeating it would not help."""


class PromptTooLong(ProviderError):
    """The request is larger than the model's context window."""


class RateLimited(ProviderError):
    """Too many requests; `retry_after` when the server said so."""


class Overloaded(ProviderError):
    """The server has no capacity now."""


class ServerFault(ProviderError):
    """The server failed (5xx)."""


class NetworkFault(ProviderError):
    """No answer: refused, unresolved, or timed out before the first byte; `timed_out` tells which."""

    def __init__(self, message: str, *, provider: str = "", timed_out: bool = False) -> None:
        super().__init__(message, provider=provider)
        self.timed_out = timed_out


class StreamBroken(ProviderError):
    """The answer began and broke off, or went silent."""


class ProtocolFault(ProviderError):
    """The answer is not of the expected format."""


class ToolError(MaiaError):
    """What a tool may raise; the message is for the model."""

    def __init__(self, message: str) -> None:
        # Unlike a line for the person, this may hold many lines: nearest regions, a traceback.
        Exception.__init__(self, message)


class ToolFailed(ToolError):
    """The tool could not do it; the message says why."""


class ToolRetry(ToolError):
    """The call was wrong; the message says how to call."""


class NeedsUser(ToolError):
    """A person is needed and none can be asked."""
