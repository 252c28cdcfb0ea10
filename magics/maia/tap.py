"""The tap on the kernel's shell channel: what reaches MAIA's widgets while their cell runs.

While a cell runs, ipykernel leaves widget messages in the shell stream. For the length of a turn the
stream's receive callback is wrapped: messages for MAIA's own comms are taken out, the two read-only
requests that a reloaded page needs are answered, and all else passes on unchanged and in order.
Uses private names of ipykernel and pyzmq, which `possible` looks for (6.29 to 7.4).
"""

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from types import TracebackType
from typing import Any, Final, Self

Frames = list[Any]

_WIDGET_CONTROL: Final = "jupyter.widget.control"
_STREAM_TIMEOUT: Final = 5.0
"""Seconds for the shell stream's thread to take a new callback; it takes 0.3 ms."""
_STREAM_LOOK: Final = 0.1
_NEEDED: Final = ("comm_manager", "session", "_publish_status", "kernel_info")


def possible(kernel: Any) -> bool:
    """True when this kernel has everything the tap needs."""
    stream = getattr(kernel, "shell_stream", None)
    return (
        callable(getattr(stream, "on_recv", None))
        and callable(getattr(stream, "_recv_callback", None))
        and all(hasattr(kernel, name) for name in _NEEDED)
    )


class Tap:
    """A context manager. `owned` are the comm ids to take out; `deliver` gets their raw messages on
    whatever thread reads the socket.
    """

    def __init__(self, kernel: Any, *, owned: set[str], deliver: Callable[[Frames], None]) -> None:
        self._kernel = kernel
        self._owned = owned
        self._deliver = deliver
        self._stream = kernel.shell_stream
        self._thread = getattr(kernel, "shell_channel_thread", None)  # ipykernel 7
        self._active = False
        self._original: Callable[[Frames], Any] = self._stream._recv_callback
        self._installed: Callable[[Frames], Any] = self._receive

    def __enter__(self) -> Self:
        def install() -> None:
            self._original = self._stream._recv_callback
            self._stream.on_recv(self._installed, copy=False)
            self._active = True

        self._on_stream_thread(install)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        def remove() -> None:
            # If somebody wrapped this callback meanwhile it stays, but lets everything through.
            self._active = False
            if self._stream._recv_callback is self._installed:
                self._stream.on_recv(self._original, copy=False)

        with contextlib.suppress(TimeoutError, RuntimeError):
            self._on_stream_thread(remove)

    def _on_stream_thread(self, work: Callable[[], None]) -> None:
        """A ZMQStream is not thread safe: touch it on its own thread, and wait."""
        if self._thread is None or threading.current_thread() is self._thread:
            work()
            return
        done: Future[None] = Future()

        def call() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - handed to the waiting thread
                done.set_exception(error)
            else:
                done.set_result(None)

        self._thread.io_loop.add_callback(call)
        deadline = time.monotonic() + _STREAM_TIMEOUT
        while not done.done():
            # A kernel that shuts down during a turn has ended this thread already.
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise TimeoutError
            wait([done], timeout=_STREAM_LOOK)
        done.result()

    def _receive(self, raw: Frames) -> Any:
        if self._active:
            try:
                if self._took(raw):
                    return None
            except Exception:  # a message we cannot read is ipykernel's to report
                self._kernel.log.debug("message passed on unread", exc_info=True)
        return self._original(raw)  # a coroutine on ipykernel 7; the stream schedules it

    def _took(self, raw: Frames) -> bool:
        session = self._kernel.session
        idents, frames = session.feed_identities(raw, copy=False)
        # Reading without the content checks the signature and does not use up its digest.
        head = session.deserialize(frames, content=False, copy=False)
        match head["header"]["msg_type"]:
            case "comm_msg" | "comm_close":
                if session.unpack(head["content"]).get("comm_id") not in self._owned:
                    return False
                self._deliver(raw)
                return True
            case "comm_open":
                content = session.unpack(head["content"])
                if content.get("target_name") != _WIDGET_CONTROL:
                    return False
                self._owned.add(content["comm_id"])
                self._deliver(raw)
                return True
            case "kernel_info_request" | "comm_info_request" as kind:
                whole = session.deserialize(frames, content=True, copy=False)
                self._answer(kind, idents, whole)
                return True
            case _:
                return False

    def _answer(self, kind: str, idents: Any, message: dict[str, Any]) -> None:
        """Answer as ipykernel would: a page that is reloaded shows no widget before it has these."""
        kernel = self._kernel
        if kind == "kernel_info_request":
            content = {"status": "ok", **kernel.kernel_info}
        else:
            target = message["content"].get("target_name")
            comms = {
                comm_id: {"target_name": comm.target_name}
                for comm_id, comm in list(kernel.comm_manager.comms.items())
                if target is None or comm.target_name == target
            }
            content = {"status": "ok", "comms": comms}
        kernel._publish_status("busy", "shell", parent=message)
        reply = kind.replace("_request", "_reply")
        kernel.session.send(self._stream, reply, content, parent=message, ident=idents)
        kernel._publish_status("idle", "shell", parent=message)


def dispatch(kernel: Any, raw: Frames) -> None:
    """Hand one comm message to its comm, in the calling thread and context."""
    session = kernel.session
    _, frames = session.feed_identities(raw, copy=False)
    message = session.deserialize(frames, content=True, copy=False)
    # A widget in the browser sends its next update only after the idle of the one before.
    kernel._publish_status("busy", "shell", parent=message)
    try:
        _to_comm(kernel, message)
    except Exception:  # a widget's callback must not end the turn
        kernel.log.error("error in a widget's callback", exc_info=True)
    finally:
        kernel._publish_status("idle", "shell", parent=message)


def _to_comm(kernel: Any, message: dict[str, Any]) -> None:
    kind = message["header"]["msg_type"]
    if kind == "comm_open":
        kernel.comm_manager.comm_open(None, None, message)
        return
    comm = kernel.comm_manager.comms.get(message["content"]["comm_id"])
    if comm is None:
        return
    if kind == "comm_close":
        kernel.comm_manager.comm_close(None, None, message)
        return
    # `handle_msg` fires pre_execute and post_execute too, and those flush the person's figures.
    callback = getattr(comm, "_msg_callback", None)
    if callback is not None:
        callback(message)
    else:
        comm.handle_msg(message)
