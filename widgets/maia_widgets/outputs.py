"""The outputs of one cell, in order, with the live panel always last.

Outputs of a cell can only be appended or replaced, not moved. So the panel's place is given to each
new output, and the panel is displayed once more after it; the last place it had becomes the footer.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Bundle = Mapping[str, Any]
EMPTY: Bundle = {"text/markdown": "", "text/plain": ""}


class Publish(Protocol):
    """Sends one output to the front-end; `update` replaces the one that has this display id."""

    def __call__(self, bundle: Bundle, *, display_id: str, update: bool) -> None: ...


def notebook_publisher() -> Publish:
    """Publishes to the cell that is running now.

    The publisher is taken now and kept: while the person's code runs, IPython may put another in its
    place to capture what that code shows.
    """
    from IPython.core.interactiveshell import InteractiveShell  # imported where there is a shell

    publish: Callable[..., None] = InteractiveShell.instance().display_pub.publish

    def send(bundle: Bundle, *, display_id: str, update: bool) -> None:
        publish(dict(bundle), metadata={}, transient={"display_id": display_id}, update=update)

    return send


@dataclass(slots=True, eq=False)
class Slot:
    """One output. `update` replaces what it shows."""

    outputs: "Outputs"
    bundle: Bundle
    display_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    displayed: bool = False

    def update(self, bundle: Bundle) -> None:
        """Show `bundle` instead; nothing is sent when it is the same."""
        if bundle != self.bundle:
            self.bundle = bundle
            if self.displayed:
                self.outputs.publish(bundle, display_id=self.display_id, update=True)


class Outputs:
    """The cell's outputs; `shown` is what they show now, in order, by display id.

    `follow` is told of each output that is new or has changed.
    """

    def __init__(
        self, publish: Publish, follow: Callable[[str, Bundle], None] | None = None
    ) -> None:
        self._publish = publish
        self._follow = follow
        self.shown: dict[str, Bundle] = {}
        self._panel: Bundle | None = None
        self._panel_id = ""
        self._slots: list[Slot] = []
        self._free: list[Slot] = []
        self._held = False

    def publish(
        self, bundle: Bundle, *, display_id: str, update: bool, alone: Bundle | None = None
    ) -> None:
        """Send one output; `alone` is what it shows where the cell's own end does not."""
        self._publish(bundle, display_id=display_id, update=update)
        self.shown[display_id] = alone or bundle
        if self._follow is not None:
            self._follow(display_id, alone or bundle)

    def show_panel(self, bundle: Bundle) -> None:
        """Display the live panel, from now on after everything else."""
        self._panel, self._panel_id = bundle, uuid.uuid4().hex
        self.publish(bundle, display_id=self._panel_id, update=False)

    def add(self, bundle: Bundle) -> Slot:
        """A new output after the others, before the panel."""
        if self._free:
            slot = self._free.pop(0)
            slot.update(bundle)
        else:
            slot = Slot(self, bundle)
            if not self._held:
                self._display(slot)
        self._slots.append(slot)
        return slot

    def hold(self, held: bool) -> None:
        """While held, new outputs wait: displaying the panel anew would take the keyboard from it."""
        self._held = held
        if not held:
            for slot in self._slots:
                if not slot.displayed:
                    self._display(slot)

    def mark(self) -> int:
        """A place to `take_back` to."""
        return len(self._slots)

    def take_back(self, mark: int) -> None:
        """Empty every output since `mark`; their places are used again by what comes next."""
        taken, self._slots = self._slots[mark:], self._slots[:mark]
        for slot in taken:
            slot.update(EMPTY)
        self._free = taken + self._free

    def finish(self, bundle: Bundle | None, *, alone: Bundle | None = None) -> None:
        """Put `bundle` in the panel's place, or after everything where there was no panel.

        `alone` is for a page that does not see how the cell ended.
        """
        self.hold(False)
        if self._panel is not None:
            self._panel = None
            self.publish(bundle or EMPTY, display_id=self._panel_id, update=True, alone=alone)
        elif bundle is not None:
            self.add(bundle)

    def _display(self, slot: Slot) -> None:
        slot.displayed = True
        if self._panel is None:
            self.publish(slot.bundle, display_id=slot.display_id, update=False)
            return
        # The new view first: the cell would jump if it lost the panel for a moment.
        slot.display_id, self._panel_id = self._panel_id, uuid.uuid4().hex
        self.publish(self._panel, display_id=self._panel_id, update=False)
        self.publish(slot.bundle, display_id=slot.display_id, update=True)
