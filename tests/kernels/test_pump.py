"""The pump and the tap in real kernels: clicks, order, user code, interrupts, page reloads."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.kernels import FrontEnd, Release, kernel

LIMIT = 3.0
"""Seconds: ten times what an interrupted kernel may take to be idle."""

BUTTON = """
import ipywidgets
answer = asyncio.get_running_loop().create_future()
button = ipywidgets.Button(description="Allow", model_id=pump.new_model_id())
note = ipywidgets.Text(model_id=pump.new_model_id())
button.on_click(lambda _: answer.set_result(note.value))
say("ASKED")
say("ANSWER", repr(await answer))
"""


@pytest.fixture(
    scope="module",
    params=[("6.31", False), ("7.4", False), ("7.4", True)],
    ids=["6.31", "7.4", "7.4-subshell"],
)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FrontEnd]:
    release: Release
    release, subshell = request.param
    with kernel(tmp_path_factory.mktemp("pump"), release=release, subshell=subshell) as front_end:
        assert front_end.run("%load_ext tests.support.pump_cell").status == "ok"
        yield front_end


@pytest.fixture
def front(shared: FrontEnd) -> Iterator[FrontEnd]:
    shared.forget()
    yield shared
    assert shared.run("print(6 * 7)").printed == "42\n"
    assert shared.children() == []


def is_button(state: dict[str, Any]) -> bool:
    return state.get("_model_name") == "ButtonModel"


def is_text(state: dict[str, Any]) -> bool:
    return state.get("_model_name") == "TextModel"


def test_click_reaches_a_running_cell(front: FrontEnd) -> None:
    """Given a cell that waits for its button, when it is clicked, then the cell goes on at once, and
    the queued cells run after it, in order."""
    asking = front.execute("%%pump\n" + BUTTON).wait_for_text("ASKED")
    queued = [front.execute(f"print('QUEUED {number}')") for number in (1, 2)]
    button, note = front.comm(is_button), front.comm(is_text)
    typed = front.send_comm(note, {"method": "update", "state": {"value": "be careful"}})
    clicked = front.click(button)
    asking.wait()
    assert "ANSWER 'be careful'" in asking.printed
    assert [run.wait().printed for run in queued] == ["QUEUED 1\n", "QUEUED 2\n"]
    starts = [m["parent_header"]["msg_id"] for m in front.log if m["msg_type"] == "execute_input"]
    assert starts == [asking.msg_id, queued[0].msg_id, queued[1].msg_id]
    assert asking.idle_at is not None
    assert queued[0].idle_at is not None
    assert asking.idle_at <= queued[0].idle_at
    assert {typed, clicked} <= front.idles()


def test_widgets_of_others_wait(front: FrontEnd) -> None:
    """Given a widget that is not MAIA's, when it is clicked during a turn, then its callback runs after
    the cell, and is not lost."""
    front.run(
        "import ipywidgets\nother = ipywidgets.Button()\n"
        "other.on_click(lambda _: print('OTHER', flush=True))\nother"
    )
    other = front.comm(is_button)
    running = front.execute("%%pump\nsay('BEGUN')\nawait asyncio.sleep(0.3)\nsay('END')")
    running.wait_for_text("BEGUN")
    front.click(other)
    running.wait()
    front.until(lambda: "OTHER" in _all_text(front), 10, "the other widget's callback")
    assert "OTHER" not in running.printed
    assert _all_text(front).index("END") < _all_text(front).index("OTHER")


def test_page_reload(front: FrontEnd) -> None:
    """Given a cell that waits for its button, when a page is reloaded, then what it asks the kernel
    for is answered, and its click arrives."""
    asking = front.execute("%%pump\n" + BUTTON).wait_for_text("ASKED")
    info = front.request("kernel_info_request", {})
    comms = front.request("comm_info_request", {"target_name": "jupyter.widget"})

    def answered() -> bool:
        return {info, comms} <= {reply["parent_header"]["msg_id"] for reply in front.replies}

    front.until(answered, 10, "both replies")
    replies = {reply["parent_header"]["msg_id"]: reply["content"] for reply in front.replies}
    button = front.comm(is_button)
    assert replies[info]["language_info"]["name"] == "python"
    assert replies[comms]["comms"][button] == {"target_name": "jupyter.widget"}
    front.request(
        "comm_open",
        {"comm_id": "control", "target_name": "jupyter.widget.control", "data": {}},
        {"version": "1.0.0"},
    )
    front.send_comm("control", {"method": "request_states"})
    front.until(
        lambda: any(
            m["msg_type"] == "comm_msg" and m["content"]["data"].get("method") == "update_states"
            for m in front.log
        ),
        10,
        "the states of all widgets",
    )
    front.click(button)
    assert "ANSWER ''" in asking.wait().printed


WAITING = {
    "sleeping": "say('READY')\nawait asyncio.sleep(60)",
    "asking": BUTTON.replace("ASKED", "READY"),
    "user code": (
        "await live.run_code('import time; print(\"READY\"); time.sleep(60)', timeout=60, "
        "on_output=say)"
    ),
    "awaiting user code": (
        "await live.run_code('import asyncio; print(\"READY\"); await asyncio.sleep(60)', timeout=60, "
        "on_output=say)"
    ),
    "input": "say('READY')\nawait pump.call_main(lambda: __builtins__['input']('? '))",
    "deaf user code": (
        'await live.run_code(\'import time\\nwhile True:\\n  try: print("READY"); time.sleep(60)\\n'
        "  except KeyboardInterrupt: break\\n', timeout=60, on_output=say)\nsay('WENT ON')"
    ),
}


@pytest.mark.parametrize("what", WAITING)
def test_interrupt(front: FrontEnd, what: str) -> None:
    """Given a turn that waits, when stop is pressed, then the cell ends soon with one line, what is
    queued is dropped, and the namespace is as it was."""
    front.run("kept = 1")
    running = front.execute(f"%%pump\n{WAITING[what]}").wait_for_text("READY")
    queued = front.execute("print('SHOULD NOT RUN')")
    time.sleep(0.1)
    pressed = front.interrupt()
    running.wait()
    assert running.idle_at is not None
    assert running.idle_at - pressed < LIMIT
    assert running.error.startswith("TurnInterrupted: MAIA: interrupted.")
    assert running.error.count("\n") == 1
    assert "WENT ON" not in running.printed
    assert queued.wait().status == "aborted"
    assert front.run("print(kept)").printed == "1\n"


def test_interrupts_at_any_moment(front: FrontEnd) -> None:
    """Given short turns, when stop is pressed around their beginning and end, then the kernel answers
    afterwards."""
    for number in range(12):
        run = front.execute("%%pump\nawait asyncio.sleep(0.02)\nawait pump.call_main(lambda: None)")
        time.sleep(0.005 * number)
        front.interrupt()
        # One that comes just before or after the turn hits ipykernel, which may then drop the request.
        time.sleep(0.1)
        after = front.run("print('well')")
        if after.status == "aborted":  # it came while ipykernel drops what follows an interrupt
            time.sleep(0.3)
            after = front.run("print('well')")
        assert after.printed == "well\n"
        assert run.status in ("ok", "error", "")


def test_code_past_its_limit(front: FrontEnd) -> None:
    """Given code that never ends, when its time is over, then it is stopped and the turn goes on."""
    for code in (
        "while True: pass",
        "import time; time.sleep(60)",
        "import asyncio; await asyncio.sleep(60)",
    ):
        run = front.run(
            "%%pump\ntry:\n"
            f"    await live.run_code({code!r}, timeout=0.3, on_output=say)\n"
            "except TimeoutError:\n    say('TOO LONG')\n"
            "result = await live.run_code('1 + 1', timeout=5, on_output=say)\nsay(result.result)"
        )
        assert run.printed == "TOO LONG\n2\n"
        assert run.status == "ok"


CODE = """
print("to stdout")
import sys, os
print("to stderr", file=sys.stderr)
fresh, kept = 1, 2
await __import__("asyncio").sleep(0)
from IPython.display import display, HTML, clear_output
clear_output()
display(HTML("<b>bold</b>"))
fresh + kept
"""


def test_code_in_the_live_kernel(front: FrontEnd) -> None:
    """Given code that prints, displays, awaits and returns, when the turn runs it, then all of it comes
    back as values, the cell keeps what the turn wrote, and history is as before."""
    front.run("kept = 0\n7")
    run = front.run(
        f"%%pump\nsay('BEFORE')\npieces = []\nr = await live.run_code({CODE!r}, timeout=20, "
        "on_output=pieces.append)\nsay(r)\nsay(''.join(pieces) == r.stdout)"
    )
    assert run.printed.startswith(
        "BEFORE\nCodeResult(stdout='to stdout\\nto stderr\\n', result='3'"
    )
    assert "texts=('<IPython.core.display.HTML object>',)" in run.printed
    assert (
        "changed=('kept', 'sys', 'os', 'fresh', 'display', 'HTML', 'clear_output')" in run.printed
    )
    assert run.printed.endswith("True\n")
    assert [m["content"]["data"]["text/html"] for m in run.of("display_data")] == ["<b>bold</b>"]
    assert not run.of("clear_output", "execute_result")
    assert front.run("print(_, fresh)").printed == "7 1\n"


def test_output_of_the_turn_while_code_runs(front: FrontEnd) -> None:
    """Given code that runs, when the turn prints meanwhile, then that lands in the cell and not in the
    code's output."""
    run = front.run(
        "%%pump\nr = asyncio.ensure_future(live.run_code("
        "'import time; time.sleep(0.3); print(1)', timeout=5, on_output=lambda text: None))\n"
        "await asyncio.sleep(0.1)\nsay('MEANWHILE')\nsay((await r).stdout)"
    )
    assert run.printed == "MEANWHILE\n1\n\n"


def test_traceback_is_trimmed(front: FrontEnd) -> None:
    """Given code that fails in a library, when the turn runs it, then the traceback has the code's line,
    no colours and no frame of IPython, and the cell shows none."""
    code = "import json\ndef load():\n    json.loads('{')\nload()"
    run = front.run(
        f"%%pump\nr = await live.run_code({code!r}, timeout=5, on_output=say)\nsay(r.error)"
    )
    assert run.status == "ok"
    assert not run.of("error")
    assert run.printed.startswith("Traceback (most recent call last):\n")
    assert 'File "<cell>", line 3, in load\n    json.loads(' in run.printed
    assert "\x1b" not in run.printed
    assert "IPython" not in run.printed
    assert run.printed.rstrip().splitlines()[-1].startswith("json.decoder.JSONDecodeError")


def test_syntax_error(front: FrontEnd) -> None:
    """Given code that is no Python, when the turn runs it, then the error comes back as text."""
    run = front.run("%%pump\nsay((await live.run_code('1 +', timeout=5, on_output=say)).error)")
    assert "SyntaxError: invalid syntax" in run.printed
    assert run.status == "ok"


def _all_text(front: FrontEnd) -> str:
    return "".join(m["content"]["text"] for m in front.log if m["msg_type"] == "stream")
