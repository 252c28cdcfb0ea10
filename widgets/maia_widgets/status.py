"""The status line of the panel: what happens now, for how long, with which model, at what price."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from maia_kernel import events
from maia_kernel.measures import cost_parts, count, duration
from maia_kernel.neutral import line
from maia_kernel.texts import text
from maia_kernel.usage import Usage


@dataclass(slots=True)
class Status:
    """Follows the events of a turn. `view` is the panel's `status` trait but for the seconds.

    `quiet` says that calls have no lines of their own: the label tells what runs.
    """

    label: str = ""
    model: str = ""
    mode: str = "default"
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    began: float = field(default_factory=time.monotonic)
    asking: bool = False
    quiet: bool = False
    _names: dict[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Seconds since the turn began."""
        return time.monotonic() - self.began

    def take(self, event: events.Event) -> None:
        """Follow `event`."""
        match event:
            case events.TurnStarted():
                self.model, self.mode = line(event.model), event.mode
                self._say("starting")
            case events.UsageChanged():
                self.usage, self.cost_usd = event.usage, event.cost_usd
            case events.PermissionRequested():
                self.asking = True
            case events.PermissionResolved():
                self.asking = False
            case events.ToolStarted():
                self._names[event.id] = line(event.summary if self.quiet else event.name)
                self._running()
            case events.ToolFinished():
                self._names.pop(event.id, None)
                self._running()
            case _:
                self._take_phase(event)

    def _take_phase(self, event: events.Event) -> None:
        match event:
            case events.RequestStarted():
                self._say("waiting")
            case events.ThinkingDelta():
                self._say("thinking")
            case events.TextDelta():
                self._say("writing")
            case events.ToolInputDelta():
                self._say("calling", tool=line(event.name))
            case events.ModeChanged():
                self.mode = event.mode
            case events.Retrying():
                self._names.clear()
                delay, reason = duration(event.delay), line(event.reason)
                self._say("retrying", delay=delay, reason=reason)
            case events.Compacting():
                self._say("compacting")
            case _:
                return

    def view(self) -> Mapping[str, Any]:
        """The trait's value, without `elapsed`."""
        tokens = ""
        if self.usage.context_tokens or self.usage.output_tokens:
            taken, given = count(self.usage.context_tokens), count(self.usage.output_tokens)
            tokens = text("views.panel.tokens", input=taken, output=given)
        # A picker alone, outside of a turn, has no status line.
        asking = self.asking and bool(self.label)
        return {
            "label": text("views.state.asking") if asking else self.label,
            "asking": self.asking,
            "model": self.model,
            "mode": "" if self.mode == "default" else line(self.mode),
            "tokens": tokens,
            "money": "".join(cost_parts(self.cost_usd)),
        }

    def _running(self) -> None:
        if self._names:
            key = "running" if self.quiet else "running_tool"
            self._say(key, summary=list(self._names.values())[-1])
        else:
            self._say("waiting")

    def _say(self, key: str, **values: object) -> None:
        self.label = text(f"views.state.{key}", **values)
