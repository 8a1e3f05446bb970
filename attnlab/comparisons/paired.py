"""Whether two settings differ by more than their seeds do."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from attnlab.comparisons.holm import adjusted_p_values
from attnlab.comparisons.intervals import (
    LEVEL,
    Interval,
    are_split,
    check_level,
    doubts_of,
    root_mean_square,
    t_quantile,
)
from attnlab.comparisons.summary import Row, errors_of, figures_of
from attnlab.configuration.options import OptionError
from attnlab.training.experiment import Experiment

_FEWEST = 2
# Of a loss that is computed in float32.
_ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The second setting's figure minus the first one's, paired by seed.

    `difference` is a mean over the seeds that both have finished, with its interval. `p` is the
    probability of a `t` at least as far from 0 if the settings were equally good; `adjusted_p`
    is corrected for the `among` comparisons that it was made or chosen from. `same_data`: with
    equal seeds both were trained and tested on the same sequences.
    """

    figure: str
    difference: Interval
    t: float
    p: float
    adjusted_p: float
    among: int
    same_data: bool
    level: float

    @property
    def within_noise(self) -> bool:
        """Whether seeds alone may well make such a difference, however many were looked at."""
        return self.adjusted_p > 1 - self.level


def compare(first: Row, second: Row, figure: str = "nll", level: float = LEVEL) -> Comparison:
    """Return the paired t-test of two settings: t = d̄ √n / s_d with n - 1 degrees of freedom.

    d are the differences, one for each seed that both have finished, and s_d their standard
    deviation (Student 1908, "The probable error of a mean"). It is paired also where the data
    differ: runs of one seed share its random numbers whatever they are used for, so that a test
    for independent groups (Welch 1947) need not keep its level, while differences of different
    seeds are independent in any case. What other data cost is power: then pairing takes away no
    common noise, but half the degrees of freedom.

    Equal differences are no evidence by themselves: s_d counts as at least the error that the
    tests alone make. Differences are taken as normal. Where seeds fail by chance they are not: if
    one in four does, two seeds give 7 % of false findings for 5 %. See `difference.doubts`.

    Raises:
        OptionError: if fewer than 2 seeds are common, or as `figures_of`.
    """
    (comparison,) = compare_all([(first, second)], figure, level)
    return comparison


def compare_all(
    pairs: Sequence[tuple[Row, Row]],
    figure: str = "nll",
    level: float = LEVEL,
    *,
    among: int = 0,
) -> tuple[Comparison, ...]:
    """Return `compare` of every pair, with p-values corrected for the number of comparisons.

    The correction is Holm's for these pairs. If they were chosen from more, such as all pairs of
    a comparison that you have looked at, pass that number as `among`: then p is multiplied by it
    (Bonferroni), which holds for any choice. Intervals are those of each difference alone: one may
    leave out 0 and still be within the noise of that many comparisons.

    Raises:
        OptionError: as `compare`; `common_seeds` tells which pairs it refuses.
    """
    check_level(level)
    if not pairs:
        return ()
    found = [_paired(*pair, figure, level) for pair in pairs]
    p_values = np.array([each.p for each in found])
    among = max(among, len(pairs))
    chosen = among > len(pairs)
    adjusted = np.minimum(p_values * among, 1.0) if chosen else adjusted_p_values(p_values)
    return tuple(
        dataclasses.replace(each, adjusted_p=float(together), among=among)
        for each, together in zip(found, adjusted, strict=True)
    )


def paired_test(
    differences: Float[np.ndarray, "*sets n"], least: float | Float[np.ndarray, "*sets"] = 0.0
) -> tuple[Float[np.ndarray, "*sets"], Float[np.ndarray, "*sets"]]:
    """Return t and the two-sided p of each set of two or more differences, along the last axis.

    Their standard deviation counts as `least` or more. If it is 0 all the same, nothing is known
    of the noise, and t is 0 and p is 1.
    """
    from scipy.special import stdtr

    n = differences.shape[-1]
    mean, spread = differences.mean(axis=-1), _spread_of(differences, least)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((mean == 0) | (spread == 0), 0.0, mean / (spread / np.sqrt(n)))
    return t, np.asarray(2 * stdtr(n - 1, -np.abs(t)))


def paired_interval(
    differences: Float[np.ndarray, " n"], least: float = 0.0, level: float = LEVEL
) -> Interval:
    """Return the interval of a mean difference that belongs to `paired_test`."""
    n, mean = differences.size, float(differences.mean())
    half = float(t_quantile(level, n - 1) * _spread_of(differences, least) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half, n, doubts_of(differences, least))


def least_spread_of_shares(
    differences: Float[np.ndarray, "*sets n"], size: float
) -> Float[np.ndarray, "*sets"]:
    """Return the least error that tests on the same `size` sequences give differences of shares.

    For shares to differ by d, the models must disagree on |d| · size sequences or more, so that the
    variance of one difference is at least |d| (1 − |d|) / size; |d| is taken as half a sequence or
    more. The result is the root of the mean of that.
    """
    apart = np.clip(np.abs(differences), 0.5 / size, 1 - 0.5 / size)
    return np.asarray(np.sqrt((apart * (1 - apart) / size).mean(axis=-1)))


def _spread_of(differences, least):
    spread = differences.std(axis=-1, ddof=1)
    # What is left of equal differences is rounding.
    scale = np.abs(differences).max(axis=-1)
    return np.maximum(np.where(spread <= 1e-9 * scale, 0.0, spread), least)


def common_seeds(first: Row, second: Row) -> tuple[int, ...]:
    """The seeds whose runs are finished in both."""
    seeds = [{run.experiment.seed for run in row.finished} for row in (first, second)]
    return tuple(sorted(seeds[0] & seeds[1]))


def meet_same_data(first: Experiment, second: Experiment) -> bool:
    """Whether, with equal seeds, both are trained and tested on the same sequences."""
    return _data_of(first) == _data_of(second)


def _data_of(experiment: Experiment) -> tuple:
    training = experiment.training
    # All that goes into the draw. A fresh batch of another size has other sequences.
    size = training.train_size if training.data == "fixed" else training.batch
    drawn = training.data, size, training.test_size
    return experiment.generator, experiment.length, *drawn


def _paired(first: Row, second: Row, figure: str, level: float) -> Comparison:
    before, after = figures_of(first, figure), figures_of(second, figure)
    seeds = common_seeds(first, second)
    if len(seeds) < _FEWEST:
        problem = "so many seeds are finished in both settings, and a difference takes two"
        raise OptionError("seeds", len(seeds), problem, "Run both with the same seeds")
    differences = np.array([after[seed] - before[seed] for seed in seeds])
    same_data = meet_same_data(first.setting.experiment, second.setting.experiment)
    errors = [errors_of(row, figure) for row in (first, second)]
    each = [root_mean_square([of_row[seed] for seed in seeds]) for of_row in errors]
    least = float(np.hypot(*each))
    if same_data:
        least = min(least, _least_on_same_data(differences, figure, first.setting.experiment))
    t, p = paired_test(differences, least)
    difference = paired_interval(differences, least, level)
    for values, error in zip((before, after), each, strict=True):
        if are_split(np.array([values[seed] for seed in seeds]), error):
            doubts = dict.fromkeys((*difference.doubts, "split"))
            difference = dataclasses.replace(difference, doubts=tuple(doubts))
    return Comparison(
        figure=figure,
        difference=difference,
        t=float(t),
        p=float(p),
        adjusted_p=float(p),
        among=1,
        same_data=same_data,
        level=level,
    )


def _least_on_same_data(
    differences: Float[np.ndarray, " seeds"], figure: str, experiment: Experiment
) -> float:
    if figure in ("nll", "learned"):
        # Losses share the noise of their test, unless all that differs is rounding.
        return 0.0 if differences.std(ddof=1) > _ROUNDING else math.inf
    given, size = experiment.generator.given(), experiment.training.test_size
    if figure == "accuracy" and given:
        size *= experiment.length + 1 - given
    return float(least_spread_of_shares(differences, size))
