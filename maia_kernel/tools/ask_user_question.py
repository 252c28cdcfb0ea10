"""AskUserQuestion: one to four questions with options, answered by the person."""

import uuid
from collections.abc import AsyncIterator

from pydantic import Field

from maia_kernel.display import Display, TextDisplay
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.permissions.subject import Subject
from maia_kernel.questions import FormAnswer, FormField, FormOption, FormQuestion
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolInput, ToolOutput

_NOBODY = (
    "There is nobody who could answer here. Decide by yourself, take the most sensible assumption, and "
    "say in your answer which one you took."
)


class Option(ToolInput):
    """One suggested answer."""

    label: str = Field(description="What the user picks: one to five words", max_length=200)
    description: str = Field(
        "", description="What it means and what follows from it", max_length=2_000
    )
    preview: str | None = Field(
        None,
        description="Text shown beside the options for comparison: code, a layout, a configuration",
        max_length=100_000,
    )


class Question(ToolInput):
    """One question."""

    question: str = Field(
        description="The whole question, with its question mark", max_length=2_000
    )
    header: str = Field(description="A very short name for it, such as Library", max_length=40)
    options: list[Option] = Field(
        description="Answers to choose from; the user can always type another, so add no Other",
        min_length=2,
        max_length=4,
    )
    multi_select: bool = Field(
        False, alias="multiSelect", description="True lets the user choose several options"
    )


class AskUserQuestionInput(ToolInput):
    """The questions."""

    questions: list[Question] = Field(min_length=1, max_length=4)


class AskUserQuestion(Tool[AskUserQuestionInput]):
    """The tool."""

    name = "AskUserQuestion"
    icon = "?"
    counted = "questions"
    description = (
        "Asks the user one to four questions with options to choose from; they can always answer in "
        "their own words. Use it when a choice is theirs to make and changes what you do next; not for "
        "what you can find out, and not to ask whether a plan is good (ExitPlanMode does). Put the "
        "option you recommend first and add (Recommended) to its label."
    )

    @property
    def Input(self) -> type[AskUserQuestionInput]:
        return AskUserQuestionInput

    def read_only(self, call: AskUserQuestionInput, context: ToolContext) -> bool:
        return True

    def concurrency_safe(self, call: AskUserQuestionInput, context: ToolContext) -> bool:
        return False  # one form at a time, and what comes after it waits for the answers

    def validate(self, call: AskUserQuestionInput, context: ToolContext) -> None:
        asked = [question.question.strip() for question in call.questions]
        if not all(asked) or len(set(asked)) < len(asked):
            raise ToolRetry("every question needs a text of its own.")
        for question in call.questions:
            labels = [option.label.strip() for option in question.options]
            if not all(labels) or len(set(labels)) < len(labels):
                raise ToolRetry(f"the options of {question.question!r} need labels that differ.")

    def subject(self, call: AskUserQuestionInput, context: ToolContext) -> Subject:
        return Subject(self.name, read_only=True)

    def summary(self, call: AskUserQuestionInput, context: ToolContext) -> str:
        return ", ".join(question.header or question.question for question in call.questions)

    def displays(self, call: AskUserQuestionInput, context: ToolContext) -> tuple[Display, ...]:
        return (TextDisplay("\n".join(question.question for question in call.questions)),)

    async def run(
        self, call: AskUserQuestionInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        forbidden = context.modes is not None and context.modes.current == "dontAsk"
        if context.ask is None or forbidden:
            raise ToolFailed(_NOBODY)
        form = FormQuestion(f"form-{uuid.uuid4().hex}", tuple(map(_field, call.questions)))
        answer = await context.ask(form)
        if not isinstance(answer, FormAnswer):
            raise TypeError(f"a form was answered by {type(answer).__name__}")
        if answer.by == "nobody":
            raise ToolFailed(_NOBODY)
        if not answer.fields:
            raise ToolFailed(_declined(answer))
        answered = list(zip(call.questions, answer.fields, strict=True))
        told = [f'"{asked.question}" = "{", ".join(given)}"' for asked, given in answered]
        shown = [f"{asked.question} → {', '.join(given)}" for asked, given in answered]
        yield ToolOutput.of("The user answered:\n" + "\n".join(told), TextDisplay("\n".join(shown)))


def _field(question: Question) -> FormField:
    options = tuple(
        FormOption(option.label.strip(), option.description, option.preview or "")
        for option in question.options
    )
    return FormField(
        question.question.strip(), question.header.strip(), options, question.multi_select
    )


def _declined(answer: FormAnswer) -> str:
    if answer.message:
        return f"The user did not choose and said: {answer.message}"
    return (
        "The user declined to answer. Do not ask the same again: go on with the most sensible "
        "assumption, or end if nothing sensible is left."
    )
