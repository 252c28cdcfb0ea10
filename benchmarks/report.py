"""Figures as a table on the screen and as JSON in benchmarks/results/."""

import json
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table. `beside` is what it is compared with, in the same unit and the same run."""

    name: str
    value: float
    unit: str
    beside: float | None = None
    goal: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times `beside`."""
        return self.value / self.beside if self.beside else None


def median(values: Iterable[float]) -> float:
    """The middle value: one slow run on a shared machine does not move it."""
    return statistics.median(values)


def report(benchmark: str, figures: Sequence[Figure], *, runs: int) -> Path:
    """Print the table and write the same as JSON; returns the file."""
    width = max(len(figure.name) for figure in figures)
    print(f"{benchmark}: medians of {runs} runs")
    print(f"  {'':{width}}  {'':>10}       {'beside':>10} {'ratio':>7}  goal")
    for figure in figures:
        beside = f"{figure.beside:10.2f}" if figure.beside is not None else " " * 10
        ratio = f"{figure.ratio:7.2f}" if figure.ratio is not None else " " * 7
        print(
            f"  {figure.name:{width}}  {figure.value:10.2f} {figure.unit:5} {beside} {ratio}"
            f"  {figure.goal}".rstrip()
        )
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{benchmark}.json"
    rows = [{**asdict(figure), "ratio": figure.ratio} for figure in figures]
    file.write_text(
        json.dumps(
            {
                "benchmark": benchmark,
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "runs": runs,
                "python": platform.python_version(),
                "machine": platform.machine(),
                "versions": {
                    name: version(name) for name in ("maia-kernel", "ipykernel", "ipython")
                },
                "figures": rows,
            },
            indent=2,
        )
        + "\n"
    )
    return file
