"""One reply as it streams: chunks are folded, shown without secrets, and harmless calls start early."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from maia_kernel.events import (
    Event,
    Notice,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    UsageChanged,
)
from maia_kernel.loop.execution import Execution
from maia_kernel.messages import ToolUse
from maia_kernel.providers.base import (
    BlockFinished,
    Chunk,
    Noticed,
    Stopped,
    TextChunk,
    ThinkingChunk,
    ToolInputChunk,
    ToolUseStarted,
    UsageReported,
)
from maia_kernel.providers.reply import ReplyState, fold
from maia_kernel.tools.pieces import Pieces

_Words = type[TextDelta] | type[ThinkingDelta]


@dataclass(slots=True)
class Reading:
    """`state` is what came so far, `heard` the text of it. Events go to the execution's `emit`."""

    execution: Execution
    state: ReplyState = field(default_factory=ReplyState)
    heard: list[str] = field(default_factory=list)
    _words: Pieces = field(init=False)
    _kind: _Words = TextDelta
    _calls: dict[int, tuple[str, str, Pieces]] = field(default_factory=dict)
    _leading: bool = True

    def __post_init__(self) -> None:
        self._words = Pieces(self.execution.secrets)

    async def read(self, chunks: AsyncIterator[Chunk]) -> None:
        """Take every chunk; what was held back is shown however it ends."""
        try:
            async for chunk in chunks:
                self.state = fold(self.state, chunk)
                self._show(chunk)
        finally:
            self._end_words()
            for index in list(self._calls):
                self._end_call(index)

    def _show(self, chunk: Chunk) -> None:
        match chunk:
            case TextChunk(text=piece) if piece:
                self.heard.append(piece)
                self._say(TextDelta, piece)
            case ThinkingChunk(text=piece) if piece:
                self._say(ThinkingDelta, piece)
            case ToolUseStarted(index=index, id=id_, name=name):
                self._end_words()
                self._calls[index] = (id_, name, Pieces(self.execution.secrets))
            case ToolInputChunk(index=index, partial_json=piece) if piece:
                self._show_input(index, self._calls[index][2].feed(piece))
            case UsageReported(usage=usage):
                self._emit(UsageChanged(usage))
            case BlockFinished(index=index):
                self._end_call(index)
                self._start_early(index)
            case Noticed(text=line):
                self._emit(Notice("info", self.execution.secrets.redact(line)))
            case Stopped():
                self._end_words()
            case _:
                pass

    def _say(self, kind: _Words, piece: str) -> None:
        # Two blocks of text in a row read as one: a secret may lie across them.
        if kind is not self._kind:
            self._end_words()
            self._kind = kind
        self._show_words(self._words.feed(piece))

    def _end_words(self) -> None:
        self._show_words(self._words.rest())

    def _show_words(self, words: str) -> None:
        if words:
            self._emit(self._kind(words))

    def _show_input(self, index: int, piece: str) -> None:
        id_, name, _ = self._calls[index]
        if piece:
            self._emit(ToolInputDelta(id_, name, piece))

    def _end_call(self, index: int) -> None:
        if index in self._calls:
            self._show_input(index, self._calls[index][2].rest())
            del self._calls[index]

    def _start_early(self, index: int) -> None:
        """Start a harmless call at once, as long as no other call has to come before it."""
        block = self.state.finished(index)
        if isinstance(block, ToolUse) and self._leading:
            self._leading = self.execution.start_early(block)

    def _emit(self, event: Event) -> None:
        self.execution.emit(event)
