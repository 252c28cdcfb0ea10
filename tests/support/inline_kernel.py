"""A `KernelPort` without a kernel: code runs in a thread of this process, with a namespace that stays."""

import asyncio
import contextlib
import io
import traceback
from collections.abc import Callable
from typing import Any

from maia_kernel.display import ImageDisplay
from maia_kernel.ports import CodeResult, Isolation


class _Tee(io.StringIO):
    def __init__(self, on_output: Callable[[str], None]) -> None:
        super().__init__()
        self._on_output = on_output

    def write(self, text: str) -> int:
        self._on_output(text)
        return super().write(text)


class InlineKernel:
    """Runs code; `show(data)` in it shows a PNG picture."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}

    async def run_code(
        self, code: str, *, timeout: float, on_output: Callable[[str], None]
    ) -> CodeResult:
        async with asyncio.timeout(timeout):
            return await asyncio.to_thread(self._run, code, on_output)

    async def call(
        self, work: Callable[[], Any], *, timeout: float, on_output: Callable[[str], None]
    ) -> CodeResult:
        printed = _Tee(on_output)
        with contextlib.redirect_stdout(printed):
            async with asyncio.timeout(timeout):
                value = await asyncio.to_thread(work)
        return CodeResult(printed.getvalue(), "" if value is None else str(value))

    async def run_isolated(
        self,
        code: str,
        *,
        timeout: float,
        on_output: Callable[[str], None],
        isolation: Isolation,
    ) -> CodeResult:
        before = dict(self.namespace)
        try:
            return await self.run_code(code, timeout=timeout, on_output=on_output)
        finally:
            self.namespace = before

    def _run(self, code: str, on_output: Callable[[str], None]) -> CodeResult:
        images: list[ImageDisplay] = []
        self.namespace["show"] = lambda data: images.append(ImageDisplay("image/png", data))
        printed = _Tee(on_output)
        result = error = ""
        with contextlib.redirect_stdout(printed):
            try:
                try:
                    value = eval(code, self.namespace)
                    result = "" if value is None else repr(value)
                except SyntaxError:
                    exec(code, self.namespace)
            except Exception:  # noqa: BLE001 - whatever the code raises is its result
                error = traceback.format_exc(limit=-1)
        return CodeResult(printed.getvalue(), result, tuple(images), (), error)
