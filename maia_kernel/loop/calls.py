"""The first two steps of a tool call: look-up and parse, both pure."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from maia_kernel.messages import ToolUse
from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Tool, ToolContext, ToolInput


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call whose tool exists and whose input fits the tool's model."""

    use: ToolUse
    tool: Tool[Any]
    input: ToolInput

    def subject(self, context: ToolContext) -> Subject:
        """What the permission rules match: the tool's own subject, and the fields that were given."""
        return replace(self.tool.subject(self.input, context), parameters=_parameters(self))


@dataclass(frozen=True, slots=True)
class InvalidCall:
    """A call that cannot run; `fault` tells the model how to call."""

    use: ToolUse
    fault: str


def parse_call(
    use: ToolUse, tools: Mapping[str, Tool[Any]], unloaded: Collection[str] = ()
) -> ParsedCall | InvalidCall:
    """Find the tool of `use` by name or alias and read its input.

    The model has not seen the definition of a tool that is `unloaded`: it is told to load it.
    """
    tool = tools.get(use.name) or next(
        (tool for tool in tools.values() if use.name in tool.aliases), None
    )
    if tool is None:
        return InvalidCall(use, _unknown(use.name, tools))
    if tool.name in unloaded:
        return InvalidCall(
            use,
            f"{tool.name} is not loaded yet. Call ToolSearch with the query 'select:{tool.name}', then "
            f"call {tool.name} with the fields that its definition has.",
        )
    if use.invalid_json is not None:
        return InvalidCall(
            use,
            f"The input of {use.name} is not a JSON object: {use.invalid_json[:200]!r}. "
            "Send it again as valid JSON.",
        )
    try:
        return ParsedCall(use, tool, tool.Input.model_validate(dict(use.input)))
    except ValidationError as error:
        faults = "\n".join(
            f"- {'.'.join(str(part) for part in fault['loc']) or 'input'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_context=False)
        )
        return InvalidCall(use, f"Invalid input for {use.name}:\n{faults}")


def _parameters(call: ParsedCall) -> tuple[tuple[str, str], ...]:
    """The scalar fields of the call: as the model wrote them, and as the tool understands them.

    A rule for `true` must also see the `"yes"` that is taken for it, and a field under either name.
    """
    found: dict[tuple[str, str], None] = {}
    further = call.input.model_extra or {}  # of tools that take any object
    for name in call.input.model_fields_set:
        field = type(call.input).model_fields.get(name)
        names = {name, (field.alias if field else None) or name}
        raw = [call.use.input[key] for key in names if key in call.use.input]
        for value in (*raw, getattr(call.input, name) if field else further[name]):
            if isinstance(value, str | int | float):
                written = value if isinstance(value, str) else json.dumps(value)
                found.update(dict.fromkeys((each, written) for each in names))
    return tuple(found)


def _unknown(name: str, tools: Mapping[str, Tool[Any]]) -> str:
    near = get_close_matches(name.lower(), [known.lower() for known in tools], n=1)
    by_lower = {known.lower(): known for known in tools}
    hint = f" Did you mean {by_lower[near[0]]}?" if near else ""
    return f"There is no tool named {name!r}.{hint} Available: {', '.join(sorted(tools))}."
