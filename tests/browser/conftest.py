"""One server and one Chromium for all browser tests; each kind of page runs its own notebook."""

import inspect
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.lab import App, Browser, LabServer, chromium

SCREENSHOTS = Path(__file__).parent.parent / "screenshots"

# Playwright keeps an event loop running in its thread; the tests of asyncio need the main one without.
_BROWSER_THREAD = ThreadPoolExecutor(1, "browser")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(180))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Play the test in the browser's thread."""
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}
    _BROWSER_THREAD.submit(pyfuncitem.obj, **given).result()
    return True


@pytest.fixture(params=["lab", "notebook"])
def app(request: pytest.FixtureRequest) -> App:
    app: App = request.param
    return app


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
    profile = tmp_path_factory.mktemp("profile")
    browser = _BROWSER_THREAD.submit(Browser, profile, executable).result()
    yield browser
    _BROWSER_THREAD.submit(browser.close).result()
