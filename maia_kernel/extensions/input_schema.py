"""JSON Schemas of tools that others wrote: checked once, then held against every input.

Nothing is ever fetched: a reference may only point into the schema itself.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from maia_kernel.texts import text

_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # what model servers take
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_ROOT_CHOICES = ("anyOf", "oneOf", "allOf", "not", "enum")  # refused by some servers at the root
_DEEPEST = 40


class SchemaFault(Exception):
    """A schema that cannot be a tool's; the message is one line for the person."""


def check_schema(schema: Any) -> Mapping[str, Any]:
    """`schema` as a tool's input schema: a JSON Schema of an object.

    Raises:
        SchemaFault: it is none; the message says why.
    """
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise SchemaFault(text("extensions.schema.object"))
    for key in _ROOT_CHOICES:
        if key in schema:
            raise SchemaFault(text("extensions.schema.root", key=key))
    for key, value in _keywords(schema, _DEEPEST):
        if key in _REFERENCES and isinstance(value, str) and not value.startswith("#"):
            raise SchemaFault(text("extensions.schema.reference", reference=value))
        if key == "pattern" and isinstance(value, str):
            _check_pattern(value)
    _check_keywords(schema)
    for name in schema.get("properties", {}):
        if not _PROPERTY.fullmatch(name):
            raise SchemaFault(text("extensions.schema.property", name=name))
    kept = {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
    return {**kept, "type": "object", "properties": schema.get("properties", {})}


def mismatch(schema: Mapping[str, Any], value: Mapping[str, Any]) -> str | None:
    """What of `value` does not fit the checked `schema`, in one line for the model; None when it fits.

    Source of the meaning: JSON Schema draft 2020-12; `format` is not looked at.
    """
    # Late: 0.1 s, and only who has such tools needs it.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # A registry of our own: the default one would fetch what it does not know.
    validator = Draft202012Validator(schema, registry=Registry())
    try:
        error = best_match(validator.iter_errors(value))
    except (Unresolvable, RecursionError) as fault:
        return f"the tool's input_schema cannot be followed: {type(fault).__name__}"
    if error is None:
        return None
    place = ".".join(str(part) for part in error.absolute_path) or "input"
    return f"{place}: {error.message}"


def _check_keywords(schema: Mapping[str, Any]) -> None:
    # Late, as above.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = ".".join(str(part) for part in error.absolute_path) or "input_schema"
        raise SchemaFault(f"{place}: {error.message}") from None
    except RecursionError:
        raise SchemaFault(text("extensions.schema.deep", most=_DEEPEST)) from None


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise SchemaFault(text("extensions.schema.pattern", pattern=pattern, cause=error)) from None


def _keywords(node: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Every key with its value, at any depth."""
    if depth == 0:
        raise SchemaFault(text("extensions.schema.deep", most=_DEEPEST))
    if isinstance(node, dict):
        for key, value in node.items():
            yield key, value
            yield from _keywords(value, depth - 1)
    elif isinstance(node, list):
        for value in node:
            yield from _keywords(value, depth - 1)
