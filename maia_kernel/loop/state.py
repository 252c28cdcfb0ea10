"""The state of a turn between two passes: one frozen value, and the reason for which it came to be."""

from dataclasses import dataclass, field
from typing import Literal

from maia_kernel.messages import Message
from maia_kernel.usage import Usage

Transition = Literal[
    "started",
    "tool_results",  # calls were made, their results go back
    "retry",  # a fault that passes: the same request again
    "raise_output_limit",  # the reply was cut: again, with the model's own maximum
    "continue_output",  # cut again: the model is asked to go on where it stopped
    "pause",  # the server paused its own tool loop: sent back as it is
]


@dataclass(frozen=True, slots=True)
class State:
    """`messages` is the whole conversation; the counters belong to this turn.

    `requests` counts passes that reached the model's end, for `max_turns`; `faults` and `broken` count
    resends since the last good reply.
    """

    messages: tuple[Message, ...]
    transition: Transition = "started"
    requests: int = 0
    faults: int = 0
    broken: int = 0
    continuations: int = 0
    output_limit: int | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
