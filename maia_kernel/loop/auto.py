"""The mode `auto`: what would be asked by default goes to the classifier instead of the person.

Rules that ask, the two always-asked lists and hooks go to the person still. After three blocks in a
row, or twenty in a session, everything does: then the classifier and the work do not fit together.
"""

from dataclasses import dataclass, replace
from typing import Final

from maia_kernel.loop.classifier import Classifier
from maia_kernel.messages import ToolUse
from maia_kernel.permissions import Decision, Policy
from maia_kernel.permissions.ledger import Ledger
from maia_kernel.texts import text

_IN_A_ROW: Final = 3
_IN_ALL: Final = 20


@dataclass(frozen=True, slots=True)
class Auto:
    """Settles the questions of one turn; `ledger` is the session's. Without a classifier it asks."""

    classifier: Classifier | None
    ledger: Ledger

    async def settle(self, decision: Decision, use: ToolUse, policy: Policy) -> Decision:
        """`decision`, or what the classifier makes of it where it may."""
        if policy.mode != "auto" or decision.behavior != "ask" or decision.by != "default":
            return decision
        if self.classifier is None:
            return _asked(decision, "no_model")
        if self.ledger.blocked_in_a_row >= _IN_A_ROW or self.ledger.blocked >= _IN_ALL:
            return _asked(decision, "many_blocks")
        verdict = await self.classifier.judge(use)
        match verdict.opinion:
            case "allow":
                self.ledger.blocked_in_a_row = 0
                return Decision("allow", text("permissions.auto.allowed"), by="mode")
            case "block":
                self.ledger.blocked += 1
                self.ledger.blocked_in_a_row += 1
                reason = text("permissions.auto.blocked", why=verdict.reason or "-")
                return Decision("deny", reason, by="mode")
            case "unclear":
                return _asked(decision, "unclear")


def _asked(decision: Decision, why: str) -> Decision:
    return replace(decision, reason=f"{decision.reason} {text(f'permissions.auto.{why}')}")
