"""What a row says, in sentences that are computed from its figures."""

import math
from collections.abc import Iterator

import numpy as np

from attnlab.comparisons.intervals import LEVEL, Interval, normal_quantile, t_quantile
from attnlab.comparisons.paired import Comparison
from attnlab.comparisons.published.literature import Published, standard_error
from attnlab.comparisons.summary import Row, figures_of
from attnlab.configuration.number_text import show_percent, show_range

_NOTHING = Published()
# In accuracy. A test of 10,000 sequences has a standard error of half a hundredth.
AT, NEAR, FAR = 0.005, 0.02, 0.1
# Of the way from the commonest token to the ceiling: below, a small difference is not small.
_NEARLY_ALL = 0.8
# Of what can be learned: nothing was left if no less is within the interval.
_LEARNED = 0.9


def verdict_of(row: Row, published: Published = _NOTHING) -> str:
    """Return how near a row is to the ceiling and the floor, and whether published figures agree.

    Without a finished run, return why there is none.
    """
    if row.accuracy is None:
        reasons = dict.fromkeys(run.reason for run in row.unfinished)
        return " ".join(["No figure.", *reasons])
    sentences = [*_nearness(row), *_agreement(row, published)]
    if row.unfinished:
        sentences.append(f"{len(row.unfinished)} of {len(row.results)} runs have no figure.")
    return " ".join(sentences)


def gain_in_words(gain: Comparison | None) -> str:
    """What a switch changed, paired over seeds; nothing if that is not known."""
    if gain is None:
        return ""
    mean, low, high = gain.difference.mean, gain.difference.low, gain.difference.high
    verb = "Gains" if mean > 0 else "Loses"
    least, most = sorted((abs(low), abs(high)))
    change = f"{verb} {abs(mean):.3f} ({show_range(least, most)})"
    if not gain.within_noise:
        return f"{change}."
    if low * high > 0:
        return f"{change}: beyond the noise by itself, within it among {gain.among} switches."
    ends = f"{low:+.3f} to {high:+.3f}".replace("-", "−")
    return f"No change beyond the noise of the seeds ({ends})."


def share_of_way(row: Row) -> float | None:
    """(mean - m) / (ceiling - m), where m is the accuracy of always naming the commonest token.

    None without a finished run or where those two are equal.
    """
    ceiling, least = row.references.best.accuracy, row.references.majority.accuracy
    if row.accuracy is None or ceiling <= least:
        return None
    return (row.accuracy.mean - least) / (ceiling - least)


def standard_errors_off(row: Row, figure: float) -> float:
    """Return how far a published accuracy lies above ours, in standard errors of the difference.

    The error of the published one is that of its test and, since it is one run, the standard
    deviation s between seeds; that of our mean is s/√n: √(p (1 - p)/1,000 + s² (1 + 1/n)).
    """
    ours = np.array(list(figures_of(row, "accuracy").values()))
    return (figure - float(ours.mean())) / math.sqrt(sum(_variances(row, figure)))


def disagrees(row: Row, figure: float) -> bool:
    """Return whether a published accuracy differs from ours by more than 95 % of equal ones do.

    The limit adds in squares z times the error of the published test and t s √(1 + 1/n), t being
    Student's with n - 1 degrees of freedom: two standard errors would be too few for few seeds.
    """
    of_test, of_seeds = np.sqrt(_variances(row, figure))
    ours = np.mean(list(figures_of(row, "accuracy").values()))
    z, t = normal_quantile((1 + LEVEL) / 2), t_quantile(LEVEL, len(row.finished) - 1)
    return bool(abs(figure - ours) > math.hypot(z * of_test, t * of_seeds))


def _variances(row: Row, figure: float) -> tuple[float, float]:
    """Return the published figure's variance over its test, and that over seeds of both."""
    ours = np.array(list(figures_of(row, "accuracy").values()))
    return standard_error(figure) ** 2, float(ours.var(ddof=1)) * (1 + 1 / ours.size)


def learned_in_words(learned: Interval) -> str:
    """Return `78 % learned (64 to 92 %)`."""
    mean = f"{100 * learned.mean:.0f} % learned"
    if learned.low is None:
        return mean
    return f"{mean} ({show_range(100 * learned.low, 100 * learned.high, places=0)} %)"


def _nearness(row: Row) -> Iterator[str]:
    mean, best, least = row.accuracy.mean, row.references.best, row.references.majority
    gap, share = best.accuracy - mean, share_of_way(row)
    learned = None if row.learned is None else learned_in_words(row.learned)
    if share is None or learned is None:
        yield "No predictor does better than always naming the most common weather."
    elif abs(gap) <= AT and share >= _NEARLY_ALL:
        at = f"At the ceiling to within {AT}"
        low, high = row.learned.low, row.learned.high
        if low is None:
            yield f"{at}: {learned} by one seed."
        elif high < 1:
            yield f"{at}, but the loss is above the floor: {learned}."
        elif low < _LEARNED:
            yield f"{at}: {learned}. These seeds do not show whether anything was left."
        else:
            yield f"{at}, and the loss is at the floor: nothing was left to learn."
    elif abs(gap) <= NEAR and share >= _NEARLY_ALL:
        side = "below" if gap > 0 else "above"
        yield f"{abs(gap):.3f} {side} the ceiling: {learned}."
    else:
        far = "Far below" if gap > FAR else "Below"
        yield f"{far} the ceiling: {mean:.3f} of {best.accuracy:.3f}."
        naming = f"always naming the most common weather ({least.accuracy:.3f})"
        if mean <= least.accuracy:
            yield f"No better than {naming}."
        elif row.accuracy.low is not None and row.accuracy.low <= least.accuracy:
            yield f"These seeds do not distinguish it from {naming}."
        else:
            way = show_percent(share)
            yield f"{way} of the way there from always naming the most common weather."
        yield f"By the loss, {learned}."
        linear = row.references.linear
        if linear is not None and row.setting.experiment.model.name == "linear":
            yield f"The linear predictor of least loss has {linear.accuracy:.3f}."


def _agreement(row: Row, published: Published) -> Iterator[str]:
    if not published.figures:
        return
    if len(row.finished) < 2:
        yield "One seed does not say how far others lie from the published figure."
        return
    off = {figure: standard_errors_off(row, figure) for figure in published.figures}
    agree = [figure for figure in off if not disagrees(row, figure)]
    if agree:
        figures = " and ".join(f"{figure:.3f}" for figure in agree)
        which = "figure" if len(agree) == 1 else "figures"
        verb = "agrees" if len(agree) == 1 else "agree"
        yield f"The published {which} {figures} {verb} with ours within the error."
    for figure in off.keys() - set(agree):
        side = "above" if off[figure] > 0 else "below"
        yield f"The published {figure:.3f} is {abs(off[figure]):.1f} standard errors {side} ours."
