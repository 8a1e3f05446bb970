"""The verdict on a comparison in sentences, from paired tests."""

import dataclasses
from collections.abc import Iterator, Sequence

from attnlab.comparisons.intervals import LEVEL, Interval, widened
from attnlab.comparisons.paired import Comparison, common_seeds, compare_all
from attnlab.comparisons.summary import OF_REFERENCES, Row, interval_of, reached_of
from attnlab.comparisons.uncertainty import caution_text, interval_text, share_text
from attnlab.configuration.options import OptionError, present
from attnlab.generators.display import OF_LAW
from attnlab.inspection import measure_label, measure_of

# A setting with its label.
_Named = tuple[str, Row]
_MOST_PROCESSES, _CHAIN = 4, 3


def tests_of(
    rows: Sequence[Row], pairs: Sequence[tuple[Row, Row]], figure: str
) -> tuple[Comparison, ...]:
    """Return the paired tests of these pairs, corrected for all pairs of `rows`.

    The user saw all results before choosing a pair.
    """
    several = sum(len(row.finished) > 1 for row in rows)
    return compare_all(pairs, figure, among=several * (several - 1) // 2)


def lower_is_better(figure: str) -> bool:
    """Return whether a result is better if it is lower."""
    measure = measure_of(figure)
    return measure is not None and measure.lower_is_better


def verdict_on(rows: Sequence[Row], labels: Sequence[str], figure: str) -> list[str]:
    """Return sentences on which setting is best, by how much, and how much is left to learn.

    Settings of different processes are not compared. The list is empty without a result.
    """
    named = [
        pair for pair in zip(labels, rows, strict=True) if interval_of(pair[1], figure) is not None
    ]
    named.sort(key=lambda pair: _mean(pair, figure), reverse=not lower_is_better(figure))
    processes: dict[object, list[_Named]] = {}
    for pair in named:
        processes.setdefault(pair[1].experiment.generator, []).append(pair)
    try:
        found = [
            sentence
            for ranked in [*processes.values()][:_MOST_PROCESSES]
            for sentence in _on_process(rows, ranked, figure)
        ]
    except OptionError as error:
        return [str(error)]
    if left_out := sum(len(row.unfinished) for row in rows):
        found += [f"Runs without a result are left out: {left_out}."] * bool(found)
    return found


def _mean(pair: _Named, figure: str) -> float:
    return present(interval_of(pair[1], figure)).mean


def _on_process(rows: Sequence[Row], ranked: Sequence[_Named], figure: str) -> Iterator[str]:
    best, others, name = ranked[0], ranked[1:], _name(figure)
    words = best[1].experiment.generator.best_words
    of = "" if others or words is not OF_LAW else f" {name}"
    reach = _reach(best[1], figure, f"the {words.best}{of}")
    amount = _amount(present(interval_of(best[1], figure)), figure)
    if not others:
        yield f"{best[0]} {reach}." if reach else f"The {name} of {best[0]} is {amount}."
        return
    if len(common_seeds(best[1], others[0][1])) < 2:
        yield f"{best[0]} has the best {name}, {amount}."
        yield "A test of the difference needs two finished seeds of each setting."
        return
    found, (better, worse), amount = _difference(rows, best, others[0], figure)
    amount = amount.replace("(", f"({LEVEL:.0%} interval ", 1)
    side = "below" if lower_is_better(figure) else "above"
    exceeds = f"is {side} that of {worse} by {amount}"
    if found.within_noise:
        yield f"No clear winner: the {name} of {better} {exceeds}."
    else:
        yield f"{better} is best: its {name} {exceeds}."
    if reach:
        yield f"{best[0]} {reach}."
    found = [found]
    # With more settings, the other pairs are in the table of differences.
    if len(ranked) == _CHAIN and len(common_seeds(others[0][1], others[1][1])) > 1:
        second, (better, worse), amount = _difference(rows, others[0], others[1], figure)
        found.append(second)
        if second.within_noise:
            yield f"{better} and {worse} are too close to call: they differ by {amount}."
        else:
            yield f"{better} beats {worse} by {amount}."
    if cautions := caution_text(*(each.difference for each in found)):
        yield f"Caution: {cautions}."


def _difference(
    rows: Sequence[Row], better: _Named, worse: _Named, figure: str
) -> tuple[Comparison, tuple[str, str], str]:
    """Return the test of two settings, their labels from better to worse, and their difference."""
    low, high = (better, worse) if lower_is_better(figure) else (worse, better)
    (found,) = tests_of(rows, [(low[1], high[1])], figure)
    difference = found.difference
    # Over common seeds alone, the order may be the other one.
    if difference.mean < 0:
        better, worse, difference = worse, better, _negated(difference)
    return found, (better[0], worse[0]), _distance(difference, figure)


def _reach(row: Row, figure: str, best_possible: str) -> str:
    """Return how far a setting is from the best possible, as the end of a sentence, or ""."""
    found, known = present(interval_of(row, figure)), row.references
    if known is None or figure not in OF_REFERENCES or found.low is None:
        return ""
    best, stderr = 1.0, 0.0
    if figure != "learned":
        best, stderr = getattr(known.best, figure), getattr(known.best, f"{figure}_stderr")
    # Positive if something is left to learn.
    left = widened(found.plus(-best), stderr, LEVEL)
    if not lower_is_better(figure):
        left = _negated(left)
    reached = reached_of(row, figure)
    if left.ends[0] <= 0 and reached is not None and reached.runs == reached.n:
        return f"reaches {best_possible} within the error"
    noise = ", within the noise" if left.ends[0] <= 0 else ""
    is_above = lower_is_better(figure) == (left.mean > 0)
    amount = _distance(left if left.mean > 0 else _negated(left), figure)
    return f"is {amount} {'above' if is_above else 'below'} {best_possible}{noise}"


def _negated(interval: Interval) -> Interval:
    low, high = interval.ends
    return dataclasses.replace(interval, mean=-interval.mean, low=-high, high=-low)


def _name(figure: str) -> str:
    return measure_label(figure).replace(" (nats)", "")


def _amount(interval: Interval, figure: str) -> str:
    """Return a result with its error and unit."""
    if figure == "learned":
        return share_text(interval)
    return interval_text(interval) + " nats" * (_name(figure) != measure_label(figure))


def _distance(interval: Interval, figure: str) -> str:
    """Return a difference of results with its error and unit."""
    return _amount(interval, figure).replace(" %", " percentage points")
