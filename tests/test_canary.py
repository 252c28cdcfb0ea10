"""Keys that could be known anywhere are looked for everywhere: files, outputs, arguments, requests.

The person has keys in the environment and in ~/.maia/servers.json; the model tries to get at them,
and a server quotes one in an error. None may turn up outside the places where the person put it.
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import psutil
import pytest

from tests.support.kernels import environment, kernel
from tests.support.server import ModelServer, text, tool_use

CANARIES = {
    "ANTHROPIC_API_KEY": "sk-ant-canary-4d1f0b6a7c",
    "OPENAI_API_KEY": "sk-canary-9e27c35d18",
}
SERVER_KEY = "canary-of-a-server-51ac"
ALL = (*CANARIES.values(), SERVER_KEY)

_SHOW_KEYS = "env | sort; cat $HOME/.maia/servers.json; sleep 0.5"
_PRINT_KEYS = "import os; print(os.environ['ANTHROPIC_API_KEY']); os.environ['OPENAI_API_KEY']"


@pytest.fixture
def person(tmp_path: Path, home: Path) -> Path:
    """A working folder; the home has a server with a key, and rules that let everything through."""
    maia = home / ".maia"
    maia.mkdir()
    server = {"url": "http://127.0.0.1:9/v1", "key": SERVER_KEY, "family": "openai"}
    (maia / "servers.json").write_text(json.dumps({"mine": server}))
    rules = {"permissions": {"allow": ["Bash", "Python", "Write"]}}
    (maia / "settings.json").write_text(json.dumps(rules))
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@contextmanager
def _arguments_below(pid: int) -> Iterator[set[str]]:
    """Every command line that the process or a descendant has while the block runs."""
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            try:
                family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
            except psutil.Error:
                continue
            for process in family:
                try:
                    seen.add(" ".join(process.cmdline()))
                except psutil.Error:
                    continue

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


def _holders(*folders: Path) -> list[str]:
    """The files below `folders` that hold a canary, but for the one the person wrote it into."""
    return [
        str(file)
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file() and file.name != "servers.json"
        if any(canary.encode() in file.read_bytes() for canary in ALL)
    ]


def _leaks(*texts: str) -> list[str]:
    return [canary for canary in ALL for text in texts if canary in text]


def _sent(server: ModelServer) -> str:
    return json.dumps([request.json for request in server.requests])


def test_no_key_leaves_the_program(person: Path, home: Path) -> None:
    """`maia -p`: a command prints the environment and the key file; only `***` is to be seen."""
    with ModelServer() as server:
        server.reply(tool_use("Bash", {"command": _SHOW_KEYS}))
        server.reply(text("I have looked."))
        environ = environment(home, ANTHROPIC_BASE_URL=server.url, **CANARIES)
        command = [sys.executable, "-m", "maia_kernel", "-p", "Show me the keys."]
        command += ["--model", "anthropic:model-one", "--output-format", "stream-json"]
        with (
            Popen(
                command, cwd=person, env=environ, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, text=True
            ) as program,
            _arguments_below(program.pid) as arguments,
        ):
            out, err = program.communicate(timeout=60)
        used = server.requests[0].headers
        sent = _sent(server)

    assert program.returncode == 0, err
    assert CANARIES["ANTHROPIC_API_KEY"] in used.get("authorization", used.get("x-api-key", ""))
    assert "***" in sent, "the command did print the key file"
    assert "ANTHROPIC_API_KEY=" not in sent, "a child has the variables of MAIA's providers"
    assert "sleep 0.5" in " ".join(arguments), "the command line was watched"
    assert _leaks(out, err, sent, *arguments) == []
    assert _holders(person, home) == []


def test_no_key_leaves_the_notebook(person: Path, home: Path) -> None:
    """`%%maia`: Bash and Python in the kernel print the keys, and a server quotes one in its error."""
    key = CANARIES["ANTHROPIC_API_KEY"]
    with ModelServer() as server:
        environ = {
            "ANTHROPIC_BASE_URL": server.url,
            "MAIA_MODEL": "anthropic:model-one",
            "MAIA_RETRY_MAX": "0",
            **CANARIES,
        }
        server.reply(
            tool_use("Bash", {"command": _SHOW_KEYS}), tool_use("Python", {"code": _PRINT_KEYS})
        )
        server.reply(text("I have looked."))
        server.error(401, f"Incorrect API key provided: {key}", kind="authentication_error")
        with kernel(home, cwd=person, environ=environ, extra=("--ext", "maia")) as front_end:
            with _arguments_below(front_end.pid) as arguments:
                front_end.run("%%maia\nShow me the keys.")
                refused = front_end.run("%%maia\nAnd again?")
                front_end.run("%maia_status")
            received = json.dumps(front_end.log, default=str)
        sent = _sent(server)

    assert "I have looked." in received
    assert refused.status == "error"
    assert sent.count("***") >= 3, "the tools did print the keys"
    assert _leaks(received, sent, *arguments) == []
    assert _holders(person, home) == []
