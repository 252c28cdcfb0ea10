"""A server's words become one line with where, what, and what to do."""

import time
from email.utils import formatdate

import pytest

from maia_kernel.errors import BadRequest, PromptTooLong, RateLimited
from maia_kernel.providers.faults import Endpoint, from_status, retry_after
from maia_kernel.texts import language
from tests.support.replies import KEY

LAB = Endpoint("lab", f"https://me:{KEY}@gpu.example.com:8443/v1?key={KEY}", (KEY,))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "prompt is too long: 209000 tokens > 200000 maximum"),
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000"),
        (400, "request (9000 tokens) exceeds the available context size (8192 tokens), try it"),
        (400, "Input is too long for requested model."),
        (400, "the request exceeds the context window of this model"),
        (422, "Requested tokens (9000) exceed context window of 8192"),
        (400, "context length exceeded"),
        (413, "Please reduce the length of the messages or completion."),
        (500, "context size exceeded"),
    ],
)
def test_a_prompt_too_long_is_known_in_many_wordings(status: int, said: str) -> None:
    """Whatever words a server has for it, the loop learns that compacting would help."""
    assert type(from_status(LAB, status, said)) is PromptTooLong


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (400, "max_tokens: 64001 > 64000, which is the maximum allowed", BadRequest),
        (400, "tools.3: input schema exceeds limit", BadRequest),
        (429, "Number of request tokens has exceeded your per-minute rate limit", RateLimited),
    ],
)
def test_other_limits_are_not_taken_for_it(status: int, said: str, kind: type) -> None:
    """A wrong parameter or a rate limit is not a prompt that is too long."""
    assert type(from_status(LAB, status, said)) is kind


def test_a_line_is_short_and_shows_no_secret() -> None:
    """However much a server says, what to do still fits; key, user and password are gone."""
    error = from_status(LAB, 404, f"no {KEY} " + "word\n" * 500, model="m")
    line = str(error)
    assert len(line) <= 500
    assert "\n" not in line
    assert KEY not in line
    assert "me:" not in line
    assert "https://gpu.example.com:8443/v1" in line
    assert line.endswith("Check the model's name (m) and the address.")


def test_a_line_is_in_the_person_s_language() -> None:
    """In a French session the same failure is told in French."""
    token = language.set("fr")
    try:
        assert "refuse la clé" in str(from_status(LAB, 401, "no"))
    finally:
        language.reset(token)


def test_the_wait_a_server_asks_for_is_read_in_each_form() -> None:
    """Milliseconds, seconds and a date count; anything else is no wait."""
    now = time.time()
    assert retry_after({"retry-after": "3"}, now=now) == 3
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}, now=now) == 1.5
    assert retry_after(
        {"retry-after": formatdate(now + 60, usegmt=True)}, now=now
    ) == pytest.approx(60, abs=2)
    assert retry_after({"retry-after": formatdate(now - 60, usegmt=True)}, now=now) == 0
    assert retry_after({"retry-after": "soon"}, now=now) is None
    assert retry_after({}, now=now) is None


@pytest.mark.parametrize("said", ["-5", "nan", "inf", "-inf", "1e400", "86401", "9" * 400, "-0.1"])
def test_a_wait_that_no_server_can_mean_counts_as_none(said: str) -> None:
    """Given a negative, endless or absurd wait, it is as if nothing was said; a sound one beside it
    counts."""
    far = "Fri, 31 Dec 9999 23:59:59 -2359"
    for header in ("retry-after", "retry-after-ms"):
        value = said if header == "retry-after" else said.replace("86401", "86400001")
        assert retry_after({header: value}, now=1_000.0) is None
    assert retry_after({"retry-after-ms": "-1", "retry-after": "3"}, now=1_000.0) == 3
    assert retry_after({"retry-after": far}, now=1_000.0) is None
