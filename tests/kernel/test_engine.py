"""The engine: one thread, one loop, tasks in the caller's context, a shutdown that cleans up."""

import asyncio
import concurrent.futures
import contextvars
import threading
from collections.abc import Iterator

import pytest

from maia_kernel.engine import Engine
from maia_kernel.errors import EngineStopped

here: contextvars.ContextVar[str] = contextvars.ContextVar("here", default="nowhere")


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.shutdown()


def test_work_runs_on_one_thread_of_its_own(engine: Engine) -> None:
    """Given two submissions, both run on the same thread, which is not the caller's."""

    async def thread() -> int:
        return threading.get_ident()

    first, second = (engine.submit(thread()).result(5) for _ in range(2))
    assert first == second != threading.get_ident()


def test_a_task_sees_the_context_of_its_submitter(engine: Engine) -> None:
    """Given a context variable of the cell, the task reads it and cannot change it for others."""

    async def read_and_set() -> str:
        value = here.get()
        here.set("task")
        return value

    here.set("cell")
    assert engine.submit(read_and_set()).result(5) == "cell"
    assert here.get() == "cell"
    other = contextvars.Context()
    assert engine.submit(read_and_set(), context=other).result(5) == "nowhere"


def test_errors_come_back_and_the_engine_goes_on(engine: Engine) -> None:
    """Given work that raises, its future raises and the next work runs."""

    async def fail() -> None:
        raise ValueError("no")

    async def fine() -> str:
        return "yes"

    with pytest.raises(ValueError, match="no"):
        engine.submit(fail()).result(5)
    assert engine.submit(fine()).result(5) == "yes"


def test_cancelling_the_future_cancels_the_task(engine: Engine) -> None:
    """Given a waiting task, cancelling its future lets it clean up."""
    started, cleaned = threading.Event(), threading.Event()

    async def wait() -> None:
        try:
            started.set()
            await asyncio.sleep(60)
        finally:
            cleaned.set()

    future = engine.submit(wait())
    assert started.wait(5)
    assert future.cancel()
    assert cleaned.wait(5)


def test_shutdown_cancels_what_runs_and_refuses_what_comes(engine: Engine) -> None:
    """Given a running task, shutdown waits for its clean-up; later work is refused in one line."""
    started, cleaned = threading.Event(), threading.Event()

    async def wait() -> None:
        try:
            started.set()
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            cleaned.set()

    future = engine.submit(wait())
    assert started.wait(5)
    engine.shutdown()
    assert cleaned.is_set()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result(5)
    with pytest.raises(EngineStopped):
        engine.submit(wait())


def test_an_unused_engine_has_no_thread() -> None:
    """Given no work, nothing runs, and shutdown has nothing to do."""
    engine = Engine()
    assert not engine.running
    engine.shutdown()
