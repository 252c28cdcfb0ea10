"""A typed function as a tool: its JSON Schema from annotations, its description from the docstring."""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticUndefined

from maia_kernel.errors import ToolRetry, UsageError
from maia_kernel.extensions.custom_tools import fault_of_name
from maia_kernel.extensions.input_schema import SchemaFault, check_schema
from maia_kernel.texts import text
from maia_kernel.tools.base import plain_schema

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_IN_SCHEMA = (str, int, float, bool, type(None))  # defaults that the model is told


@dataclass(frozen=True, slots=True)
class Described:
    """A function that can be a tool. `call` checks the values, then calls it: in the person's thread,
    since both may run code of theirs; it raises `ToolRetry` for values that do not fit.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    call: Callable[[Mapping[str, Any]], Any]


def describe(function: Callable[..., Any], name: str | None = None) -> Described:
    """`function` as a tool, under its own name if none is given.

    Raises:
        UsageError: it cannot be one; one line says why.
    """
    chosen = str(name or getattr(function, "__name__", ""))
    fault = fault_of_name(chosen)
    if fault is not None:
        raise UsageError(fault)
    parameters, model = _model(function, chosen)
    try:
        schema = check_schema(plain_schema(model.model_json_schema(by_alias=True)))
    except SchemaFault as error:
        raise _unfit(chosen, error) from None
    except PydanticUserError as error:
        raise _unfit(chosen, error.message.splitlines()[0]) from None

    def call(values: Mapping[str, Any]) -> Any:
        try:
            checked = model.model_validate(dict(values))
        except ValidationError as error:
            raise ToolRetry(f"invalid input for {chosen}:\n{_faults(error)}") from None
        given = {
            own: getattr(checked, field)
            for own, field in parameters.items()
            if field in checked.model_fields_set  # else the function's own default
        }
        return function(**given)

    written = inspect.getdoc(function) or f"{chosen}{inspect.signature(function)}"
    return Described(chosen, written, schema, call)


def _model(function: Callable[..., Any], name: str) -> tuple[dict[str, str], type[BaseModel]]:
    """The fields by parameter, and a model of them. Fields have names of their own: a parameter may be
    called as no field can be.
    """
    try:
        signature = inspect.signature(function)
        hints = _hints(function)
    except (TypeError, ValueError, NameError) as error:
        raise _unfit(name, error) from None
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    for number, parameter in enumerate(signature.parameters.values()):
        if parameter.kind not in _BY_NAME:
            raise UsageError(text("extensions.function.kind", name=name, parameter=parameter))
        if parameter.name not in hints:
            place = {"name": name, "parameter": parameter.name}
            raise UsageError(text("extensions.function.annotation", **place))
        names[parameter.name] = f"field_{number}"
        fields[f"field_{number}"] = (hints[parameter.name], _field(parameter))
    config = ConfigDict(extra="forbid")
    try:
        return names, create_model(name, __config__=config, **fields)
    except PydanticUserError as error:
        raise _unfit(name, error.message.splitlines()[0]) from None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The parameters' annotations, texts evaluated; what it returns is nobody's business here."""
    bare = inspect.unwrap(function)
    annotations = {k: v for k, v in inspect.get_annotations(bare).items() if k != "return"}
    holder = types.SimpleNamespace(__annotations__=annotations)
    known = getattr(bare, "__globals__", {})
    return typing.get_type_hints(holder, globalns=known, include_extras=True)


def _field(parameter: inspect.Parameter) -> Any:
    default = parameter.default
    if default is inspect.Parameter.empty:
        return Field(default=PydanticUndefined, alias=parameter.name)
    if isinstance(default, _IN_SCHEMA):
        return Field(default=default, alias=parameter.name)
    return Field(default_factory=lambda: default, alias=parameter.name)


def _unfit(name: str, cause: object) -> UsageError:
    return UsageError(text("extensions.function.unfit", name=name, cause=cause))


def _faults(error: ValidationError) -> str:
    return "\n".join(
        f"- {'.'.join(str(part) for part in fault['loc']) or 'input'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_context=False)
    )
