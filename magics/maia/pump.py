"""The pump: keeps a cell's main thread while its turn runs on the engine.

The main thread runs what the turn asks of it (the person's code, `input()`), in order, and takes the
interrupt; `tap` lets the messages of MAIA's widgets through to the engine. One pump is one turn.
"""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import queue
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from maia.outcomes import TurnInterrupted
from maia.tap import Frames, Tap, dispatch, possible
from maia_kernel.engine import Engine
from maia_kernel.errors import EngineStopped
from maia_kernel.texts import text

T = TypeVar("T")

GRACE: Final = 5.0
"""Seconds that an interrupted turn may take to clean up before its cell ends without it."""
_POLL: Final = 0.25
"""Seconds; an upper bound only, every event wakes the pump at once."""
_IMPATIENT: Final = 3
"""Interrupts after which the person does not wait for the clean-up."""


@dataclass(slots=True)
class _Call(Generic[T]):
    work: Callable[[], T]
    result: concurrent.futures.Future[T]
    expired: bool = False


class Pump:
    """Runs one coroutine on the engine for a cell; `call_main` and `new_model_id` are for the turn,
    `cancel` for anybody. `last` is called before a signal ends the process.
    """

    def __init__(
        self, engine: Engine, kernel: Any | None, *, last: Callable[[], None] = lambda: None
    ) -> None:
        self.interrupted = False
        self._last = last
        self._engine = engine
        self._kernel = kernel
        self._owned: set[str] = set()
        self._interrupts = 0
        # SimpleQueue.put may be called from a signal handler.
        self._inbox: queue.SimpleQueue[_Call[Any] | None] = queue.SimpleQueue()
        self._wake: socket.socket | None = None
        self._task: asyncio.Task[Any] | None = None
        self._context = contextvars.copy_context()
        self._call: _Call[Any] | None = None
        self._own_signal = False
        self._fatal: signal.Signals | None = None

    @property
    def can_click(self) -> bool:
        """True when widgets of a running cell can be heard on this kernel."""
        return self._kernel is not None and possible(self._kernel)

    # -- for the turn, on the engine ----------------------------------------------------------------

    def new_model_id(self) -> str:
        """An id for a widget of this turn: known here before its comm opens, so that not even the
        first answer of the front-end is left in the queue.
        """
        model_id = uuid.uuid4().hex
        self._owned.add(model_id)
        return model_id

    async def call_main(
        self,
        work: Callable[[], T],
        *,
        timeout: float | None = None,
    ) -> T:
        """Run `work` in the main thread and return what it returns.

        Cancelled, or out of time after `timeout` seconds, it gets a KeyboardInterrupt.

        Raises:
            TimeoutError: it took longer than `timeout`.
        """
        call = _Call(work, concurrent.futures.Future())
        self._post(call)
        waiter = asyncio.ensure_future(asyncio.wrap_future(call.result))
        try:
            done, _ = await asyncio.wait({waiter}, timeout=timeout)
            if not done:
                await self._end_call(call, waiter)
                raise TimeoutError
        except asyncio.CancelledError:
            await self._end_call(call, waiter)
            raise
        return waiter.result()

    async def _end_call(self, call: "_Call[Any]", waiter: "asyncio.Future[Any]") -> None:
        """Stop a call wherever it is, and wait until the main thread is back, at most `GRACE`."""
        call.expired = True
        if call.result.cancel():
            return
        if not self.interrupted:
            self._interrupt_main()
        await asyncio.wait({waiter}, timeout=GRACE)
        if waiter.done() and not waiter.cancelled():
            waiter.exception()

    # -- interrupting -------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Stop the turn, from any thread: as the kernel's interrupt does."""
        self._note_interrupt()
        if threading.current_thread() is not threading.main_thread():
            self._interrupt_main()

    def _note_interrupt(self) -> None:
        self._interrupts += 1
        self.interrupted = True
        if self._task is not None:
            # Writes to the loop's self-pipe, so an idle loop wakes up even from a signal handler.
            with contextlib.suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
        self._post(None)

    def _interrupt_main(self) -> None:
        """Raise KeyboardInterrupt in the person's code, if any runs."""
        if self._call is not None:
            self._own_signal = True
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)

    def _on_signal(self, number: int, frame: object) -> None:
        if self._own_signal and number == signal.SIGINT:
            self._own_signal = False
        else:
            if number != signal.SIGINT:
                self._fatal = signal.Signals(number)
            self._note_interrupt()
        if self._call is not None:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Take the interrupt; and SIGTERM and SIGHUP, or the turn's child processes would outlive it."""
        numbers = [signal.SIGINT]
        numbers += [
            number
            for number in (signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) is signal.SIG_DFL
        ]
        before = {number: signal.signal(number, self._on_signal) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self._fatal is not None:
                # The turn may not have cleaned up in time: nobody will after this.
                self._last()
                signal.raise_signal(self._fatal)

    # -- the main thread ----------------------------------------------------------------------------

    def run(self, turn: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run `turn()` on the engine in a copy of this cell's context; block until it ended.

        Raises:
            TurnInterrupted: the person stopped it.
            EngineStopped: the engine was shut down.
        """
        if threading.current_thread() is not threading.main_thread():
            raise EngineStopped(text("magics.turn.main_thread"))
        self._context = contextvars.copy_context()
        outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        tap = (
            Tap(self._kernel, owned=self._owned, deliver=self._deliver)
            if self.can_click
            else contextlib.nullcontext()
        )
        with self._signals(), tap, self._poller() as wait:
            started = self._engine.submit(self._turn(turn, outcome), context=self._context)
            deadline: float | None = None
            while not outcome.done():
                call = wait()
                if call is not None:
                    self._run_call(call)
                if self.interrupted:
                    deadline = deadline or time.monotonic() + GRACE
                    if time.monotonic() > deadline or self._interrupts >= _IMPATIENT:
                        raise TurnInterrupted(text("magics.turn.abandoned"))
                if (started.done() or not self._engine.running) and not outcome.done():
                    raise EngineStopped(text("errors.engine_stopped"))
        if self.interrupted:
            raise TurnInterrupted(text("magics.turn.interrupted"))
        return outcome.result()

    async def _turn(
        self,
        turn: Callable[[], Coroutine[Any, Any, T]],
        outcome: "concurrent.futures.Future[T]",
    ) -> None:
        self._task = asyncio.current_task()
        try:
            if self.interrupted:
                raise asyncio.CancelledError
            outcome.set_result(await turn())
        except asyncio.CancelledError as error:
            outcome.set_exception(
                error if self.interrupted else EngineStopped(text("errors.engine_stopped"))
            )
        except BaseException as error:  # noqa: BLE001 - raised again in the cell
            outcome.set_exception(error)
        finally:
            self._post(None)

    @contextlib.contextmanager
    def _poller(self) -> Iterator[Callable[[], _Call[Any] | None]]:
        """How this kernel's main thread waits for the next call."""
        old = self.can_click and getattr(self._kernel, "shell_channel_thread", None) is None
        if not old:
            yield self._next_call
            return
        # ipykernel 6: nobody else reads the shell socket while the main thread is here. `flush` moves
        # messages through the tap into the kernel's own queue and runs none of them.
        import zmq  # only where a kernel has loaded it already

        stream = getattr(self._kernel, "shell_stream")  # noqa: B009 - untyped
        read, write = socket.socketpair()
        read.setblocking(False)
        write.setblocking(False)
        poller = zmq.Poller()
        poller.register(stream.socket, zmq.POLLIN)
        poller.register(read, zmq.POLLIN)

        def next_call() -> _Call[Any] | None:
            poller.poll(int(_POLL * 1000) if self._inbox.empty() else 0)
            with contextlib.suppress(BlockingIOError):
                read.recv(4096)
            stream.flush(zmq.POLLIN | zmq.POLLOUT)
            with contextlib.suppress(queue.Empty):
                return self._inbox.get_nowait()
            return None

        self._wake = write
        try:
            yield next_call
        finally:
            self._wake = None
            write.close()
            read.close()

    def _next_call(self) -> "_Call[Any] | None":
        with contextlib.suppress(queue.Empty):
            return self._inbox.get(timeout=_POLL)
        return None

    def _run_call(self, call: "_Call[Any]") -> None:
        if not call.result.set_running_or_notify_cancel():
            return
        try:
            try:
                self._call = call
                value = call.work()
            finally:
                self._call = None
        except KeyboardInterrupt:
            self._call = None  # the interrupt may have come just before the line above
            if not (call.expired or self.interrupted):
                self._note_interrupt()
            call.result.set_exception(concurrent.futures.CancelledError())
        except BaseException as error:  # noqa: BLE001 - raised again in the turn
            call.result.set_exception(error)
        else:
            call.result.set_result(value)

    def _post(self, call: "_Call[Any] | None") -> None:
        self._inbox.put(call)
        wake = self._wake
        if wake is not None:
            with contextlib.suppress(OSError):
                wake.send(b"x")

    def _deliver(self, raw: Frames) -> None:
        with contextlib.suppress(RuntimeError):
            self._engine.loop.call_soon_threadsafe(
                dispatch, self._kernel, raw, context=self._context
            )
