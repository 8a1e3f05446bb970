"""Numbers that a command is given, and numbers that it prints."""

from types import MappingProxyType

from attnlab.comparisons.intervals import DOUBTS, LEVEL, Interval
from attnlab.comparisons.summary import Row, figures_of
from attnlab.configuration.number_text import read_value, show_range
from attnlab.configuration.options import Option, OptionError

FIGURE_NAMES = MappingProxyType({"accuracy": "accuracy", "exact_match": "exact match"})


def whole_number(name: str, text: str, low: int, high: int) -> int:
    """The whole number in a text.

    Refused, with an `OptionError`: one that is not from `low` to `high`.
    """
    value = read_value(name, Option(help=""), text, 0)
    if not low <= value <= high:
        problem = f"not from {low:,} to {high:,}"
        raise OptionError(name, value, problem, "Choose a whole number within")
    return value


def show_estimate(value: float, stderr: float, *, bounded: bool = False) -> str:
    """Return a number with its standard error, or how it was found."""
    if bounded:
        return f"{known_value(value, stderr)} (search stopped early)"
    return known_value(value, stderr) if stderr else f"{value:.4f} (exact)"


def known_value(value: float, stderr: float) -> str:
    """Return a known value, with its standard error if it is estimated."""
    return f"{value:.4f} ± {stderr:.4f}" if stderr else f"{value:.4f}"


def show_interval(interval: Interval) -> str:
    """Return a mean over seeds with its confidence interval."""
    if interval.low is None:
        return f"{interval.mean:.4f} (one seed)"
    if interval.low == interval.high:
        return f"{interval.mean:.4f} (the same with all {interval.n} seeds)"
    ends = show_range(interval.low, interval.high, places=4)
    return f"{interval.mean:.4f} ({LEVEL:.0%} {ends}, {interval.n} seeds)"


def result_parts(row: Row) -> list[str]:
    """Return a row's results beside the best possible ones, each with its error or interval."""
    best = row.references.best
    match = [] if row.exact_match is None else [f"exact match {show_interval(row.exact_match)}"]
    return [
        *match,
        f"accuracy {show_interval(row.accuracy)} of "
        f"{known_value(best.accuracy, best.accuracy_stderr)}",
        f"loss {show_interval(row.nll)} nats of {known_value(best.nll, best.nll_stderr)}",
    ]


def seed_lines(row: Row) -> list[str]:
    """Return what several seeds came to one by one, and why their interval may not hold."""
    if len(row.finished) < 2:
        return []
    figure = "accuracy" if row.exact_match is None else "exact_match"
    each = " ".join(f"{value:.4f}" for value in figures_of(row, figure).values())
    lines = [f"{FIGURE_NAMES[figure]} of each seed: {each}"]
    if (reached := row.reached) is not None:
        share = f"{reached.share.low:.0%} to {reached.share.high:.0%}"
        level = f"{reached.target:.0%} {'of targets' if row.exact_match else 'learned'}"
        lines.append(
            f"{reached.runs} of {reached.n} seeds reached {level} "
            f"({LEVEL:.0%} interval of that share: {share})"
        )
    doubts = [DOUBTS[name] for name in getattr(row, figure).doubts]
    return [*lines, *(f"caution: {words}" for words in doubts)]
