"""The keys of a project's settings file that run something or widen rights, item by item."""

from collections.abc import Iterator
from typing import Any

from maia_kernel.paths import shown
from maia_kernel.settings.collect import Collected
from maia_kernel.settings.inventory import compact, project_lists
from maia_kernel.settings.items import Kind
from maia_kernel.settings.layers import Layer
from maia_kernel.texts import text

_MODEL_KEYS = frozenset({"model", "smallModel", "fallbackModel", "aliases"})


def passes_json(into: Collected, layer: Layer, kind: Kind, name: str, value: Any) -> bool:
    """As `Collected.passes`, with the value itself as what the person sees."""
    try:
        detail = compact(value)
    except ValueError as error:
        into.warn(text("settings.unreadable", file=shown(layer.path), cause=error))
        return False
    return into.passes(layer, kind, name, value, detail)


def plays_a_file(key: str, value: Any) -> bool:
    """True when a model setting names a provider that plays a file of the project."""
    if key not in _MODEL_KEYS:
        return False
    named = list(value.values()) if isinstance(value, dict) else value
    specs = named if isinstance(named, list) else [named]
    providers = {spec.strip().partition(":")[0] for spec in specs if isinstance(spec, str)}
    return bool(providers & project_lists().scripted)


def bring_to_gate(data: dict[str, Any], layer: Layer, into: Collected) -> None:
    """Bring what other rooms read from a settings file to the gate, where it waits for trust."""
    if not layer.of_project:
        return
    lists = project_lists()
    for name, handler in _handlers(data.get("hooks")):
        passes_json(into, layer, "hooks", name, handler)
    both: tuple[tuple[Kind, frozenset[str]], ...] = (
        ("command", lists.commands),
        ("setting", lists.widening),
    )
    for kind, keys in both:
        for key in sorted(keys & data.keys()):
            if data[key] not in (None, [], {}):
                passes_json(into, layer, kind, key, data[key])


def _handlers(hooks: Any) -> Iterator[tuple[str, Any]]:
    """Each handler with its event and matcher, as `(name, content)`; what is malformed as a whole."""
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else [groups]:
            matcher = group.get("matcher") if isinstance(group, dict) else None
            name = f"{event} ({matcher})" if isinstance(matcher, str) and matcher else event
            handlers = group.get("hooks") if isinstance(group, dict) else None
            yield from (
                (name, one) for one in (handlers if isinstance(handlers, list) else [group])
            )
