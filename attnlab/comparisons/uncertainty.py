"""Texts about uncertainty, the same on every page."""

import math
from collections.abc import Iterable

from attnlab.comparisons.intervals import DOUBTS, LEVEL, Interval, wilson_interval
from attnlab.comparisons.summary import Reached
from attnlab.configuration.number_text import show_estimate, show_range
from attnlab.optimum import Best
from attnlab.training.evaluation import Evaluation

# Standard errors over the test set do not cover other initial weights or training data.
OVER_TEST_SEQUENCES = "± one standard error over the test sequences"
OF_OTHER_SEEDS = "other seeds can differ by more"
OF_SEEDS = f"{LEVEL:.0%} confidence interval over seeds (Student's t)"


def interval_text(interval: Interval | None, *, places: int = 3, percent: bool = False) -> str:
    """Return the mean with its interval, or the mean alone for a single run.

    On every page, ± is one standard error; an interval has its ends in parentheses.

    >>> interval_text(Interval(0.5, 0.48, 0.52, 5)), interval_text(Interval(0.5, None, None, 1))
    ('0.500 (0.480 to 0.520)', '0.500')
    >>> interval_text(Interval(1.0, 1.0, 1.0, 5)), interval_text(None)
    ('1.000 in all 5', '–')
    """
    if interval is None:
        return "–"
    scale, unit = (100, " %") if percent else (1, "")
    mean, has_ends = scale * interval.mean, interval.low is not None and not interval.exact
    low, high = (scale * end for end in interval.ends) if has_ends else (mean, mean)
    if half := max(high - mean, mean - low):
        # As `show_measured` rounds an error.
        places = min(places, max(0, 1 - math.floor(math.log10(half))))
    alone = f"{round(mean, places) + 0.0:.{places}f}".replace("-", "−")
    if half:
        return f"{alone} ({show_range(low, high, places=places)}){unit}"
    # Equal results do not imply that the next seed gives the same, so no interval is shown.
    return f"{alone}{unit}" + f" in all {interval.n}" * has_ends


def share_text(interval: Interval | None) -> str:
    """Return a fraction in percent as text, with its interval."""
    return interval_text(interval, places=1, percent=True)


def known_text(best: Best | None, figure: str) -> str:
    """Return attribute `figure` of a baseline as text, with its standard error if estimated."""
    if best is None:
        return "–"
    return show_estimate(getattr(best, figure), getattr(best, f"{figure}_stderr"))


def above_best_text(test: Evaluation, best: Best) -> str:
    """Return a remark on an accuracy that chance has put above the best possible one, or "".

    >>> test = Evaluation(0.94, 0.005, 0.551, 0.005)
    >>> above_best_text(test, Best(0.93, 0.548))
    'The accuracy is above the ceiling, but within the error of the test.'
    >>> above_best_text(test, Best(0.93, 0.56))
    ''
    """
    error = math.hypot(test.accuracy_stderr, best.accuracy_stderr)
    if not best.accuracy < test.accuracy < best.accuracy + 2 * error:
        return ""
    return "The accuracy is above the ceiling, but within the error of the test."


def above_uniform_text(losses: Iterable[tuple[float, float]], symbols: int) -> str:
    """Return a remark if any loss is clearly above that of a uniform guess, else "".

    Args:
        losses: Losses in nats with their standard errors.
        symbols: The number of tokens that the guess is among.

    >>> above_uniform_text([(0.9, 0.01), (1.2, 0.01)], 3)
    'A loss above a uniform guess (1.099) means confident predictions of wrong tokens.'
    >>> above_uniform_text([(1.11, 0.01)], 3)
    ''
    """
    uniform = math.log(symbols)
    if not any(loss > uniform + 2 * error for loss, error in losses):
        return ""
    return (
        f"A loss above a uniform guess ({uniform:.3f}) means confident predictions of wrong tokens."
    )


def reached_text(reached: Reached | None) -> str:
    """Return how many seeds reached a level, with the Wilson interval of their share.

    >>> reached_text(Reached(0.9, 3, wilson_interval(3, 5))), reached_text(None)
    ('3 of 5 (23 to 88 %)', '–')
    """
    if reached is None:
        return "–"
    low, high = (100 * end for end in reached.share.ends)
    return f"{reached.runs} of {reached.n} ({low:.0f} to {high:.0f} %)"


def caution_text(*intervals: Interval | None) -> str:
    """Return why intervals may be unreliable, apart from few seeds; "" without a reason.

    >>> caution_text(Interval(0.5, 0.2, 0.8, 5, ("few", "split")))
    'the seeds fall into two groups'
    """
    found = {name for interval in intervals if interval for name in interval.doubts}
    return "; ".join(words for name, words in DOUBTS.items() if name in found and name != "few")


def unseen_text(seeds: int) -> str:
    """Return text on how many other seeds may still fail, although this many succeeded.

    >>> unseen_text(5)
    'Even if all 5 seeds reach a target, up to 43 % of other seeds may fail (95 % Wilson interval).'
    """
    share = 1 - wilson_interval(seeds, seeds).ends[0]
    rate = f"{share:.0%}".replace("%", " %")
    return (
        f"Even if all {seeds} seeds reach a target, up to {rate} of other seeds may fail (95 % "
        "Wilson interval)."
    )
