"""Measuring in turns: every round measures each contender once.

A machine that slows down for a while then slows down all of them, and ratios are taken within
a round.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Figure:
    """What is measured, and the rows it prints."""

    title: str
    rows: Callable[[], Iterator[str]]


def in_turns(
    contenders: Mapping[str, Callable[[], float]], *, rounds: int
) -> dict[str, list[float]]:
    """The results of each contender, one a round."""
    results: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, measure in contenders.items():
            results[name].append(measure())
    return results


def seconds_of(action: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def best_of(results: Mapping[str, Sequence[float]]) -> str:
    """The contender with the highest median."""
    return max(results, key=lambda name: statistics.median(results[name]))


def spread(values: Sequence[float], pattern: str = ",.0f") -> str:
    """Median, least and most."""
    low, middle, high = (
        format(value, pattern) for value in (min(values), statistics.median(values), max(values))
    )
    return f"{middle} ({low} to {high})"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """How many times more `ours` is, round by round."""
    times = [a / b for a, b in zip(ours, theirs, strict=True)]
    pattern = ",.1f" if statistics.median(times) < 100 else ",.0f"
    return f"{spread(times, pattern)} ×"
