"""What has the shape of a key is hidden; what only looks a little like one is not."""

import json
import random
import string
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from maia_kernel.secrets import Mask
from maia_kernel.settings.keys import KnownSecrets
from maia_kernel.tools.pieces import Pieces

_WORDS = string.ascii_letters + string.digits


def drawn(size: int, alphabet: str = _WORDS, *, seed: int = 7) -> str:
    """A made-up value that looks like a real one."""
    source = random.Random(seed)
    return "".join(source.choice(alphabet) for _ in range(size))


MASK = Mask(KnownSecrets())
B64 = f"{_WORDS}+/"
LINES = "\n".join(drawn(64, B64, seed=n) for n in range(12))
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{LINES}\nq1w2e3==\n-----END RSA PRIVATE KEY-----"
ENCRYPTED = PEM.replace(
    "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n", 1
)

# The text as it may stand in a file or an output, and the part of it that must not be seen.
SECRETS = {
    "Anthropic key": (f"key = 'sk-ant-api03-{drawn(93)}'", drawn(93)),
    "OpenAI key": (f"sk-proj-{drawn(120)}", drawn(120)),
    "API key": (f"OPENAI_API_KEY=sk-{drawn(48)}", drawn(48)),
    "GitHub token": (f"https://ghp_{drawn(36)}@example.com/x.git", drawn(36)),
    "fine-grained GitHub": (f"github_pat_{drawn(22)}_{drawn(59)}", drawn(59)),
    "GitLab token": (f"glpat-{drawn(20)}", drawn(20)),
    "AWS access key": (
        f"AKIA{drawn(16, string.ascii_uppercase)}",
        drawn(16, string.ascii_uppercase),
    ),
    "AWS secret key": (f"aws_secret_access_key = {drawn(40, B64)}", drawn(40, B64)),
    "AWS secret in JSON": (f'"SecretAccessKey": "{drawn(40, B64)}"', drawn(40, B64)),
    "Slack token": (f"xoxb-123456789012-{drawn(24)}", drawn(24)),
    "Slack webhook": (f"https://hooks.slack.com/services/T0/B0/{drawn(24)}", drawn(24)),
    "Stripe key": (f"sk_live_{drawn(24)}", drawn(24)),
    "Google API key": (f"AIza{drawn(35)}", drawn(35)),
    "Google OAuth secret": (f"GOCSPX-{drawn(28)}", drawn(28)),
    "Azure storage key": (f"AccountName=x;AccountKey={drawn(86, B64)}==;End", drawn(86, B64)),
    "Azure signature": (f"?sv=1&sig={drawn(43)}%3D", drawn(43)),
    "Hugging Face token": (f"hf_{drawn(34)}", drawn(34)),
    "npm token": (f"npm_{drawn(36)}", drawn(36)),
    "npm line": (f"//registry.example.com/:_authToken={drawn(36)}", drawn(36)),
    "PyPI token": (f"pypi-AgEIcHlwaS5vcmc{drawn(80)}", drawn(80)),
    "Twilio key": (f"SK{drawn(32, '0123456789abcdef')}", drawn(32, "0123456789abcdef")),
    "SendGrid key": (f"SG.{drawn(22)}.{drawn(43)}", drawn(43)),
    "Telegram bot token": (f"123456789:AA{drawn(33)}", drawn(33)),
    "Databricks token": (f"dapi{drawn(32, '0123456789abcdef')}", drawn(32, "0123456789abcdef")),
    "JSON web token": (f"eyJ{drawn(33)}.eyJ{drawn(80)}.{drawn(43)}", drawn(43)),
    "bearer header": (f"curl -H 'Authorization: Bearer {drawn(40)}'", drawn(40)),
    "bearer in Python": (f'{{"authorization": "Bearer {drawn(40)}"}}', drawn(40)),
    "database password": ("postgresql://bob:hunter2!x@db.example.com:5432/a", "hunter2!x"),
    "netrc": ("machine h.example.com\n  login bob\n  password t0psecret", "t0psecret"),
    "private key": (f"x = '''{PEM}'''", LINES[:64]),
    "encrypted private key": (ENCRYPTED, LINES[:64]),
    "private key in JSON": (json.dumps({"private_key": PEM}), LINES[:64]),
    "private key that was cut": (PEM[:300], LINES[:64]),
    "SAP service key": (f'"clientsecret": "{drawn(40)}$x="', drawn(40)),
    "written out after a newline": (f"\\nghp_{drawn(36)}\\n", drawn(36)),
}

NOT_SECRET = [
    f"commit {drawn(40, '0123456789abcdef')}",
    "123e4567-e89b-12d3-a456-426614174000",
    f"sha256:{drawn(64, '0123456789abcdef')}",
    f"data:image/png;base64,{drawn(400, B64)}",
    f'"integrity": "sha512-{drawn(86, B64)}=="',
    "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "OPENAI_API_KEY=sk-your-key-here",
    "sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "token = f'ghp_{suffix}'",
    "postgres://user:password@localhost/db and postgres://bob:$PASSWORD@db.example.com/x",
    "git@example.com:team/repo.git and https://example.com:8443/a@b",
    "-----BEGIN PRIVATE KEY----- is how such a file begins, and the prose goes on without a key in it",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "df.to_csv('sk-learn.csv'); from sklearn import svm",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx7 bob@example.com",
    "Authorization: Bearer <token>",
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_key_by_its_shape_is_masked(name: str) -> None:
    """Given a text with a key in it, the key is gone, what stands around it stays, and a second look
    changes nothing."""
    text, secret = SECRETS[name]
    shown = MASK.redact(f"before {text} after")
    assert secret not in shown
    assert "[secret: " in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert MASK.redact(shown) == shown
    assert MASK.kinds([text])


@pytest.mark.parametrize("text", NOT_SECRET)
def test_what_is_no_key_stays(text: str) -> None:
    """Given hashes, identifiers, pictures, templates and prose, nothing is masked."""
    assert MASK.redact(text) == text
    assert MASK.kinds([text]) == ()


@pytest.mark.parametrize("name", SECRETS)
def test_a_key_that_comes_in_pieces_is_masked(name: str) -> None:
    """Given the text in pieces of any size, what is shown is what the whole text would show."""
    text, secret = SECRETS[name]
    whole = f"before {text} after, and more."
    for size in (1, 2, 3, 7, 40):
        stream = Pieces(MASK)
        pieces = [stream.feed(whole[at : at + size]) for at in range(0, len(whole), size)]
        shown = "".join([*pieces, stream.rest()])
        assert secret not in shown
        assert shown == MASK.redact(whole)


def test_prose_is_shown_as_it_comes() -> None:
    """Given words that begin no key, each piece is shown at once."""
    stream = Pieces(MASK)
    for piece in ("The ", "risk", " is ", "gone", ", the ", "list", " has ", "42 items."):
        assert stream.feed(piece) == piece


@example(["machine h.example.com\n  login bob\n  password t0p", SECRETS["database password"][0]])
@given(
    st.lists(
        st.one_of(
            st.text(max_size=12),
            st.sampled_from([text for text, _ in SECRETS.values()]),
            st.sampled_from(["sk-", "ghp_", "://", "eyJ", "-----BEGIN ", "***", "[secret: x y]"]),
        ),
        max_size=6,
    )
)
def test_masking_twice_is_masking_once(parts: list[str]) -> None:
    """Given any mixture of texts and keys, a masked text has nothing left to mask."""
    once = MASK.redact("".join(parts))
    assert MASK.redact(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "-----BEGIN PRIVATE KEY-----",
        "://a:b",
        "eyJ",
        "machine x login ",
        "SG.",
        "authorization: bearer ",
    ],
)
def test_time_grows_with_the_length_alone(piece: str) -> None:
    """Given 2 MB that begin a key everywhere, masking ends soon (ten times what it takes here)."""
    text = piece * (2_000_000 // len(piece))
    started = time.monotonic()
    MASK.redact(text)
    MASK.unfinished(text)
    assert time.monotonic() - started < 10


def test_known_values_and_shapes_together() -> None:
    """Given a value this process knows inside a text with another key, both are hidden; with shapes
    off only the known one."""
    known = KnownSecrets(["hunter2hunter2"])
    text = f"hunter2hunter2 ghp_{drawn(36)}"
    assert Mask(known).redact(text) == "*** [secret: GitHub token]"
    assert Mask(known).kinds([text]) == ("GitHub token", "known key")
    assert Mask(known, shapes=False).redact(text) == f"*** ghp_{drawn(36)}"


def test_the_shapes_are_read_from_the_package() -> None:
    """The list is data beside the code, and names at least thirty kinds."""
    source = Path(__file__).parents[2] / "maia_kernel" / "secrets" / "shapes.toml"
    kinds = {line for line in source.read_text().splitlines() if line.startswith("kind = ")}
    assert len(kinds) >= 30
