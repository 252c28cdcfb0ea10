"""What a front-end would show: outputs by display id, in order, and the bytes that were sent."""

import json
from collections.abc import Mapping
from typing import Any


class Screen:
    """A publisher that keeps what each output shows now."""

    def __init__(self) -> None:
        self.outputs: dict[str, Mapping[str, Any]] = {}
        self.sent = 0
        self.messages = 0

    def __call__(self, bundle: Mapping[str, Any], *, display_id: str, update: bool) -> None:
        assert update == (display_id in self.outputs), "an update is of a display that exists"
        self.outputs[display_id] = dict(bundle)
        self.sent += len(json.dumps(bundle))
        self.messages += 1

    @property
    def shown(self) -> list[Mapping[str, Any]]:
        """The outputs in order, but those that are empty."""
        return [bundle for bundle in self.outputs.values() if any(bundle.values())]

    @property
    def texts(self) -> list[str]:
        """The plain text of each output, in order."""
        return [str(bundle["text/plain"]) for bundle in self.shown]
