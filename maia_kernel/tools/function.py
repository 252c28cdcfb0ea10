"""A function of the person as a tool of the session; it runs in the kernel's main thread."""

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any

from maia_kernel.display import Display, TextDisplay
from maia_kernel.errors import ToolFailed
from maia_kernel.permissions.subject import Subject
from maia_kernel.ports import CodeResult
from maia_kernel.texts import text
from maia_kernel.tools.base import Progress, ToolContext, ToolOutput
from maia_kernel.tools.json_tool import JsonInput, JsonTool
from maia_kernel.tools.live import live_output, streamed
from maia_kernel.tools.signature import Described

TIME_LIMIT = 600.0  # seconds


class FunctionTool(JsonTool):
    """The tool. `read_only` is the person's own word about their function, so that it counts."""

    icon = "ƒ"

    def __init__(self, described: Described, *, read_only: bool) -> None:
        self.name = described.name
        self.description = described.description
        self._described = described
        self._read_only = read_only

    @property
    def input_schema(self) -> Mapping[str, Any]:
        return self._described.input_schema

    def read_only(self, call: JsonInput, context: ToolContext) -> bool:
        return self._read_only

    def concurrency_safe(self, call: JsonInput, context: ToolContext) -> bool:
        return False  # there is one main thread

    def validate(self, call: JsonInput, context: ToolContext) -> None:
        super().validate(call, context)
        if context.kernel is None:
            raise ToolFailed(f"{self.name} needs the live kernel, and there is none here.")

    def subject(self, call: JsonInput, context: ToolContext) -> Subject:
        return Subject(self.name, read_only=self._read_only)

    def displays(self, call: JsonInput, context: ToolContext) -> tuple[Display, ...]:
        return (self._drawn(call),)

    async def run(
        self, call: JsonInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        kernel, values = context.kernel, call.values
        if kernel is None:
            raise ToolFailed(f"{self.name} needs the live kernel, and there is none here.")

        def work(on_output: Callable[[str], None]) -> Coroutine[Any, Any, CodeResult]:
            return kernel.call(
                lambda: self._described.call(values), timeout=TIME_LIMIT, on_output=on_output
            )

        late = f"{self.name} was interrupted after {TIME_LIMIT:g} s."
        async with aclosing(streamed(work, context, late)) as items:
            async for item in items:
                if isinstance(item, str):
                    yield Progress(item)
                else:
                    yield live_output(self._drawn(call), item, context)

    def _drawn(self, call: JsonInput) -> TextDisplay:
        """The call as the person would write it."""
        given = ", ".join(f"{name}={value!r}" for name, value in call.values.items())
        title = text("extensions.function.of_person")
        return TextDisplay(f"{self.name}({given})", language="python", title=title)
