"""Paired differences between settings over seeds, and which option they are due to."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from attnlab.comparisons.intervals import (
    LEVEL,
    Interval,
    are_split,
    check_level,
    doubts_of,
    root_mean_square,
    t_quantile,
)
from attnlab.comparisons.records import differing_options
from attnlab.comparisons.summary import Row, errors_of, figures_of
from attnlab.configuration.options import OptionError
from attnlab.generators import predicted_count
from attnlab.optimum.conformity import adjusted_p_values
from attnlab.training.experiment import Experiment

_FEWEST = 2
# Precision of a loss computed in float32.
_ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The second setting's result minus the first one's, paired by seed.

    `difference` is a mean over the seeds that both have finished, with its interval. `p` is the
    probability of a `t` at least as far from 0 if the settings were equally good; `adjusted_p` is
    corrected for the `among` comparisons that it was chosen from. `same_data`: with equal seeds
    both were trained and tested on the same sequences.
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
        """Return whether seeds alone could cause such a difference, given the number of tests."""
        return self.adjusted_p > 1 - self.level


def compare_paired(
    first: Row, second: Row, figure: str = "nll", level: float = LEVEL
) -> Comparison:
    """Return the paired t-test of two settings: t = d̄ √n / s_d with n - 1 degrees of freedom.

    d are the differences, second minus first, one for each seed that both have finished, and s_d
    their standard deviation (Student 1908, "The probable error of a mean"). It is paired even if
    the data differ: runs with the same seed share random numbers, so a test for independent groups
    (Welch 1947) might not keep its level, while differences of different seeds are always
    independent. With different data, pairing removes no common noise and costs half the degrees of
    freedom, and so some power.

    Even if all differences are equal, s_d is at least the standard error on the test sets.
    Differences are assumed to be normal, which they are not if seeds fail by chance: if one in four
    fails, two seeds give 7 % false positives instead of 5 %. See `difference.doubts`.

    Raises:
        OptionError: If fewer than 2 seeds are common, or as in `figures_of`.
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
    """Return `compare_paired` of every pair, with p-values corrected for the number of comparisons.

    The correction is Holm's for these pairs. If you chose them from more, such as all pairs of a
    comparison, pass that number as `among`: then p is multiplied by it (Bonferroni), which is valid
    for any choice. Intervals are not corrected: one may exclude 0 although the difference is within
    the noise of that many comparisons.

    Raises:
        OptionError: As in `compare_paired`; `common_seeds` shows which pairs are possible.
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

    Their standard deviation is taken to be at least `least`. If it is 0 nevertheless, the noise is
    unknown: t is 0 and p is 1.
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
    """Return the least error of differences of shares over tests on the same `size` sequences.

    For shares to differ by d, the models must disagree on |d| · size sequences or more, so the
    variance of one difference is at least |d| (1 − |d|) / size, with |d| at least half a sequence.
    The result is the root of the mean variance.
    """
    apart = np.clip(np.abs(differences), 0.5 / size, 1 - 0.5 / size)
    return np.asarray(np.sqrt((apart * (1 - apart) / size).mean(axis=-1)))


def _spread_of(differences, least):
    spread = differences.std(axis=-1, ddof=1)
    # Equal differences leave only rounding.
    scale = np.abs(differences).max(axis=-1)
    return np.maximum(np.where(spread <= 1e-9 * scale, 0.0, spread), least)


def common_seeds(first: Row, second: Row) -> tuple[int, ...]:
    """Return the seeds with a finished run in both rows."""
    seeds = [{run.experiment.seed for run in row.finished} for row in (first, second)]
    return tuple(sorted(seeds[0] & seeds[1]))


def meet_same_data(first: Experiment, second: Experiment) -> bool:
    """Return whether, with equal seeds, both are trained and tested on the same sequences."""
    return _data_of(first) == _data_of(second)


def _data_of(experiment: Experiment) -> tuple:
    training = experiment.training
    # Everything that affects the draw. Fresh batches of another size have other sequences.
    sizes = {"fixed": training.train_size, "fresh": training.batch, "law": None}
    drawn = training.data, sizes[training.data], training.test_size
    return experiment.generator, experiment.length, *drawn


def _paired(first: Row, second: Row, figure: str, level: float) -> Comparison:
    before, after = figures_of(first, figure), figures_of(second, figure)
    seeds = common_seeds(first, second)
    if len(seeds) < _FEWEST:
        problem = "only this many seeds are finished in both settings, and a difference needs two"
        raise OptionError("seeds", len(seeds), problem, "Run both with the same seeds")
    differences = np.array([after[seed] - before[seed] for seed in seeds])
    same_data = meet_same_data(first.experiment, second.experiment)
    errors = [errors_of(row, figure) for row in (first, second)]
    each = [root_mean_square([of_row[seed] for seed in seeds]) for of_row in errors]
    least = float(np.hypot(each[0], each[1]))
    if same_data:
        least = min(least, _least_on_same_data(differences, figure, first.experiment))
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
        # Losses on the same test share its noise, so differences may be exact, apart from rounding.
        return 0.0 if differences.std(ddof=1) > _ROUNDING else math.inf
    generator, size = experiment.generator, experiment.training.test_size
    if figure == "accuracy":
        size *= predicted_count(generator, experiment.length)
    return float(least_spread_of_shares(differences, size))


_MOST_OPTIONS = 8
_FEWEST_SEEDS = 2
_NOT_FULL = "the grid is not full"


@dataclasses.dataclass(frozen=True)
class Share:
    """The share of the variance due to one option, or to the interaction of several.

    An interaction is what a combination adds to the effects of fewer options. No `options` means
    the seed: the spread among runs of one setting. `degrees` are degrees of freedom. If no option
    had an effect, a share would be about `by_chance`, its part of all degrees. `adjusted_p` is the
    probability of an effect as large by chance, by the F-test against the seed's spread, with
    Holm's correction for all effects; 1 for the seed itself.
    """

    options: tuple[str, ...]
    share: float
    degrees: int
    by_chance: float
    adjusted_p: float = 1.0


def shares_of(rows: Sequence[Row], figure: str = "nll") -> tuple[Share, ...]:
    """Return the shares of a result's variance due to each option that differs between rows.

    Raises `OptionError` for rows that are not a full grid (each combination once, with the same
    number of finished runs), for fewer than 2 runs per setting, and where `figures_of` does.
    """
    names = differing_options(rows)
    if not names:
        raise OptionError("settings", len(rows), "nothing differs between them", "Vary an option")
    if len(names) > _MOST_OPTIONS:
        problem = "more options differ than can be compared"
        raise OptionError("options", len(names), problem, f"Vary {_MOST_OPTIONS} at most")
    cells = {}
    for row in rows:
        options = dict(row.setting.options)
        for name in names:
            if name not in options:
                problem = f"the setting {_in_words(options)} has no such option, so {_NOT_FULL}"
                raise OptionError(name, None, problem, "Compare settings that all have it")
        cells[tuple(options[name] for name in names)] = list(figures_of(row, figure).values())
    levels = [tuple(dict.fromkeys(cell[axis] for cell in cells)) for axis in range(len(names))]
    for cell in itertools.product(*levels):
        if cell not in cells:
            missing = _in_words(dict(zip(names, cell, strict=True)))
            raise OptionError("settings", missing, f"not there, so {_NOT_FULL}", "Run it, too")
    if len(rows) > len(cells):
        problem = f"only {len(cells)} of them differ"
        raise OptionError("settings", len(rows), problem, "Remove the duplicates")
    most = max(map(len, cells.values()))
    for cell, figures in cells.items():
        if len(figures) != most:
            problem = (
                f"only this many runs of {_in_words(dict(zip(names, cell, strict=True)))} are "
                f"finished, but {most} of another setting, so {_NOT_FULL}"
            )
            raise OptionError(
                "seeds", len(figures), problem, "Use the same number of seeds for all"
            )
    counts = tuple(map(len, levels))
    ordered = np.array([cells[cell] for cell in itertools.product(*levels)])
    return variance_shares(ordered.reshape(*counts, most), names)


def variance_shares(
    values: Float[np.ndarray, "*levels seeds"], names: Sequence[str]
) -> tuple[Share, ...]:
    """Return the sums of squares of a balanced factorial design as shares that sum to 1.

    `values` has an axis for each of the `names` and one for the seeds. The effect of a set of
    options is the table of means over everything else, minus every effect of fewer options; its sum
    of squares is over all runs. The rest, within cells, is due to the seed. All effects are
    orthogonal (Fisher 1935, "The design of experiments"; Montgomery, "Design and analysis of
    experiments", chapter 5). Seeds count as repetitions: effects of a seed on all settings, such as
    an easy test set, are due to the seed, too. Shares are exact for these runs; other runs would
    differ.

    Raises `OptionError` for a single seed, whose share cannot be separated from that of all options
    together, and for values that are all equal.
    """
    seeds, total = values.shape[-1], values.size
    if seeds < _FEWEST_SEEDS:
        problem = "the share of the seed cannot be computed without repeated runs"
        raise OptionError("seeds", seeds, problem, f"Choose {_FEWEST_SEEDS} or more")
    if np.ptp(values) == 0:
        problem = "the same in all runs, so there is no variance to explain"
        raise OptionError("figure", float(values.flat[0]), problem, "Choose another figure")
    # Subtract one of them, so that a large common value does not cost precision.
    centred = values - values.flat[0]
    spread = ((centred - centred.mean()) ** 2).sum()
    cells = centred.mean(axis=-1, keepdims=True)
    parts = [
        (tuple(names[axis] for axis in chosen), _effect(cells, chosen))
        for chosen in _subsets(len(names))
    ]
    parts.append(((), centred - cells))
    degrees = [math.prod(values.shape[names.index(name)] - 1 for name in part) for part, _ in parts]
    degrees[-1] = total - total // seeds
    found = [float((effect**2).sum() * (total / effect.size) / spread) for _, effect in parts]
    p_values = [*_effect_p_values(np.array(found), np.array(degrees)), 1.0]
    return tuple(
        Share(options=part, share=share, degrees=free, by_chance=free / (total - 1), adjusted_p=p)
        for (part, _), share, free, p in zip(parts, found, degrees, p_values, strict=True)
    )


def _effect_p_values(
    shares: Float[np.ndarray, " parts"], degrees: Int[np.ndarray, " parts"]
) -> list[float]:
    """Return Holm's p-values of the F-tests of all parts but the last, which is the seed's."""
    from scipy.special import fdtrc

    if shares[-1] == 0:
        # If seeds have no spread, nothing is known about chance.
        return [1.0] * (len(shares) - 1)
    ratios = (shares[:-1] / degrees[:-1]) / (shares[-1] / degrees[-1])
    return adjusted_p_values(fdtrc(degrees[:-1], degrees[-1], ratios)).tolist()


def _subsets(axes: int) -> Iterator[tuple[int, ...]]:
    """Return all subsets, single options first, all together last."""
    for size in range(1, axes + 1):
        yield from itertools.combinations(range(axes), size)


def _effect(
    cells: Float[np.ndarray, "*levels 1"], chosen: tuple[int, ...]
) -> Float[np.ndarray, "*kept 1"]:
    """Return the effect of the options of these axes, averaged over the others."""
    for axis in range(cells.ndim - 1):
        mean = cells.mean(axis=axis, keepdims=True)
        cells = cells - mean if axis in chosen else mean
    return cells


def _in_words(options: dict[str, str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in options.items())
