"""Every test has a home folder of its own and none of the person's keys or settings."""

import os
from pathlib import Path

import pytest

_FOREIGN = ("MAIA_", "ANTHROPIC_", "OPENAI_", "CLAUDE_", "OLLAMA_", "AICORE_", "XDG_", "JPY_")
_KEPT = ("MAIA_SOAK", "MAIA_TEST_")


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh HOME, and an environment without model keys, MAIA settings or proxies."""
    folder = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(_FOREIGN) and not name.startswith(_KEPT):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    return folder
