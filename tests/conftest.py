"""Every test has a home folder of its own and none of the person's keys or settings."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

_FOREIGN = ("MAIA_", "ANTHROPIC_", "OPENAI_", "CLAUDE_", "OLLAMA_", "AICORE_", "XDG_", "JPY_")
_KEPT = ("MAIA_SOAK", "MAIA_TEST_")


class OneBrowser(LoadScopeScheduling):
    """Tests go to whichever process is free, those with a browser all to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        return "browser" if nodeid.startswith("tests/browser/") else nodeid


def pytest_configure() -> None:
    # Under `nohup` it is ignored, and children inherit that: kernels would outlive it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneBrowser:
    # Not its own `loadgroup`: xdist 3.8 marks groups in a way that pytest 9.2 does not show.
    return OneBrowser(config, log)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh HOME, and an environment without model keys, MAIA settings or proxies."""
    folder = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(_FOREIGN) and not name.startswith(_KEPT):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    return folder
