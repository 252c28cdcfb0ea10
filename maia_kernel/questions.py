"""What a person may be asked, and what they answer: a closed union of values.

A question travels inside an event to the views and as the argument of the `Ask` port; the answer is
the port's return value and the only value that goes back from a view to a turn.
"""

from dataclasses import dataclass
from typing import Any, Literal

from maia_kernel.display import Display, display_to_dict

PermissionChoice = Literal["once", "session", "always", "deny"]
AnsweredBy = Literal["person", "nobody", "interrupt"]


@dataclass(frozen=True, slots=True)
class RuleOffer:
    """The rule that "Always allow" would write: narrow, and the file it would go to."""

    rule: str
    file: str


@dataclass(frozen=True, slots=True)
class PermissionQuestion:
    """May this tool call run?

    `summary` is one line, `displays` the whole command or diff, `touches` what it changes or reaches,
    `reason` why it is asked, `agent` who asks (empty for the main agent). `offer` is None where no
    rule could cover it (then only "once" and "deny" make sense, and `session` is not offered).
    """

    id: str
    tool: str
    summary: str
    displays: tuple[Display, ...]
    reason: str
    touches: tuple[str, ...] = ()
    offer: RuleOffer | None = None
    agent: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form for widgets and `stream-json`."""
        return {
            "type": "permission",
            "id": self.id,
            "tool": self.tool,
            "summary": self.summary,
            "displays": [display_to_dict(display) for display in self.displays],
            "reason": self.reason,
            "touches": list(self.touches),
            "offer": None
            if self.offer is None
            else {"rule": self.offer.rule, "file": self.offer.file},
            "agent": self.agent,
        }


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """The person's word. `message` goes to the model with a denial; `rule` is the offer as edited."""

    choice: PermissionChoice
    message: str = ""
    rule: str = ""
    by: AnsweredBy = "person"


@dataclass(frozen=True, slots=True)
class ChoiceOption:
    """One row of a picker; `group` is its heading, `detail` the grey text beside it."""

    value: str
    label: str
    detail: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """Pick one of `options`; the picker applies nothing itself."""

    id: str
    title: str
    options: tuple[ChoiceOption, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form for widgets."""
        return {
            "type": "choice",
            "id": self.id,
            "title": self.title,
            "options": [
                {
                    "value": option.value,
                    "label": option.label,
                    "detail": option.detail,
                    "group": option.group,
                }
                for option in self.options
            ],
        }


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """The value picked, or None when the person left the picker."""

    value: str | None
    by: AnsweredBy = "person"


Question = PermissionQuestion | ChoiceQuestion
Answer = PermissionAnswer | ChoiceAnswer
