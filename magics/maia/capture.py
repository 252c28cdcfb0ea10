"""What the agent's code shows while it runs: kept for the model instead of landing in the cell.

Only the main thread is caught, and threads that the code starts: the engine goes on writing to the cell.
"""

import base64
import contextlib
import io
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from IPython.core.interactiveshell import InteractiveShell

from maia.descriptors import caught, watched
from maia_kernel.display import ImageDisplay

_IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
OUTPUT_LIMIT: Final = 2_000_000
"""Characters of stdout and stderr kept in memory; what a tool returns to the model is far less."""


@dataclass(slots=True)
class Shown:
    """A display of the agent's code: a picture, or else a text."""

    image: ImageDisplay | None
    text: str


@dataclass(slots=True)
class Captured:
    """Everything the code showed. `result` is the text of the last expression; `on_text` gets
    stdout and stderr as they come, in the writing thread. `errors` are those that IPython would have
    shown, whether or not the code ended with them.
    """

    on_text: Callable[[str], None]
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    result: str = ""
    shown: dict[str, Shown] = field(default_factory=dict)
    errors: list[BaseException] = field(default_factory=list)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @property
    def stdout(self) -> str:
        """The code's stdout and stderr in order, up to `OUTPUT_LIMIT` characters."""
        text = "".join(self.pieces)
        left_out = self.size - len(text)
        return f"{text}\n[{left_out} more characters left out]\n" if left_out else text

    def take_text(self, text: str) -> None:
        """Output of the code, from any thread."""
        with self._guard:
            room = OUTPUT_LIMIT - min(self.size, OUTPUT_LIMIT)
            self.size += len(text)
            if room:
                self.pieces.append(text[:room])
        if room:
            self.on_text(text[:room])

    def take_error(self, error: BaseException | None) -> None:
        """An error that would have been shown in the cell; each once."""
        if error is not None and all(error is not known for known in self.errors):
            self.errors.append(error)

    def take_display(self, data: Mapping[str, Any], display_id: str | None) -> bool:
        """A display or its update; True when the person should see it in the cell too."""
        key = display_id or f"#{len(self.shown)}"
        self.shown[key] = _as_shown(data)
        return self.shown[key].image is None and _is_rich(data)


@contextlib.contextmanager
def capture(
    shell: InteractiveShell, *, engine_thread: int, on_text: Callable[[str], None]
) -> Iterator[Captured]:
    """Catch what the code run in this block prints, displays and returns."""
    captured = Captured(on_text)
    with contextlib.ExitStack() as stack:
        # Elsewhere the engine itself writes to descriptor 1: a terminal is one.
        whole = watched(sys.stdout) and watched(sys.stderr)
        if whole:
            stack.enter_context(caught(captured.take_text))
        for number, name in enumerate(("stdout", "stderr"), 1):
            tee = _Tee(
                getattr(sys, name),
                engine_thread=engine_thread,
                take=captured.take_text,
                descriptor=number if whole else None,
            )
            stack.callback(setattr, sys, name, getattr(sys, name))
            setattr(sys, name, tee)
        stack.enter_context(_displays(shell, captured, engine_thread))
        stack.enter_context(_replaced(sys, "displayhook", _result_hook(shell, captured)))
        # IPython leaves these as it found them only when cells do not nest.
        stack.callback(setattr, shell.displayhook, "exec_result", shell.displayhook.exec_result)
        # The error comes back as text; a pager would wait for a key that nobody can press.
        for name in ("showtraceback", "showsyntaxerror", "showindentationerror"):
            stack.enter_context(_replaced(shell, name, _taking(captured)))
        stack.enter_context(_no_exit(shell))
        stack.callback(setattr, shell.hooks, "show_in_pager", shell.hooks.show_in_pager)
        shell.hooks.show_in_pager = _pager(captured.take_text)
        yield captured


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: object) -> Iterator[None]:
    """`owner.name` is `value` in this block; an attribute of the class is only covered."""
    own = vars(owner)
    missing = object()
    before = own.get(name, missing)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is missing:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


def _taking(captured: Captured) -> Callable[..., None]:
    """In the place of IPython's `showtraceback` and its like."""

    def show(*args: Any, **options: Any) -> None:
        given = options.get("exc_tuple") or (args[0] if args else None)
        # The first argument of the others is a file's name.
        captured.take_error(given[1] if isinstance(given, tuple) else sys.exc_info()[1])

    return show


@contextlib.contextmanager
def _no_exit(shell: InteractiveShell) -> Iterator[None]:
    """`exit()` and `quit()` end the code as `sys.exit()` does; the kernel is the person's."""

    def refuse() -> None:
        raise SystemExit("the person's kernel goes on: code of the agent cannot end it")

    missing = object()
    keep = vars(shell).get("keepkernel_on_exit", missing)
    # IPython's advice on how to leave is of no use to a model.
    warnings.filterwarnings("ignore", message="To exit: use", category=UserWarning)
    advice = warnings.filters[0]
    try:
        with _replaced(shell, "ask_exit", refuse):
            yield
    finally:
        if advice in warnings.filters:
            warnings.filters.remove(advice)  # type: ignore[attr-defined]
        if keep is missing:
            vars(shell).pop("keepkernel_on_exit", None)
        else:
            shell.keepkernel_on_exit = keep  # type: ignore[attr-defined]


class _Tee(io.TextIOBase):
    """A stream in the place of `sys.stdout`: the engine's thread writes through, others are caught.

    `descriptor` is its number where that is caught, too.
    """

    def __init__(
        self,
        original: Any,
        *,
        engine_thread: int,
        take: Callable[[str], None],
        descriptor: int | None,
    ) -> None:
        super().__init__()
        self._original = original
        self._engine_thread = engine_thread
        self._take = take
        self._descriptor = descriptor
        self._process = os.getpid()

    def write(self, text: str) -> int:
        if threading.get_ident() == self._engine_thread:
            self._original.write(text)
        elif self._descriptor is not None and os.getpid() != self._process:
            os.write(
                self._descriptor, text.encode("utf-8", "replace")
            )  # a fork's memory is its own
        elif text:
            self._take(text)
        return len(text)

    def fileno(self) -> int:
        if self._descriptor is not None:
            return self._descriptor
        return int(self._original.fileno())

    def flush(self) -> None:
        self._original.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._original, "encoding", None) or "utf-8"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


@contextlib.contextmanager
def _displays(shell: InteractiveShell, captured: Captured, engine_thread: int) -> Iterator[None]:
    publisher: Any = shell.display_pub
    if not hasattr(publisher, "register_hook"):  # a terminal's
        with _replaced(publisher, "publish", _publish(publisher, captured, engine_thread)):
            yield
        return

    def hook(message: dict[str, Any]) -> dict[str, Any] | None:
        if message["msg_type"] not in ("display_data", "update_display_data"):
            return None  # clear_output would clear the answer
        content = message["content"]
        display_id = content.get("transient", {}).get("display_id")
        return message if captured.take_display(content["data"], display_id) else None

    publisher.register_hook(hook)  # of this thread only
    try:
        yield
    finally:
        publisher.unregister_hook(hook)


def _publish(publisher: Any, captured: Captured, engine_thread: int) -> Callable[..., None]:
    original = publisher.publish

    def publish(data: Mapping[str, Any], metadata: object = None, **options: Any) -> None:
        if threading.get_ident() == engine_thread:
            original(data, metadata, **options)
        else:
            transient = options.get("transient") or {}
            captured.take_display(data, transient.get("display_id"))

    return publish


def _result_hook(shell: InteractiveShell, captured: Captured) -> Callable[[object], None]:
    """In the place of `sys.displayhook`: no `Out[]`, and `_` stays the person's."""

    def hook(value: object) -> None:
        if value is None:
            return
        formatter: Any = shell.display_formatter
        data, _ = formatter.format(value)
        shown = _as_shown(data)
        if shown.image is not None:
            captured.shown[f"#{len(captured.shown)}"] = shown
        captured.result = str(data.get("text/plain", ""))

    return hook


def _pager(take: Callable[[str], None]) -> Callable[..., None]:
    def show(shell: object, text: Any, *args: object, **options: object) -> None:
        take(str(text.get("text/plain", "") if isinstance(text, Mapping) else text))

    return show


def _as_shown(data: Mapping[str, Any]) -> Shown:
    text = str(data.get("text/plain") or data.get("text/markdown") or data.get("text/html") or "")
    for media_type in _IMAGES:
        picture = data.get(media_type)
        if isinstance(picture, bytes):
            picture = base64.b64encode(picture).decode("ascii")
        if picture:
            return Shown(ImageDisplay(media_type, "".join(picture.split())), text)
    return Shown(None, text)


def _is_rich(data: Mapping[str, Any]) -> bool:
    """Whether plain text would not do it justice: a table in HTML, an interactive plot, a widget."""
    return any(
        kind in ("text/html", "text/latex", "image/svg+xml", "text/markdown")
        or kind.startswith("application/")
        for kind in data
    )
