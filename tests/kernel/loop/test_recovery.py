"""Recovery is pure: an error and a state give a delay and the next state, or an end."""

import random

import pytest

from maia_kernel.errors import (
    AuthenticationFailed,
    BadRequest,
    ModelNotFound,
    NetworkFault,
    Overloaded,
    PromptTooLong,
    ProtocolFault,
    ProviderError,
    RateLimited,
    ServerFault,
    StreamBroken,
)
from maia_kernel.loop.recovery import Resend, recover
from maia_kernel.loop.state import State


def ask(
    error: ProviderError, state: State | None = None, retries: int = 8, broken: int = 2
) -> Resend | None:
    return recover(
        error, state or State(()), retries=retries, broken_retries=broken, jitter=random.Random(1)
    )


@pytest.mark.parametrize(
    "error", [AuthenticationFailed, ModelNotFound, BadRequest, PromptTooLong, ProtocolFault]
)
def test_faults_that_stay_are_not_retried(error: type[ProviderError]) -> None:
    """Given a fault that the same request would meet again, nothing is resent."""
    assert ask(error("x")) is None


@pytest.mark.parametrize("error", [RateLimited, Overloaded, ServerFault, NetworkFault])
def test_passing_faults_are_retried_to_the_limit(error: type[ProviderError]) -> None:
    """Given a server that never recovers, exactly `retries` resends are made, with growing delays."""
    state, delays = State(()), []
    while (resend := ask(error("x"), state, retries=5)) is not None:
        assert resend.state.transition == "retry"
        delays.append(resend.delay)
        state = resend.state
    assert len(delays) == 5
    assert 0.25 <= delays[0] <= 0.5
    assert max(delays) <= 8.0


@pytest.mark.parametrize("error", [StreamBroken("x"), NetworkFault("x", timed_out=True)])
def test_costly_resends_have_a_limit_of_their_own(error: ProviderError) -> None:
    """Given a broken stream or a time-out, `broken_retries` counts, not `retries`."""
    first = ask(error, broken=1)
    assert first is not None
    assert ask(error, first.state, broken=1) is None
    assert ask(error, broken=0) is None


def test_the_servers_wish_is_honoured_within_reason() -> None:
    """Given retry-after, it is waited for; given an hour, the person is told instead."""
    resend = ask(RateLimited("x", retry_after=7.0))
    assert resend is not None
    assert resend.delay == 7.0
    assert ask(RateLimited("x", retry_after=3600.0)) is None


def test_clients_that_failed_together_do_not_come_back_together() -> None:
    """Given two clients, their delays differ."""
    delays = {
        recover(
            Overloaded("x"), State(()), retries=1, broken_retries=0, jitter=random.Random(seed)
        ).delay  # type: ignore[union-attr]
        for seed in range(10)
    }
    assert len(delays) == 10
