"""The benchmarks' goals with ten times the room: a test machine is slow and shared.

The figures themselves come from `python -m benchmarks load|turn|stream|search`.
"""

from benchmarks import load, search, stream, turn
from benchmarks.report import Figure


def _named(figures: list[Figure], name: str) -> Figure:
    (figure,) = [figure for figure in figures if figure.name == name]
    return figure


def test_loading_the_extension_is_quick_and_imports_no_vendor_sdk() -> None:
    """`%load_ext maia` adds under 0.1 s (here: 1 s) to a kernel."""
    figures = load.run(runs=1)
    assert _named(figures, "added by %load_ext maia").value < 1_000
    assert _named(figures, "vendor SDKs among them").value == 0
    assert _named(figures, "modules it imports").value > 0


def test_a_turn_adds_little_to_what_the_server_takes() -> None:
    """One turn adds under 50 ms (here: 500 ms) to the server's own time."""
    figures = turn.run(runs=3)
    assert _named(figures, "added to what the server takes").value < 500
    assert _named(figures, "what the server takes").value > turn.SERVER_SECONDS * 1000 * 0.8


def test_what_goes_to_the_screen_is_linear_in_the_answer() -> None:
    """A byte of a long answer costs no more than a byte of a short one, nor does a kB in messages."""
    figures = stream.run(runs=1, rate=25.0)
    for name in (
        f"bytes for each byte, {stream.LONG} kB",
        f"messages for each kB, {stream.LONG} kB",
    ):
        ratio = _named(figures, name).ratio
        assert ratio is not None
        assert ratio < 1.5


def test_searches_take_little_longer_than_ripgrep_itself() -> None:
    """Glob and Grep take under twice (here: twenty times) what ripgrep takes for the same answer."""
    for figure in search.run(runs=1, files=5_000):
        assert figure.ratio is not None
        assert figure.ratio < 20, figure.name
