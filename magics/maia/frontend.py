"""What this front-end can do: asked by a handshake, not guessed from its name.

In order: `ui` "text" in the settings, no kernel (a terminal), stdin not allowed (nbclient, papermill),
a panel that answers (widgets), else `input()`. Which client answered is remembered, a client that was
interrupted while it was being asked is asked again.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Style = Literal["rich", "plain"]
Asks = Literal["panel", "input", "nobody"]

READY_WITHIN: Final = 3.0
"""Seconds for the panel to answer; JupyterLab needs 0.04 to 0.08."""


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """How to show a turn, and how to ask; "panel" is to be confirmed by the handshake."""

    style: Style
    asks: Asks


@dataclass(slots=True)
class Client:
    """The client that sent the running cell, as the kernel knows it."""

    session: str = ""
    notebook: bool = False


@dataclass(slots=True)
class Handshakes:
    """Which clients have answered, by their session: one kernel may have a notebook and a console."""

    answers: dict[str, bool] = field(default_factory=dict)

    def known(self, client: Client) -> bool | None:
        """True or False as the client answered; None if it was not asked."""
        return self.answers.get(client.session)

    def remember(self, client: Client, *, widgets: bool) -> None:
        """Keep an answer that was waited for to its end."""
        self.answers[client.session] = widgets


def first_look(
    kernel: Any | None, *, namespace: Mapping[str, Any], ui: str, can_click: bool
) -> FrontEnd:
    """What is certain without asking the front-end."""
    if kernel is None:
        return FrontEnd("plain", "input" if _terminal() else "nobody")
    # Of the running request, so it is looked at for every cell.
    stdin = bool(getattr(kernel, "_allow_stdin", False))
    if ui == "text":
        return FrontEnd("plain", "input" if stdin else "nobody")
    if not stdin:
        return FrontEnd("rich", "nobody")
    return FrontEnd("rich", "panel") if can_click else without_widgets(kernel, namespace)


def without_widgets(kernel: Any, namespace: Mapping[str, Any]) -> FrontEnd:
    """A front-end that has no panel: rich outputs where a notebook is recognised, else text."""
    rich = current_client(kernel).notebook or _known_notebook(namespace)
    return FrontEnd("rich" if rich else "plain", "input")


def current_client(kernel: Any) -> Client:
    """Who sent the running cell; JupyterLab and Notebook send the cell's id with it."""
    try:
        parent = kernel.get_parent("shell")
    except (AttributeError, LookupError, TypeError):
        return Client()
    header = parent.get("header") or {}
    metadata = parent.get("metadata") or {}
    return Client(str(header.get("session", "")), bool(metadata.get("cellId")))


def _terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _known_notebook(namespace: Mapping[str, Any]) -> bool:
    """VS Code sets a variable, Colab an environment variable."""
    return "__vsc_ipynb_file__" in namespace or "COLAB_RELEASE_TAG" in os.environ
