"""Events to stdout and stderr in the chosen format."""

import json
import sys
from pathlib import Path

from maia_kernel.cli.streams import Streams, is_terminal
from maia_kernel.events import Event, RequestStarted, TextDelta, TurnFinished
from maia_kernel.plain import PlainText

FORMATS = ("text", "json", "stream-json")


class Writer:
    """Draws one turn."""

    def __init__(self, cwd: Path, output_format: str, streams: Streams) -> None:
        self._format = output_format
        self._streams = streams
        self._plain = PlainText(cwd, redraw=is_terminal(sys.stderr))
        self._whole_lines = not is_terminal(sys.stdout)
        self._answer_open = False

    def show(self, event: Event) -> None:
        """Write what the format has for `event`."""
        if self._streams.failure is not None:
            return  # as for a program that the failing write ended: what it says now helps nobody
        match self._format:
            case "text":
                self._show_text(event)
            case "json" if not isinstance(event, TurnFinished):
                pass
            case _:
                self._streams.json(json.dumps(event.to_dict(), ensure_ascii=False))

    def _show_text(self, event: Event) -> None:
        shown = self._plain.show(event)
        if isinstance(event, TextDelta):
            self._answer_open = True
            self._streams.write(shown)
            return
        if self._answer_open and self._whole_lines:
            # A file or a pipe gets whole lines; on a terminal what stands between brings its own.
            if isinstance(event, RequestStarted):
                self._streams.write("\n\n")
                self._answer_open = False
            elif isinstance(event, TurnFinished):
                self._streams.write("\n")
        self._streams.show(shown)
