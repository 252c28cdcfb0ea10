"""Schemas that others wrote: what can be a tool's, what fits them, and that nothing is fetched."""

import pytest

from maia_kernel.extensions.input_schema import SchemaFault, check_schema, mismatch


def deep(levels: int) -> dict[str, object]:
    schema: dict[str, object] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


NOT_A_SCHEMA = {
    "a list": ([], "JSON Schema"),
    "of a text": ({"type": "string"}, "JSON Schema"),
    "a choice at the root": ({"type": "object", "anyOf": [{}]}, "anyOf"),
    "an unknown type": ({"type": "object", "properties": {"a": {"type": "txt"}}}, "properties.a"),
    "properties as a list": ({"type": "object", "properties": ["a"]}, "properties"),
    "an odd name": ({"type": "object", "properties": {"a b": {}}}, "a b"),
    "a long name": ({"type": "object", "properties": {"a" * 65: {}}}, "at most 64"),
    "a pattern that is none": (
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
        "regular expression",
    ),
    "a remote reference": (
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/s.json"}}},
        "nothing is fetched",
    ),
    "a file reference": (
        {"type": "object", "properties": {"a": {"items": [{"$ref": "file:///etc/passwd"}]}}},
        "nothing is fetched",
    ),
    "a very deep one": (deep(60), "nested deeper"),
}


@pytest.mark.parametrize("what", NOT_A_SCHEMA)
def test_what_cannot_be_a_tools_schema(what: str) -> None:
    """Given a schema that servers or we could not use, then it is refused in one line."""
    schema, said = NOT_A_SCHEMA[what]
    with pytest.raises(SchemaFault) as fault:
        check_schema(schema)
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)


def test_a_schema_is_made_plain() -> None:
    """What servers need is there, what only a reader of files needs is not."""
    assert check_schema({}) == {"type": "object", "properties": {}}
    given = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://example.com/s",
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
    }
    assert check_schema(given) == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
    }


SCHEMA = check_schema(
    {
        "properties": {
            "env": {"enum": ["test", "prod"]},
            "count": {"type": "integer", "minimum": 1},
            "tree": {"$ref": "#/$defs/tree"},
        },
        "required": ["env"],
        "additionalProperties": False,
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {"sub": {"items": {"$ref": "#/$defs/tree"}}},
                "additionalProperties": False,
            }
        },
    }
)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"env": "test", "count": 2, "tree": {"sub": [{"sub": []}]}}, None),
        ({}, "'env' is a required property"),
        ({"env": "x"}, "env: 'x' is not one of"),
        ({"env": "test", "count": 0}, "count: 0 is less than"),
        ({"env": "test", "count": "2"}, "count: '2' is not of type"),
        ({"env": "test", "other": 1}, "'other' was unexpected"),
        ({"env": "test", "tree": {"sub": [{"leaf": 1}]}}, "tree.sub.0"),
    ],
)
def test_what_fits(value: dict[str, object], said: str | None) -> None:
    """An input that does not fit is told where and why."""
    found = mismatch(SCHEMA, value)
    assert (found is None) if said is None else (found is not None and said in found)


def test_a_reference_to_nowhere_or_to_itself() -> None:
    """Given a reference that leads nowhere or round in circles, then the input does not fit."""
    for reference in ("#/$defs/none", "#/properties/a"):
        schema = check_schema({"properties": {"a": {"$ref": reference}}})
        assert "cannot be followed" in str(mismatch(schema, {"a": 1}))
