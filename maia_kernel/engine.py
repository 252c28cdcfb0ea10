"""The engine: one background thread with one event loop, the only place that knows about threads.

It owns everything long-lived (provider clients, child processes, timers, the views of a running turn),
so that a kernel interrupt or a blocked cell cannot break it.
"""

import asyncio
import concurrent.futures
import contextvars
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from maia_kernel.errors import EngineStopped
from maia_kernel.texts import text

T = TypeVar("T")


class Engine:
    """Starts on first use; `shutdown` ends it for good."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The engine's event loop, started if need be."""
        self.start()
        assert self._loop is not None
        return self._loop

    @property
    def running(self) -> bool:
        """True between the first use and `shutdown`."""
        return self._thread is not None and not self._stopped

    def start(self) -> None:
        """Start the thread; does nothing when it runs.

        Raises:
            EngineStopped: after `shutdown`.
        """
        with self._guard:
            if self._stopped:
                raise EngineStopped(text("errors.engine_stopped"))
            if self._thread is not None:
                return
            loop = asyncio.new_event_loop()
            ready = threading.Event()
            # A fresh context: the engine outlives the cell that happened to start it.
            thread = threading.Thread(
                target=contextvars.Context().run,
                args=(_run_loop, loop, ready),
                name="maia-engine",
                daemon=True,
            )
            thread.start()
            ready.wait()
            self._loop, self._thread = loop, thread

    def submit(
        self, work: Coroutine[Any, Any, T], *, context: contextvars.Context | None = None
    ) -> concurrent.futures.Future[T]:
        """Run `work` as a task of the engine, in a copy of `context` (the caller's by default).

        Cancelling the returned future cancels the task. May be called from any thread.
        """
        result: concurrent.futures.Future[T] = concurrent.futures.Future()
        # Not `or`: an empty context is false.
        where = contextvars.copy_context() if context is None else context.copy()
        try:
            loop = self.loop
        except EngineStopped:
            work.close()
            raise
        loop.call_soon_threadsafe(_start_task, loop, work, result, context=where)
        return result

    def shutdown(self, timeout: float = 5.0) -> None:
        """Cancel every task, let them clean up at most `timeout` seconds, end the thread."""
        with self._guard:
            self._stopped = True
            thread, loop = self._thread, self._loop
        if thread is None or loop is None or not thread.is_alive():
            return
        done = threading.Event()
        loop.call_soon_threadsafe(lambda: loop.create_task(_wind_down(loop, timeout, done)))
        done.wait(timeout + 1.0)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(1.0)


def _run_loop(loop: asyncio.AbstractEventLoop, ready: threading.Event) -> None:
    asyncio.set_event_loop(loop)
    loop.call_soon(ready.set)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _start_task(
    loop: asyncio.AbstractEventLoop,
    work: Coroutine[Any, Any, T],
    result: concurrent.futures.Future[T],
) -> None:
    task = loop.create_task(work)

    def cancel_too(future: concurrent.futures.Future[T]) -> None:
        if future.cancelled():
            loop.call_soon_threadsafe(task.cancel)

    def hand_over(finished: asyncio.Task[T]) -> None:
        if finished.cancelled():
            result.cancel()
        elif result.set_running_or_notify_cancel():
            error = finished.exception()
            if error is not None:
                result.set_exception(error)
            else:
                result.set_result(finished.result())

    result.add_done_callback(cancel_too)
    task.add_done_callback(hand_over)


async def _wind_down(
    loop: asyncio.AbstractEventLoop, timeout: float, done: threading.Event
) -> None:
    tasks = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=timeout)
    done.set()
