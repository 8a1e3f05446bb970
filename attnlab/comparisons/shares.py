"""How much of the spread of a figure is due to each option, to their interplay and to the seed."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from attnlab.comparisons.holm import adjusted_p_values
from attnlab.comparisons.records import differing_options
from attnlab.comparisons.summary import Row, figures_of
from attnlab.configuration.options import OptionError

_MOST_OPTIONS = 8
_FEWEST_SEEDS = 2
_NOT_FULL = "the grid is not full"


@dataclasses.dataclass(frozen=True)
class Share:
    """The share of the variance that is due to some options: to one, or to several together.

    That of several is what their combination adds to the sum of what fewer of them do. Without
    any it is the seed's: the spread among runs of one setting. `degrees` are those of freedom;
    where no option had an effect a share would be about `by_chance`, its part of all degrees.
    `adjusted_p` is the probability of an effect as large if there were none, by the F-test against
    the seed's spread, corrected by Holm for all effects; 1 for the seed itself.
    """

    options: tuple[str, ...]
    share: float
    degrees: int
    by_chance: float
    adjusted_p: float = 1.0


def shares_of(rows: Sequence[Row], figure: str = "nll") -> tuple[Share, ...]:
    """`variance_shares` of a figure over all combinations of the options that differ.

    Refused, with an `OptionError`: rows that are not a full grid, each combination once and with
    the same number of finished runs; fewer than 2 of them; what `figures_of` refuses.
    """
    names = differing_options(rows)
    if not names:
        raise OptionError("settings", len(rows), "nothing differs between them", "Vary an option")
    if len(names) > _MOST_OPTIONS:
        problem = "more options differ than can be told apart"
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
        raise OptionError("settings", len(rows), problem, "Leave out those that are twice there")
    most = max(map(len, cells.values()))
    for cell, figures in cells.items():
        if len(figures) != most:
            problem = (
                f"so many runs of {_in_words(dict(zip(names, cell, strict=True)))} are finished, "
                f"and {most} of another setting, so {_NOT_FULL}"
            )
            raise OptionError("seeds", len(figures), problem, "Run every setting as often")
    counts = tuple(map(len, levels))
    ordered = np.array([cells[cell] for cell in itertools.product(*levels)])
    return variance_shares(ordered.reshape(*counts, most), names)


def variance_shares(
    values: Float[np.ndarray, "*levels seeds"], names: Sequence[str]
) -> tuple[Share, ...]:
    """The sums of squares of a balanced factorial design, as shares of the total; they sum to 1.

    `values` has an axis for each of the `names` and one for the seeds. The effect of a set of
    options is the table of means over all else, less every effect of fewer of them; its sum of
    squares is that over all runs. What is left within cells is the seed's. All are orthogonal
    (Fisher 1935, "The design of experiments"; Montgomery, "Design and analysis of experiments",
    chapter 5). Seeds count as repetitions: what a seed has in common over settings, such as an
    easy test set, is the seed's as well. Shares are exact for these runs; others would differ.

    Refused, with an `OptionError`: a single seed, whose share cannot be told from that of all
    options together, and values that are all the same.
    """
    seeds, total = values.shape[-1], values.size
    if seeds < _FEWEST_SEEDS:
        problem = "the share of the seed cannot be told from one run of a setting"
        raise OptionError("seeds", seeds, problem, f"Choose {_FEWEST_SEEDS} or more")
    if np.ptp(values) == 0:
        problem = "the same in all runs, so that there is no spread"
        raise OptionError("figure", float(values.flat[0]), problem, "Choose another figure")
    # Less one of them, lest what is common to all takes the digits of what differs.
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
        # Of seeds without any spread nothing is known of chance.
        return [1.0] * (len(shares) - 1)
    ratios = (shares[:-1] / degrees[:-1]) / (shares[-1] / degrees[-1])
    return adjusted_p_values(fdtrc(degrees[:-1], degrees[-1], ratios)).tolist()


def _subsets(axes: int) -> Iterator[tuple[int, ...]]:
    """Single ones first, all together last."""
    for size in range(1, axes + 1):
        yield from itertools.combinations(range(axes), size)


def _effect(
    cells: Float[np.ndarray, "*levels 1"], chosen: tuple[int, ...]
) -> Float[np.ndarray, "*kept 1"]:
    """The effect of the options of these axes, the others averaged over."""
    for axis in range(cells.ndim - 1):
        mean = cells.mean(axis=axis, keepdims=True)
        cells = cells - mean if axis in chosen else mean
    return cells


def _in_words(options: dict[str, str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in options.items())
