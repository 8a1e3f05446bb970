"""Numbers that a command is given, and numbers that it prints."""

from attnlab.comparisons.intervals import LEVEL, Interval
from attnlab.configuration.number_text import read_value
from attnlab.configuration.options import Option, OptionError


def whole_number(name: str, text: str, low: int, high: int) -> int:
    """The whole number in a text.

    Refused, with an `OptionError`: one that is not from `low` to `high`.
    """
    value = read_value(name, Option(help=""), text, 0)
    if not low <= value <= high:
        problem = f"not from {low:,} to {high:,}"
        raise OptionError(name, value, problem, "Choose a whole number within")
    return value


def show_estimate(value: float, stderr: float) -> str:
    """A figure with its standard error, or that it is exact."""
    return f"{value:.4f} ± {stderr:.4f}" if stderr else f"{value:.4f} (exact)"


def show_interval(interval: Interval) -> str:
    """A mean over seeds with its confidence interval."""
    if interval.low is None:
        return f"{interval.mean:.4f} (one seed)"
    level, low, high = f"{LEVEL:.0%}", f"{interval.low:.4f}", f"{interval.high:.4f}"
    return f"{interval.mean:.4f} ({level} {low} to {high}, {interval.n} seeds)"
