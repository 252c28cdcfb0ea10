"""What an answer costs on the way to the screen: bytes and messages on iopub, for each kB of answer."""

import tempfile
from pathlib import Path

import yaml

from benchmarks.kernel import Cell, kernel
from benchmarks.report import Figure, median

SHORT, LONG = 10, 100  # kB of answer

_PARAGRAPH = (
    "The moving average of the last *seven* days follows the trend and leaves out the weekend. "
    "Where `rolling(7)` meets a missing value it gives a missing value, so the first six rows are "
    "empty: that is not a fault. Fill them, or begin the plot on the seventh day.\n\n"
)


def run(*, runs: int, rate: float = 10.0) -> list[Figure]:
    """The figures for answers that come at `rate` kB a second; medians over `runs` turns."""
    with tempfile.TemporaryDirectory() as folder, kernel(Path(folder)) as running:
        running.run("%load_ext maia")
        for size in (1, SHORT, LONG):
            _write_script(Path(folder), size, rate)
        running.run(_cell(1))
        cells = {size: [running.run(_cell(size)) for _ in range(runs)] for size in (SHORT, LONG)}
    short, long = (_costs(cells[size], size) for size in (SHORT, LONG))
    return [
        Figure(f"bytes for each byte, {SHORT} kB", short[0], "x"),
        Figure(f"bytes for each byte, {LONG} kB", long[0], "x", short[0], "ratio about 1: linear"),
        Figure(f"messages for each kB, {SHORT} kB", short[1], ""),
        Figure(f"messages for each kB, {LONG} kB", long[1], "", short[1], "ratio about 1: linear"),
    ]


def answer(size: int) -> str:
    """An answer of `size` kB in paragraphs, which ends in "The end."."""
    body = _PARAGRAPH * (size * 1000 // len(_PARAGRAPH) + 1)
    return body[: size * 1000] + "\n\nThe end."


def _write_script(folder: Path, size: int, rate: float) -> None:
    # A model's pieces are about four characters long; a hundred a second are enough to measure.
    item = {"text": answer(size), "chunks": max(1, int(size / rate * 100)), "seconds": size / rate}
    script = {"loop": True, "entries": [{"reply": [item]}]}
    (folder / f"{size}.yaml").write_text(yaml.safe_dump(script))


def _cell(size: int) -> str:
    return f"%%maia --new --model scripted:{size}.yaml\nTell me."


def _costs(cells: list[Cell], size: int) -> tuple[float, float]:
    for cell in cells:
        cell.shown_at("The end.")
    weighed = [
        (sum(message.size for message in cell.messages), len(cell.messages)) for cell in cells
    ]
    return (
        median(total / (size * 1000) for total, _ in weighed),
        median(count / size for _, count in weighed),
    )
