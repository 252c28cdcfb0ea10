"""CurrentModel: which model answers."""

from collections.abc import AsyncIterator

from maia_kernel.permissions.subject import Subject
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput


class CurrentModelInput(ToolInput):
    """Nothing."""


class CurrentModel(Tool[CurrentModelInput]):
    """The tool."""

    name = "CurrentModel"
    icon = "◎"
    description = "Tells which model and provider answer in this conversation right now."

    @property
    def Input(self) -> type[CurrentModelInput]:
        return CurrentModelInput

    def read_only(self, call: CurrentModelInput, context: ToolContext) -> bool:
        return True

    def subject(self, call: CurrentModelInput, context: ToolContext) -> Subject:
        return Subject(self.name, read_only=True)

    def summary(self, call: CurrentModelInput, context: ToolContext) -> str:
        return context.model

    async def run(
        self, call: CurrentModelInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        provider, colon, model = context.model.partition(":")
        text = f"model: {model}\nprovider: {provider}" if colon else f"model: {context.model}"
        yield ToolOutput.of(text)
