"""What the tests of providers share: a server, and reading a reply whole."""

from collections.abc import Iterator

import pytest

from tests.servers.ollama import Ollama
from tests.support.server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def ollama() -> Iterator[Ollama]:
    with Ollama() as running:
        yield running
