"""The few statistics that the scenarios need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity over all rounds: the median, and how far the rounds lay apart."""

    median: float
    low: float
    high: float
    rounds: tuple[float, ...]

    @staticmethod
    def of(values: Sequence[float]) -> Figure:
        """The figure of one value a round."""
        return Figure(median(values), min(values), max(values), tuple(values))


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the ascending values lie; nan where there are none."""
    if not ordered:
        return float("nan")
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def jain(counts: Sequence[float]) -> float:
    """Jain's index of fairness: 1 where all got the same, 1/n where one got everything."""
    squares = sum(count * count for count in counts)
    return sum(counts) ** 2 / (len(counts) * squares) if squares else 0.0
