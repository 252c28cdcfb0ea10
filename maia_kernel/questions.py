"""What a person may be asked, and what they answer: a closed union of values.

A question travels inside an event to the views and as the argument of the `Ask` port; the answer is
the port's return value and the only value that goes back from a view to a turn.
"""

from dataclasses import dataclass
from typing import Any, Literal, assert_never

from maia_kernel.display import Display, display_to_dict

PermissionChoice = Literal["once", "session", "always", "deny"]
TrustChoice = Literal["trust", "later", "never"]
PlanChoice = Literal["approve", "approve_edits", "reject"]
AnsweredBy = Literal["person", "nobody", "interrupt"]
RulePlace = Literal["local", "project", "user"]
RULE_PLACES: tuple[RulePlace, ...] = ("local", "project", "user")


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A settings file that a rule may be written to; `path` is as the person would write it."""

    place: RulePlace
    path: str


@dataclass(frozen=True, slots=True)
class RuleOffer:
    """The rules that "Always allow" would write: narrow, one for each part of a compound command.

    `files` are where they may go, the first unless the person chooses.
    """

    rules: tuple[str, ...]
    files: tuple[RuleFile, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        files = [{"place": file.place, "path": file.path} for file in self.files]
        return {"rules": list(self.rules), "files": files}


@dataclass(frozen=True, slots=True)
class RefusedRules:
    """Rules that the person typed and that were not written; `fault` says why, in one line."""

    rules: tuple[str, ...]
    place: RulePlace
    fault: str


@dataclass(frozen=True, slots=True)
class PermissionQuestion:
    """May this tool call run?

    `summary` is one line, `displays` the whole command or diff, `touches` what it changes or reaches,
    `reason` why it is asked, `agent` who asks (empty for the main agent). `offer` is None where no
    rule could cover it (then only "once" and "deny" make sense, and `session` is not offered).
    `refused` is set when the same question is put once more, since the rules typed were no good.
    """

    id: str
    tool: str
    summary: str
    displays: tuple[Display, ...]
    reason: str
    touches: tuple[str, ...] = ()
    offer: RuleOffer | None = None
    agent: str = ""
    refused: RefusedRules | None = None

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
            "offer": None if self.offer is None else self.offer.to_dict(),
            "agent": self.agent,
        }


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """The person's word. `message` goes to the model with a denial.

    `rules` is the offer as edited (empty: as it was offered), `place` the file to write them to.
    """

    choice: PermissionChoice
    message: str = ""
    rules: tuple[str, ...] = ()
    place: RulePlace = "local"
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


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """The value picked, or None when the person left the picker."""

    value: str | None
    by: AnsweredBy = "person"


@dataclass(frozen=True, slots=True)
class FormOption:
    """One answer that the model suggests; `preview` is text to compare options by, may be long."""

    label: str
    description: str = ""
    preview: str = ""


@dataclass(frozen=True, slots=True)
class FormField:
    """One question of a form; `header` is its short name, `multiple` lets several options be chosen.

    Free text is always possible beside the options.
    """

    question: str
    header: str
    options: tuple[FormOption, ...]
    multiple: bool = False


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """One to four questions of the model, answered together."""

    id: str
    fields: tuple[FormField, ...]
    agent: str = ""


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """For each field the labels chosen and the text typed; no fields where the person declined.

    `message` is what the person said when they declined.
    """

    fields: tuple[tuple[str, ...], ...] = ()
    message: str = ""
    by: AnsweredBy = "person"


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """Shall the model go on by this plan (Markdown)?"""

    id: str
    plan: str
    agent: str = ""


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The person's word on a plan; `plan` is the text as approved, `message` why it is rejected."""

    choice: PlanChoice
    plan: str = ""
    message: str = ""
    by: AnsweredBy = "person"


@dataclass(frozen=True, slots=True)
class TrustRow:
    """One thing that a project would make active: under the heading `group`, in `file`."""

    group: str
    name: str
    detail: str
    file: str


@dataclass(frozen=True, slots=True)
class TrustQuestion:
    """Shall these settings of the project in `folder` count?

    `rows` is all of it, those of one group together. `known`: other settings are trusted already, and
    these are new or have changed.
    """

    id: str
    folder: str
    rows: tuple[TrustRow, ...]
    known: bool = False


@dataclass(frozen=True, slots=True)
class TrustAnswer:
    """The person's word on all that was shown: `later` for now, `never` as long as it is the same."""

    choice: TrustChoice
    by: AnsweredBy = "person"


Question = PermissionQuestion | ChoiceQuestion | FormQuestion | PlanQuestion | TrustQuestion
Answer = PermissionAnswer | ChoiceAnswer | FormAnswer | PlanAnswer | TrustAnswer


def unanswered(question: Question, by: AnsweredBy = "nobody") -> Answer:
    """The answer of a question that no person answers: always a no."""
    match question:
        case PermissionQuestion():
            return PermissionAnswer("deny", by=by)
        case ChoiceQuestion():
            return ChoiceAnswer(None, by=by)
        case FormQuestion():
            return FormAnswer(by=by)
        case PlanQuestion():
            return PlanAnswer("reject", by=by)
        case TrustQuestion():
            return TrustAnswer("later", by=by)
        case _:
            assert_never(question)
