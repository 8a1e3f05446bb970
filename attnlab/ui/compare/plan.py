"""The comparison that the controls describe, checked before it is begun."""

import dataclasses
import math

from attnlab.comparisons.grid import PRESET, Grid, Setting, experiments_of, settings_of
from attnlab.configuration.options import OptionError
from attnlab.training.experiment import Experiment
from attnlab.training.limits import Limits, check_comparison

# More would make the page slow; the command line has no such bound.
_MOST_RUNS = 2_000


@dataclasses.dataclass(frozen=True)
class Plan:
    """A grid, its settings, and the runs of all of them in the order of their coming."""

    grid: Grid
    settings: tuple[Setting, ...]
    experiments: tuple[Experiment, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The varied options: those with more than one value."""
        return tuple(name for name, texts in self.grid.options if len(texts) > 1)


def plan_of(grid: Grid, limits: Limits) -> Plan:
    """The plan of a grid. Refused, with an `OptionError`: what a grid or the limits refuse.

    A setting that cannot be trained is none of these: it is a row with its reason.
    """
    settings = math.prod(len(texts) for _, texts in grid.options)
    if settings * grid.seeds > _MOST_RUNS:
        problem = f"more than the {_MOST_RUNS:,} that this page compares"
        remedy = "Choose fewer values or seeds, or use `python -m attnlab compare`"
        raise OptionError("runs", settings * grid.seeds, problem, remedy)
    found = settings_of(grid)
    possible = [setting.experiment for setting in found if setting.experiment is not None]
    if not possible:
        raise OptionError(
            grid.options[0][0],
            ", ".join(grid.options[0][1]),
            "none of these settings can be trained",
            f"The first says: {found[0].problem}",
        )
    check_comparison(possible, limits, seeds=grid.seeds)
    runs = tuple(run for setting in found for run in experiments_of(setting, grid))
    return Plan(grid, found, runs)


def has_own_base(grid: Grid) -> bool:
    """Whether the settings of the sidebar have no part in it."""
    return PRESET in dict(grid.options)
