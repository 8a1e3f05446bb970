"""Whether two settings differ by more than their seeds do."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from attnlab.comparisons.holm import adjusted_p_values
from attnlab.comparisons.intervals import LEVEL, Interval, check_level, student_interval
from attnlab.comparisons.summary import Row, figures_of
from attnlab.configuration.options import OptionError
from attnlab.training.experiment import Experiment

_FEWEST = 2


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The second setting's figure less the first one's, paired by seed.

    `difference` is a mean over the seeds that both have finished, with its interval. `p` is the
    probability of a `t` at least as far from 0 if the settings were equally good; `adjusted_p`
    that with all the `among` comparisons that were made at once taken into account, by Holm.
    `same_data`: of a seed both met the same sequences.
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
    """The paired t-test of two settings: t = d̄ √n / s_d with n - 1 degrees of freedom, two-sided.

    d are the differences, one for each seed that both have finished, and s_d their standard
    deviation (Student 1908, "The probable error of a mean"). It is paired also where the data
    differ: runs of one seed share its random numbers whatever they are used for, so that a test
    for independent groups (Welch 1947) need not keep its level, while differences of different
    seeds are independent in any case. What other data cost is power: then pairing takes away no
    common noise, but half the degrees of freedom.

    The differences are taken as normal. Where all are the same but 0, t is infinite. Refused, with
    an `OptionError`: fewer than 2 common seeds, and what `figures_of` refuses.
    """
    (comparison,) = compare_all([(first, second)], figure, level)
    return comparison


def compare_all(
    pairs: Sequence[tuple[Row, Row]], figure: str = "nll", level: float = LEVEL
) -> tuple[Comparison, ...]:
    """`compare` of every pair, with p-values adjusted for their number.

    The intervals are those of each difference alone: one may leave out 0 and yet be within the
    noise of so many comparisons. Refused: as by `compare`; `common_seeds` tells which pairs.
    """
    check_level(level)
    if not pairs:
        return ()
    found = [_differences(first, second, figure) for first, second in pairs]
    tests = [paired_test(differences) for differences in found]
    adjusted = adjusted_p_values(np.array([float(p) for _, p in tests]))
    return tuple(
        Comparison(
            figure=figure,
            difference=student_interval(differences, level),
            t=float(t),
            p=float(p),
            adjusted_p=float(together),
            among=len(pairs),
            same_data=meet_same_data(first.setting.experiment, second.setting.experiment),
            level=level,
        )
        for (first, second), differences, (t, p), together in zip(
            pairs, found, tests, adjusted, strict=True
        )
    )


def paired_test(
    differences: Float[np.ndarray, "*sets n"],
) -> tuple[Float[np.ndarray, "*sets"], Float[np.ndarray, "*sets"]]:
    """t and the two-sided p of each set of two or more differences, along the last axis."""
    from scipy.special import stdtr

    n = differences.shape[-1]
    mean, spread = differences.mean(axis=-1), differences.std(axis=-1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / (spread / np.sqrt(n)))
    return t, np.asarray(2 * stdtr(n - 1, -np.abs(t)))


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


def _differences(first: Row, second: Row, figure: str) -> Float[np.ndarray, " seeds"]:
    before, after = figures_of(first, figure), figures_of(second, figure)
    seeds = common_seeds(first, second)
    if len(seeds) < _FEWEST:
        problem = "so many seeds are finished in both settings, and a difference takes two"
        raise OptionError("seeds", len(seeds), problem, "Run both with the same seeds")
    return np.array([after[seed] - before[seed] for seed in seeds])
