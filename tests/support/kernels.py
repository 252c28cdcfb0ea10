"""Real kernels and a front-end without a browser, on jupyter_client."""

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psutil
from filelock import FileLock
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

Release = Literal["6.31", "7.4"]
Message = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
_OLD = "6.31.0"
_FOREIGN = (
    *("MAIA_", "ANTHROPIC_", "OPENAI_", "CLAUDE_", "OLLAMA_", "XDG_", "JPY_", "JUPYTER_"),
    "PYTEST_",  # ipykernel leaves the descriptors alone where it sees it
)


def old_ipykernel() -> Path:
    """A folder with ipykernel 6.31 and nothing else, made at first use."""
    folder = ROOT / ".cache" / "ipykernels" / _OLD
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "ipykernel" / "kernelapp.py").is_file():
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
            command += ["--target", str(folder), f"ipykernel=={_OLD}"]
            subprocess.run(command, check=True, capture_output=True, text=True)
    return folder


def environment(home: Path, *, release: Release = "7.4", **more: str) -> dict[str, str]:
    """An environment without the person's keys and settings, for a kernel or a program that has one."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    # The source roots too: an editable install may be of another working tree.
    paths = [str(ROOT), str(ROOT / "magics"), str(ROOT / "widgets")]
    if release != "7.4":
        paths.insert(0, str(old_ipykernel()))
    return environ | {
        "HOME": str(home),
        "IPYTHONDIR": str(home / ".ipython"),
        "JUPYTER_RUNTIME_DIR": str(home / ".jupyter-runtime"),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        **more,
    }


@dataclass
class Run:
    """One execute request and everything that came back for it."""

    front_end: "FrontEnd"
    msg_id: str
    messages: list[Message] = field(default_factory=list)
    reply: Message | None = None
    started: float = field(default_factory=time.monotonic)
    idle_at: float | None = None

    @property
    def idle(self) -> bool:
        return self.idle_at is not None

    def wait(self, seconds: float = 30.0) -> "Run":
        """Until the kernel is idle after it and has replied."""
        self.front_end.until(lambda: self.idle and self.reply is not None, seconds, repr(self))
        return self

    def wait_for_text(self, piece: str, seconds: float = 30.0) -> "Run":
        """Until `piece` was printed, displayed or raised."""
        self.front_end.until(lambda: piece in self.text, seconds, f"{piece!r} in {self!r}")
        return self

    def of(self, *kinds: str) -> list[Message]:
        return [message for message in self.messages if message["msg_type"] in kinds]

    @property
    def printed(self) -> str:
        return "".join(message["content"]["text"] for message in self.of("stream"))

    @property
    def displayed(self) -> list[str]:
        """The Markdown (or else plain text) of what is on show in the cell at the end."""
        shown: dict[str, str] = {}
        kinds = ("display_data", "update_display_data", "execute_result")
        for number, message in enumerate(self.of(*kinds)):
            content = message["content"]
            key = (content.get("transient") or {}).get("display_id") or f"#{number}"
            data = content["data"]
            shown[key] = str(data.get("text/markdown", data.get("text/plain", "")))
        return list(shown.values())

    @property
    def error(self) -> str:
        """Name, message and traceback of the error, if there was one."""
        return "\n".join(
            f"{content['ename']}: {content['evalue']}\n" + "\n".join(content["traceback"])
            for content in (message["content"] for message in self.of("error"))
        )

    @property
    def text(self) -> str:
        return "\n".join((self.printed, *self.displayed, self.error))

    @property
    def status(self) -> str:
        return "" if self.reply is None else str(self.reply["content"]["status"])

    def __repr__(self) -> str:
        return f"<Run {self.status or 'running'} {self.text[-600:]!r}>"


class FrontEnd:
    """Executes, clicks, answers and interrupts as a notebook would."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager = manager
        self.client = client
        self.subshell: str | None = None
        self.runs: dict[str, Run] = {}
        self.log: list[Message] = []
        self.replies: list[Message] = []
        self.on_comm_open: Callable[[Message], None] | None = None

    # -- sending ------------------------------------------------------------------------------------

    def execute(self, code: str, *, allow_stdin: bool = True, cell_id: str = "") -> Run:
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": allow_stdin,
            "stop_on_error": True,
        }
        message = self.client.session.msg("execute_request", content)
        if cell_id:
            message["metadata"] = {"cellId": cell_id}
        self.client.shell_channel.send(message)
        run = Run(self, message["header"]["msg_id"])
        self.runs[run.msg_id] = run
        return run

    def run(self, code: str, seconds: float = 30.0, **options: Any) -> Run:
        return self.execute(code, **options).wait(seconds)

    def request(
        self, kind: str, content: dict[str, Any], metadata: dict[str, Any] | None = None
    ) -> str:
        """Any other request on the shell channel."""
        message = self.client.session.msg(kind, content)
        message["metadata"] = metadata or {}
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def send_comm(self, comm_id: str, data: dict[str, Any]) -> str:
        message = self.client.session.msg("comm_msg", {"comm_id": comm_id, "data": data})
        if self.subshell:
            message["header"]["subshell_id"] = self.subshell
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def send_custom(self, comm_id: str, content: dict[str, Any]) -> str:
        return self.send_comm(comm_id, {"method": "custom", "content": content})

    def click(self, comm_id: str) -> str:
        """Click an ipywidgets button."""
        return self.send_custom(comm_id, {"event": "click"})

    def interrupt(self) -> float:
        """Press stop; the time it was pressed."""
        self.manager.interrupt_kernel()
        return time.monotonic()

    def answer(self, line: str, seconds: float = 20.0) -> str:
        """Answer `input()`; returns its prompt."""
        asked: list[Message] = []

        def came() -> bool:
            try:
                asked.append(self.client.get_stdin_msg(timeout=0.02))
            except queue.Empty:
                return False
            return True

        self.until(came, seconds, "an input request")
        self.client.input(line)
        return str(asked[0]["content"]["prompt"])

    # -- receiving ----------------------------------------------------------------------------------

    def until(self, done: Callable[[], bool], seconds: float, what: str) -> None:
        """Read messages until `done`; fails with `what` after `seconds`."""
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {what}")
            self.read(0.02)

    def read(self, seconds: float) -> None:
        """Take in whatever came."""
        try:
            message = self.client.get_iopub_msg(timeout=seconds)
        except queue.Empty:
            pass
        else:
            self._take(message)
        while True:
            try:
                reply = self.client.get_shell_msg(timeout=0)
            except queue.Empty:
                return
            self.replies.append(reply)
            run = self.runs.get(reply["parent_header"].get("msg_id", ""))
            if run is not None:
                run.reply = reply

    def _take(self, message: Message) -> None:
        self.log.append(message)
        run = self.runs.get(message["parent_header"].get("msg_id", ""))
        if run is not None:
            run.messages.append(message)
            if message["content"].get("execution_state") == "idle":
                run.idle_at = time.monotonic()
        if message["msg_type"] == "comm_open" and self.on_comm_open is not None:
            self.on_comm_open(message)

    def comm(self, is_it: Callable[[dict[str, Any]], bool], seconds: float = 30.0) -> str:
        """The id of the newest comm whose widget state `is_it`."""
        found: list[str] = []

        def look() -> bool:
            found[:] = [
                message["content"]["comm_id"]
                for message in self.log
                if message["msg_type"] == "comm_open"
                and is_it(message["content"]["data"].get("state", {}))
            ]
            return bool(found)

        self.until(look, seconds, "a widget")
        return found[-1]

    def idles(self) -> set[str]:
        """The requests after which the kernel said idle."""
        return {
            message["parent_header"].get("msg_id", "")
            for message in self.log
            if message["content"].get("execution_state") == "idle"
        }

    def forget(self) -> None:
        """Drop what was logged so far; between tests of one kernel."""
        self.log.clear()
        self.runs.clear()
        self.replies.clear()

    @property
    def pid(self) -> int:
        provisioner = self.manager.provisioner
        assert provisioner is not None
        return int(provisioner.pid)  # type: ignore[attr-defined]

    def children(self) -> list[psutil.Process]:
        """Live processes below the kernel."""
        return [
            process
            for process in psutil.Process(self.pid).children(recursive=True)
            if process.status() != psutil.STATUS_ZOMBIE
        ]

    def use_subshell(self) -> None:
        """Send widget messages to a subshell, as JupyterLab does where the kernel has them."""
        message = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(message)
        reply = self.client.get_control_msg(timeout=20)
        self.subshell = str(reply["content"]["subshell_id"])


@contextmanager
def kernel(
    home: Path,
    *,
    release: Release = "7.4",
    subshell: bool = False,
    cwd: Path | None = None,
    launch: tuple[str, ...] = ("-m", "ipykernel_launcher"),
    extra: tuple[str, ...] = (),
    environ: dict[str, str] | None = None,
) -> Iterator[FrontEnd]:
    """A started kernel and its front-end; both end with the block."""
    manager = KernelManager(kernel_name="python3")
    spec = manager.kernel_spec
    assert spec is not None
    spec.argv = [sys.executable, *launch, "-f", "{connection_file}", *extra]
    env = environment(home, release=release, **(environ or {}))
    manager.connection_file = str(
        home / f"kernel-{os.getpid()}-{threading.get_ident()}-{time.monotonic_ns()}.json"
    )
    manager.start_kernel(env=env, cwd=str(cwd or home))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        front_end = FrontEnd(manager, client)
        if subshell:
            front_end.use_subshell()
        yield front_end
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
