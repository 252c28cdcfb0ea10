"""What `%maia_doctor` says about the sandbox: what is in force, what would be, and why not."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from maia_kernel.sandbox.mechanism import find_mechanism
from maia_kernel.sandbox.values import SandboxSettings
from maia_kernel.texts import text


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was found; `fix` is empty when all is well."""

    detail: str
    fix: str = ""


async def report(settings: SandboxSettings) -> AsyncIterator[Line]:
    """The state of the sandbox, line by line; tries what has not been tried."""
    found = await find_mechanism()
    if found.name is None:
        detail = " ".join((text("sandbox.report.nothing"), *found.why_not))
        yield Line(detail, text("sandbox.report.fix") if settings.enabled else "")
        return
    state = "on" if settings.enabled else "off"
    yield Line(text(f"sandbox.report.{state}", name=found.name))
    for reason in found.why_not:
        # The better one is missing.
        yield Line(reason, text("sandbox.report.fix") if settings.enabled else "")
    if not settings.enabled:
        return
    questions = "unasked" if settings.auto_allow else "asked"
    yield Line(text(f"sandbox.report.{questions}"))
