"""One conversation: its messages, what its tools share, what the person allowed for its length."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from maia_kernel.errors import UsageError
from maia_kernel.messages import Message
from maia_kernel.permissions import Rule
from maia_kernel.permissions.ledger import Ledger
from maia_kernel.sessions.journal import Journal, stamp
from maia_kernel.texts import text
from maia_kernel.tools.base import ToolContext
from maia_kernel.usage import Usage

_NAME_LIMIT = 100


@dataclass(slots=True)
class Session:
    """The state that outlives a turn; owned by the engine's loop.

    `grants` are rules allowed for this session only, `ledger` what was decided, `reminders` texts that
    the next prompt carries, `planning` whether the model was last told that plan mode is on, `spent` the
    tokens of all its turns.
    """

    journal: Journal
    tools: ToolContext
    messages: tuple[Message, ...] = ()
    grants: tuple[Rule, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    reminders: tuple[str, ...] = ()
    planning: bool = False
    spent: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    turns: int = 0

    @property
    def name(self) -> str:
        """The session's name, which is its file's."""
        return self.journal.name

    @property
    def path(self) -> Path:
        """The session's file; it exists once a message was written."""
        return self.journal.path

    def clear(self) -> None:
        """Empty the context; the file goes on."""
        self.messages = ()
        self.reminders, self.planning = (), False
        self.tools.seen.clear()
        self.tools.todos = ()
        self.tools.loaded.clear()
        self.tools.background.doubt()
        if self.journal.written:
            self.journal.append("cleared", time=stamp())

    async def aclose(self) -> None:
        """Leave the conversation: what it runs in the background ends."""
        await self.tools.background.end()

    def begin_turn(self, model: str) -> int:
        """Count and record a new turn; returns its number."""
        self.turns += 1
        self.journal.append("turn_started", turn=self.turns, time=stamp(), model=model)
        return self.turns

    def record(self, message: Message) -> None:
        """Write a message of the running turn; `messages` is set when the turn ends."""
        self.journal.append("message", turn=self.turns, message=message.to_dict())

    def end_turn(self, reason: str, usage: Usage, messages: Sequence[Message]) -> None:
        """Record the turn's end; `messages` is the conversation from now on."""
        self.messages = tuple(messages)
        self.spent = self.spent + usage
        self.journal.append(
            "turn_finished", turn=self.turns, time=stamp(), reason=reason, usage=usage.to_dict()
        )


def default_name(now: datetime) -> str:
    """`session_{YYYY-MM-DD}_{HH}_{MM}_{SS}`."""
    return now.strftime("session_%Y-%m-%d_%H_%M_%S")


def checked_name(name: str) -> str:
    """`name` if it can be a session's: no separators, not empty, at most 100 characters.

    Raises:
        UsageError: says what is wrong with it.
    """
    if not name.strip() or len(name) > _NAME_LIMIT or re.search(r"[/\\\x00-\x1f]", name):
        raise UsageError(text("sessions.bad_name", name=name, limit=_NAME_LIMIT))
    if name.startswith("."):
        raise UsageError(text("sessions.bad_name", name=name, limit=_NAME_LIMIT))
    return name
