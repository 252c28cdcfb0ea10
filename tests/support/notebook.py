"""A notebook with MAIA loaded: a real kernel, a page that draws panels, scripted models."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.support.kernels import FrontEnd, Message, Release, Run, kernel

Entry = dict[str, Any]


def says(*words: str, **more: Any) -> Entry:
    """An answer of the model."""
    return {"reply": [{"text": word} for word in words], **more}


def calls(tool: str, before: str = "", **tool_input: Any) -> Entry:
    """A tool call of the model."""
    text = [{"text": before}] if before else []
    return {"reply": [*text, {"tool_use": {"name": tool, "input": tool_input}}]}


class Notebook:
    """Cells with prompts, and the page's part in them. `page` says whether panels are answered."""

    def __init__(self, front_end: FrontEnd, folder: Path) -> None:
        self.front_end = front_end
        self.folder = folder
        self.page = True
        self._numbers = itertools.count(1)
        front_end.on_comm_open = self._opened

    def ask(self, prompt: str, *script: Entry, options: str = "", allow_stdin: bool = True) -> Run:
        """Execute a `%%maia` cell whose model plays `script`."""
        name = f"script-{next(self._numbers)}.yaml"
        (self.folder / name).write_text(yaml.safe_dump(list(script)), encoding="utf-8")
        code = f"%%maia --model scripted:{name} {options}\n{prompt}"
        return self.front_end.execute(code, allow_stdin=allow_stdin)

    def question(self, seconds: float = 15.0) -> tuple[str, dict[str, Any]]:
        """The panel that asks something, and what it asks."""
        found: list[tuple[str, dict[str, Any]]] = []

        def look() -> bool:
            found[:] = self._questions()
            return bool(found)

        self.front_end.until(look, seconds, "a question in a panel")
        return found[-1]

    def answer(self, **content: Any) -> None:
        """Answer the panel's question, as a click does."""
        panel, question = self.question()
        self.front_end.send_custom(panel, {"kind": "answer", "id": question["id"], **content})

    def stop(self) -> None:
        """Click the stop button of the newest panel."""
        self.front_end.send_custom(self.panels()[-1], {"kind": "stop"})

    def panels(self) -> list[str]:
        """The comm ids of the panels opened so far."""
        return [
            message["content"]["comm_id"]
            for message in self.front_end.log
            if message["msg_type"] == "comm_open" and _is_panel(message)
        ]

    def _questions(self) -> list[tuple[str, dict[str, Any]]]:
        asked: dict[str, dict[str, Any]] = {}
        for message in self.front_end.log:
            content = message["content"]
            if message["msg_type"] == "comm_close":
                asked.pop(content["comm_id"], None)
            if message["msg_type"] != "comm_msg":
                continue
            state = content["data"].get("state", {})
            if "question" in state:
                asked.pop(content["comm_id"], None)
                if state["question"]:
                    asked[content["comm_id"]] = state["question"]
        return list(asked.items())

    def _opened(self, message: Message) -> None:
        if self.page and _is_panel(message):
            self.front_end.send_custom(message["content"]["comm_id"], {"kind": "ready"})


def _is_panel(message: Message) -> bool:
    state = message["content"]["data"].get("state", {})
    return "_esm" in state and "question" in state


@contextmanager
def notebook(
    home: Path, *, release: Release = "7.4", subshell: bool = False, **environ: str
) -> Iterator[Notebook]:
    """A kernel with MAIA loaded in the folder `work` of `home`."""
    folder = home / "work"
    folder.mkdir(exist_ok=True)
    environ = {"MAIA_MODEL": "scripted:unused.yaml", **environ}
    with kernel(home, release=release, subshell=subshell, cwd=folder, environ=environ) as front_end:
        loaded = front_end.run("%load_ext maia")
        assert loaded.status == "ok", loaded.text
        yield Notebook(front_end, folder)
