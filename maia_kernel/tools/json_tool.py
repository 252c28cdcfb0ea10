"""Tools whose input others described by a JSON Schema: of a project, of the person."""

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict

from maia_kernel.errors import ToolRetry
from maia_kernel.extensions.input_schema import mismatch
from maia_kernel.tools.base import Tool, ToolContext, ToolInput

_VALUE_SHOWN = 60  # characters of a value on the screen's line


class JsonInput(ToolInput):
    """Any object; the tool's schema says what it may be."""

    model_config = ConfigDict(extra="allow")

    @property
    def values(self) -> dict[str, Any]:
        """The fields as they came."""
        return dict(self.model_extra or {})


class JsonTool(Tool[JsonInput]):
    """A tool with `input_schema` in the place of an input model."""

    defer = "crowded"

    @property
    @abstractmethod
    def input_schema(self) -> Mapping[str, Any]:
        """A JSON Schema that `extensions.input_schema` checked."""

    @property
    def Input(self) -> type[JsonInput]:
        return JsonInput

    def schema(self) -> dict[str, Any]:
        return dict(self.input_schema)

    def validate(self, call: JsonInput, context: ToolContext) -> None:
        fault = mismatch(self.input_schema, call.values)
        if fault is not None:
            raise ToolRetry(f"invalid input for {self.name}: {fault}")

    def summary(self, call: JsonInput, context: ToolContext) -> str:
        return ", ".join(f"{name}={_short(value)}" for name, value in call.values.items())


def _short(value: Any) -> str:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    written = " ".join(written.split())
    return written if len(written) <= _VALUE_SHOWN else written[: _VALUE_SHOWN - 1] + "…"
