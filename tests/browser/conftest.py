"""One server and one Chromium for all browser tests; each kind of page runs its own notebook."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lab import Browser, LabServer, chromium

SCREENSHOTS = Path(__file__).parent.parent / "screenshots"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(180))
    # Last: playwright keeps an event loop running in the main thread, which asyncio's tests cannot have.
    items.sort(key=lambda item: here in item.path.parents)


@pytest.fixture(scope="session")
def screenshots() -> Path:
    SCREENSHOTS.mkdir(exist_ok=True)
    return SCREENSHOTS


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    if chromium() is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium: CI must not leave out the browser tests")
        pytest.skip("NO BROWSER: install chromium to test JupyterLab and Notebook")
    root = tmp_path_factory.mktemp("project")
    server = LabServer(root, tmp_path_factory.mktemp("jupyter"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def browser(server: LabServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    executable = chromium()
    assert executable is not None
    browser = Browser(tmp_path_factory.mktemp("profile"), executable)
    yield browser
    browser.close()
