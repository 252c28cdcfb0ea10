"""The outside world as the agent sees it: protocols that a notebook, a terminal or a test implements."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from maia_kernel.display import ImageDisplay
from maia_kernel.questions import Answer, Question


class Ask(Protocol):
    """Ask a person; returns when they answered. Cancelling the coroutine withdraws the question.

    A `PermissionQuestion` is answered by a `PermissionAnswer`, a `FormQuestion` by a `FormAnswer`, and
    so on.
    """

    async def __call__(self, question: Question, /) -> Answer: ...


@dataclass(frozen=True, slots=True)
class CodeResult:
    """What code in the live kernel gave.

    `stdout` holds stdout and stderr in order, `result` the text of the last expression, `images` the
    figures and pictures shown, `texts` other shown outputs as text, `error` a trimmed traceback
    without colours. `changed` names variables that are new or rebound.
    """

    stdout: str = ""
    result: str = ""
    images: tuple[ImageDisplay, ...] = ()
    texts: tuple[str, ...] = ()
    error: str = ""
    changed: tuple[str, ...] = ()


class Modes(Protocol):
    """The permission mode, as the tools of a turn may change it on the person's word."""

    @property
    def current(self) -> str:
        """The mode in force."""
        ...

    def enter_plan(self) -> None:
        """Go into plan mode."""
        ...

    def leave_plan(self, *, accept_edits: bool) -> str:
        """Go back to the mode before plan mode, or to acceptEdits; returns the mode now in force."""
        ...


@dataclass(frozen=True, slots=True)
class Isolation:
    """What a copy of the kernel is put behind before its code runs.

    `environ` replaces its variables, `confine` takes rights from its process, for good; it runs in the
    copy. None leaves them as they are.
    """

    environ: Mapping[str, str] | None = None
    confine: Callable[[], None] | None = None


class KernelPort(Protocol):
    """The live kernel: code runs in its main thread, in the user's namespace."""

    async def run_code(
        self, code: str, *, timeout: float, on_output: Callable[[str], None]
    ) -> CodeResult:
        """Run `code` as a cell would, at most `timeout` seconds.

        `on_output` gets pieces of stdout and stderr as they come. A kernel interrupt cancels the
        turn: `asyncio.CancelledError`.

        Raises:
            TimeoutError: the code was interrupted at the limit.
        """
        ...

    async def call(
        self, work: Callable[[], Any], *, timeout: float, on_output: Callable[[str], None]
    ) -> CodeResult:
        """Call `work` in the main thread, at most `timeout` seconds, and wait for what it returns if
        that can be awaited. As `run_code`, but a text it returns is the `result` as it is, and plain
        values are JSON.

        Raises:
            TimeoutError: it was interrupted at the limit.
            ToolError: `work` raised it.
        """
        ...

    async def run_isolated(
        self,
        code: str,
        *,
        timeout: float,
        on_output: Callable[[str], None],
        isolation: Isolation,
    ) -> CodeResult:
        """Run `code` on a copy of the kernel, which is killed when it is done or out of time.

        Raises:
            TimeoutError: it was killed at the limit.
            ToolFailed: no copy can be made, or it ended without a result.
        """
        ...


class Secrets(Protocol):
    """Values that must never be shown or stored."""

    def redact(self, text: str) -> str:
        """`text` with a mask in place of every secret."""
        ...

    def unfinished(self, text: str) -> int:
        """How many characters at the end of `text` may be the beginning of a secret."""
        ...

    def kinds(self, texts: Iterable[str], /) -> tuple[str, ...]:
        """The kinds of the secrets in these texts, each once."""
        ...


class Clock(Protocol):
    """Time, so that tests need not wait."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class FileHistory(Protocol):
    """Keeps a file's bytes before a tool changes it."""

    def keep(self, path: Path) -> None:
        """Remember `path` as it is now, or that it does not exist."""
        ...
