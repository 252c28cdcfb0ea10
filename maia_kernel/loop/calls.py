"""The first two steps of a tool call: look-up and parse, both pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from maia_kernel.messages import ToolUse
from maia_kernel.tools.base import Tool, ToolInput


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call whose tool exists and whose input fits the tool's model."""

    use: ToolUse
    tool: Tool[Any]
    input: ToolInput


@dataclass(frozen=True, slots=True)
class InvalidCall:
    """A call that cannot run; `fault` tells the model how to call."""

    use: ToolUse
    fault: str


def parse_call(use: ToolUse, tools: Mapping[str, Tool[Any]]) -> ParsedCall | InvalidCall:
    """Find the tool of `use` by name or alias and read its input."""
    tool = tools.get(use.name) or next(
        (tool for tool in tools.values() if use.name in tool.aliases), None
    )
    if tool is None:
        return InvalidCall(use, _unknown(use.name, tools))
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


def _unknown(name: str, tools: Mapping[str, Tool[Any]]) -> str:
    near = get_close_matches(name.lower(), [known.lower() for known in tools], n=1)
    by_lower = {known.lower(): known for known in tools}
    hint = f" Did you mean {by_lower[near[0]]}?" if near else ""
    return f"There is no tool named {name!r}.{hint} Available: {', '.join(sorted(tools))}."
