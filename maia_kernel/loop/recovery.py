"""What to do about a fault: pure, from the error and the state to a delay and the next state, or None."""

import random
from dataclasses import dataclass, replace

from maia_kernel.errors import (
    NetworkFault,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerFault,
    StreamBroken,
)
from maia_kernel.loop.state import State

_FIRST_DELAY = 0.5  # seconds, doubled at every attempt
_LONGEST_DELAY = 8.0
# A port that refuses is a program that is not there yet: looking often costs nothing.
_LONGEST_REFUSED_DELAY = 2.0
# A server that wants more than this should be told to the person instead of waited for.
_LONGEST_WAIT = 120.0


@dataclass(frozen=True, slots=True)
class Resend:
    """Send the request again after `delay` seconds; `attempt` of `attempts`."""

    delay: float
    attempt: int
    attempts: int
    state: State


def recover(
    error: ProviderError, state: State, *, retries: int, broken_retries: int, jitter: random.Random
) -> Resend | None:
    """The resend for `error`, or None when it would not help or the limit is reached."""
    match error:
        case RateLimited() | Overloaded() | ServerFault():
            if (error.retry_after or 0.0) > _LONGEST_WAIT:
                return None
            return _again(error, state, retries, _LONGEST_DELAY, jitter)
        case NetworkFault(timed_out=True) | StreamBroken():
            if state.broken >= broken_retries:
                return None
            delay = _delay(state.broken, _LONGEST_DELAY, None, jitter)
            after = replace(state, broken=state.broken + 1, transition="retry")
            return Resend(delay, after.broken, broken_retries, after)
        case NetworkFault():
            return _again(error, state, retries, _LONGEST_REFUSED_DELAY, jitter)
        case _:
            return None


def _again(
    error: ProviderError, state: State, retries: int, longest: float, jitter: random.Random
) -> Resend | None:
    if state.faults >= retries:
        return None
    delay = _delay(state.faults, longest, error.retry_after, jitter)
    after = replace(state, faults=state.faults + 1, transition="retry")
    return Resend(delay, after.faults, retries, after)


def _delay(attempt: int, longest: float, retry_after: float | None, jitter: random.Random) -> float:
    if retry_after is not None:
        return retry_after
    # Half fixed, half random: clients that failed together must not come back together.
    full: float = min(longest, _FIRST_DELAY * 2**attempt)
    return full / 2 + jitter.random() * full / 2
