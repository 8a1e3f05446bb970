"""What a row says, in sentences that are computed from its figures."""

import math
from collections.abc import Iterator

import numpy as np

from attnlab.comparisons.paired import Comparison
from attnlab.comparisons.published.literature import Published, standard_error
from attnlab.comparisons.summary import Row, figures_of

_NOTHING = Published()
# In accuracy. A test of 10,000 sequences has a standard error of half a hundredth.
AT, NEAR, FAR = 0.005, 0.02, 0.1
# Of the way from the commonest token to the ceiling: below, a small difference is not small.
_NEARLY_ALL = 0.8
# Standard errors within which two figures agree.
_AGREE = 2.0


def verdict_of(row: Row, published: Published = _NOTHING) -> str:
    """How near its ceiling a row comes, what else it equals, and whether published figures agree.

    Without a finished run: why there is none.
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
    change = f"{verb} {abs(mean):.3f} ({least:.3f} to {most:.3f})"
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
    """How far a published accuracy lies above ours, in standard errors of the difference.

    The error of the published one is that of its test and, since it is one run, the standard
    deviation s between seeds; that of our mean is s/√n: √(p (1 - p)/1,000 + s² (1 + 1/n)).
    """
    ours = np.array(list(figures_of(row, "accuracy").values()))
    spread = float(ours.var(ddof=1)) * (1 + 1 / ours.size)
    return (figure - float(ours.mean())) / math.hypot(standard_error(figure), math.sqrt(spread))


def _nearness(row: Row) -> Iterator[str]:
    mean, best, least = row.accuracy.mean, row.references.best, row.references.majority
    gap, share = best.accuracy - mean, share_of_way(row)
    of = f"{mean:.3f} of {best.accuracy:.3f}"
    if share is None:
        yield "The commonest weather is the best that anybody can name."
    elif gap <= AT and share >= _NEARLY_ALL:
        yield f"At the ceiling to within {AT}: nothing was left to learn."
    elif gap <= NEAR and share >= _NEARLY_ALL:
        within = math.ceil(gap * 1_000) / 1_000
        yield f"Within {within:.3f} of the ceiling: little was left to learn."
    else:
        yield f"{'Far below' if gap > FAR else 'Below'} the ceiling: {of}."
        if mean <= least.accuracy:
            yield f"No better than always naming the commonest weather ({least.accuracy:.3f})."
        elif row.accuracy.low is not None and row.accuracy.low <= least.accuracy:
            naming = f"always naming the commonest weather ({least.accuracy:.3f})"
            yield f"These seeds do not tell it apart from {naming}."
        else:
            yield f"{share:.0%} of the way there from always naming the commonest weather."
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
    agree = [figure for figure, errors in off.items() if abs(errors) <= _AGREE]
    if agree:
        figures = " and ".join(f"{figure:.3f}" for figure in agree)
        which = "figure" if len(agree) == 1 else "figures"
        verb = "agrees" if len(agree) == 1 else "agree"
        yield f"The published {which} {figures} {verb} with ours within the error."
    for figure in off.keys() - set(agree):
        side = "above" if off[figure] > 0 else "below"
        yield f"The published {figure:.3f} is {abs(off[figure]):.1f} standard errors {side} ours."
