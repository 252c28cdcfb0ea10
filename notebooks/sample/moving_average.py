"""Smooth a series of daily values."""

from collections.abc import Sequence


def moving_average(values: Sequence[float], window: int) -> list[float]:
    """The mean of each run of `window` neighbouring values, from the first run to the last."""
    return [sum(values[i : i + window]) / window for i in range(len(values) - window)]


def weekly(values: Sequence[float]) -> list[float]:
    """The moving average over seven days."""
    return moving_average(values, 7)
