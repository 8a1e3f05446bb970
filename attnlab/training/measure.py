"""A measure: a number of a trained model with its standard error, by name."""

import dataclasses
import math
from collections.abc import Callable

from attnlab.configuration.registry import Registry
from attnlab.models import AbstractModel
from attnlab.optimum.sequences import Estimate as Estimate
from attnlab.training.experiment import Experiment, Setup

# The bounds of a share, and of a loss or divergence.
SHARE, NOT_NEGATIVE = (0.0, 1.0), (0.0, math.inf)


@dataclasses.dataclass(frozen=True)
class Measure:
    """A number of a trained model, which every page, command and script can show.

    `register` adds your own. Worker processes import its function by module and name, so define it
    at the top level of a module.

    >>> import jax
    >>> def largest(model, setup):
    ...     return max(float(abs(weights).max()) for weights in jax.tree.leaves(model))
    >>> Measure("largest_weight", largest, label="largest weight").unit
    ''

    Attributes:
        name: Its name in commands, links and scripts.
        of: Function of the model and `prepare(experiment)` that returns an `Estimate` or a number,
            or None if the measure is not defined for the experiment.
        label: Its name on screen.
        unit: The unit of its values, such as "nats" or "%", or "".
        summary: What it is, in one sentence.
        needs: What an experiment must have for it to be defined, or "".
        applies: Whether it is defined for an experiment. It may be True where `of` returns None.
        lower_is_better: Whether a lower number is better.
        bounds: The least and the largest value that it can have.
    """

    name: str
    of: Callable[..., Estimate | float | None]
    label: str
    unit: str = ""
    summary: str = ""
    needs: str = ""
    applies: Callable[[Experiment], bool] = lambda experiment: True
    lower_is_better: bool = False
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def title(self) -> str:
        """The label, with the unit in parentheses."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def estimate(self, model: AbstractModel, setup: Setup) -> Estimate | None:
        """Return the measure of a model, or None if it is not defined or not finite."""
        if not self.applies(setup.experiment) or (found := self.of(model, setup)) is None:
            return None
        estimate = found if isinstance(found, Estimate) else Estimate(float(found))
        return estimate if math.isfinite(estimate.value) else None


# The measures that `register` adds.
OWN_MEASURES: Registry = Registry()
