"""A real JupyterLab server, which serves Notebook 7 too, and a real Chromium that looks at it."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import nbformat
from playwright.sync_api import Locator, Page, Request, WebSocket, sync_playwright

from tests.support.kernels import environment

App = Literal["lab", "notebook"]

KERNEL = "maia-test"
_TOKEN = "made-up-token"
_SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}
_CHROMIUM = [
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--no-default-browser-check", "--disable-background-networking", "--disable-sync"),
    *("--disable-component-update", "--disable-default-apps", "--disable-extensions"),
    *("--metrics-recording-only", "--mute-audio", "--hide-scrollbars"),
    "--disable-features=Translate,OptimizationHints,MediaRouter",
]


def chromium() -> str | None:
    """The Chromium of this machine, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def wait_until(true: Callable[[], Any], seconds: float, what: str) -> None:
    """Until `true()`; fails with `what` after `seconds`."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.03)


class LabServer:
    """`jupyter lab` over `root`, with folders of its own for everything Jupyter keeps."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self._log = home / "server.log"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        folders = {
            f"JUPYTER{name}_DIR": str(home / name.strip("_").lower())
            for name in ("_CONFIG", "_DATA", "_RUNTIME", "LAB_SETTINGS", "LAB_WORKSPACES")
        }
        self._settings = Path(folders["JUPYTERLAB_SETTINGS_DIR"])
        for name, values in _SETTINGS.items():
            self.configure(name, values)
        _write_kernelspec(Path(folders["JUPYTER_DATA_DIR"]))
        environ = environment(home) | folders
        command = [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *(f"--port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={root}"),
            *(f"--IdentityProvider.token={_TOKEN}", "--ServerApp.terminals_enabled=False"),
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                env=environ,
                cwd=root,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(self._up, 60, "the server answers")

    def configure(self, plugin: str, values: dict[str, Any]) -> None:
        """Set a person's settings of a JupyterLab plugin, `package/name`, for pages loaded later."""
        package, _, name = plugin.rpartition("/")
        file = self._settings / package / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))

    def api(self, path: str, method: str = "GET") -> Any:
        """Call the server's REST interface."""
        request = urllib.request.Request(f"{self.url}/api/{path}", method=method)
        request.add_header("Authorization", f"token {_TOKEN}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def page_url(self, name: str, app: App) -> str:
        """Where the notebook `name` opens in JupyterLab or Notebook 7."""
        if app == "lab":
            return f"{self.url}/lab/tree/{name}?token={_TOKEN}&reset"
        return f"{self.url}/notebooks/{name}?token={_TOKEN}"

    def connected(self, name: str) -> bool:
        """True when a page has an idle kernel for the notebook `name`."""
        kernels = [row["kernel"] for row in self.api("sessions") if row["path"].endswith(name)]
        return any(k["connections"] and k["execution_state"] == "idle" for k in kernels)

    def stop(self) -> None:
        """End the server and its kernels."""
        if self._process.poll() is None:
            with ThreadPoolExecutor() as pool:
                paths = [f"kernels/{kernel['id']}" for kernel in self.api("kernels")]
                list(pool.map(lambda path: self.api(path, "DELETE"), paths))
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def _up(self) -> bool:
        if self._process.poll() is not None:
            raise AssertionError(self._log.read_text(errors="replace"))
        try:
            self.api("status")
        except OSError:
            return False
        return True


def _write_kernelspec(data: Path) -> None:
    # Not "python3": the environment's own kernel of that name would win.
    folder = data / "kernels" / KERNEL
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": KERNEL, "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))


def write_notebook(path: Path, *cells: str) -> None:
    """A new notebook of code cells for the test kernel."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"name": KERNEL, "display_name": KERNEL, "language": "python"}
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    nbformat.write(notebook, path)


class Browser:
    """One Chromium with one page, which remembers what it asked of any network."""

    def __init__(self, profile: Path, executable: str) -> None:
        self._playwright = sync_playwright().start()
        self._context = self._playwright.chromium.launch_persistent_context(
            str(profile),
            executable_path=executable,
            headless=True,
            args=_CHROMIUM,
            viewport={"width": 1280, "height": 900},
        )
        self.page: Page = self._context.pages[0]
        self.requests: list[str] = []
        self.faults: list[str] = []
        self.page.on("request", self._requested)
        self.page.on("websocket", self._connected)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: dialog.accept())

    @property
    def hosts(self) -> set[str]:
        """Every host that was asked for something."""
        return {url.split("/")[2].split(":")[0] for url in self.requests}

    def close(self) -> None:
        """End Chromium."""
        self._context.close()
        self._playwright.stop()

    def _requested(self, request: Request) -> None:
        if request.url.startswith(("http", "ws")):
            self.requests.append(request.url)

    def _connected(self, socket: WebSocket) -> None:
        self.requests.append(socket.url)


class NotebookPage:
    """An open notebook; selectors hold for JupyterLab 4.6 and Notebook 7.6."""

    def __init__(self, server: LabServer, browser: Browser, name: str, app: App) -> None:
        self.server, self.browser, self.name, self.app = server, browser, name, app
        self.page = browser.page
        self.file = server.root / name
        self.page.goto(server.page_url(name, app))
        self._loaded()
        # The page says "idle" before it has a kernel, and loses Shift+Enter until it has.
        wait_until(lambda: server.connected(name), 60, "the page has a kernel")
        indicator = self.page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']")
        indicator.first.wait_for(state="attached")

    def cell(self, index: int) -> Locator:
        """The code cell number `index`, from 0."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(index)

    def prompt(self, index: int) -> str:
        """`[ ]:` not run, `[*]:` waiting or running, `[1]:` done."""
        return self.cell(index).locator(".jp-InputPrompt").inner_text()

    def output(self, index: int) -> str:
        """The text of a cell's outputs."""
        return self.cell(index).locator(".jp-OutputArea").inner_text()

    def run(self, index: int, cells: int = 1) -> None:
        """Shift+Enter in a cell, and in those after it."""
        self.cell(index).locator(".cm-content").first.click()
        for _ in range(cells):
            self.page.keyboard.press("Shift+Enter")

    def wait_done(self, index: int, seconds: float = 20) -> None:
        """Until a cell has run."""
        done = re.compile(r"\[\d+\]")
        wait_until(
            lambda: done.search(self.prompt(index)), seconds, f"cell done: {self.output(index)}"
        )

    def wait_text(self, index: int, words: str, seconds: float = 20) -> None:
        """Until a cell's outputs hold `words`."""
        wait_until(lambda: words in self.output(index), seconds, f"{words!r} in the output")

    def save(self) -> dict[str, Any]:
        """Save the notebook; returns what is in the file."""
        before = self.file.stat().st_mtime_ns
        self.page.keyboard.press("Control+s")
        # The server writes in place: the file is empty for a moment.
        wait_until(
            lambda: self.file.stat().st_mtime_ns > before and self.file.read_text().endswith("}\n"),
            10,
            "the file is saved",
        )
        saved: dict[str, Any] = json.loads(self.file.read_text())
        return saved

    def reload(self) -> None:
        """Load the page anew, as F5 does."""
        self.page.reload()
        self._loaded()

    def _loaded(self) -> None:
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell .cm-content", timeout=60_000)
