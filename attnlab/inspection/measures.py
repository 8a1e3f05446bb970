"""Numbers of a trained model by which runs can be compared, besides those that every run has."""

import functools
import math
from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from attnlab.configuration.options import OptionError
from attnlab.inspection.belief_probes import ProbeSetup, check_can_probe, prepare_probes
from attnlab.inspection.lengths import loss_at_length
from attnlab.inspection.probes import activations
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment, Setup


def belief_r2(model: AbstractModel, setup: Setup, site: str | None = None) -> float | None:
    """Return R² of a linear probe of the exact belief, for activations of one site.

    Args:
        model: The model.
        setup: `prepare(experiment)` of the experiment that it was trained in.
        site: A name from `model.sites`, by default the last one.

    Returns:
        R² on sequences that the probe was not fitted to; None if the process has no hidden states,
        or the model has no sites or sees later tokens.

    Raises:
        OptionError: If the model has no such site.

    """
    if (probes := _probes_of(setup.experiment)) is None:
        return None
    site = site or model.sites[-1]
    train, test = (
        activations(model, data.sequences, [site])[site] for data in (probes.train, probes.test)
    )
    return _defined(probes.probe(train, test).score.r2)


def untrained_belief_r2(model: AbstractModel, setup: Setup) -> float | None:
    """Return R² as `belief_r2` does, but before training: the control that it is compared with."""
    if (probes := _probes_of(setup.experiment)) is None:
        return None
    return _defined(probes.untrained[model.sites[-1]].r2)


def excess_at_double_length(model: AbstractModel, setup: Setup) -> float | None:
    """Return the loss above the floor of the later half of sequences of twice the trained length.

    The floor is the loss, in nats, of the exact predictions of the same tokens.

    Args:
        model: The model.
        setup: `prepare(experiment)` of the experiment that it was trained in.

    Returns:
        The mean over the tokens after the trained length, or None if the model cannot be tested at
        that length: see `check_length`.

    """
    experiment = setup.experiment
    try:
        found = loss_at_length(experiment, model, np.asarray(setup.test), 2 * experiment.length)
    except OptionError:
        return None
    return found.excess


# Two measures of a run share its probes. They hold some megabytes.
@functools.lru_cache(maxsize=1)
def _probes_of(experiment: Experiment) -> ProbeSetup | None:
    try:
        check_can_probe(experiment)
    except OptionError:
        return None
    return prepare_probes(experiment)


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


class Measure(NamedTuple):
    """A number of a trained model.

    Attributes:
        of: Function of the model and `prepare(experiment)` that returns the number, or None if it
            is not defined for the experiment.
        label: Its name on screen.
        needs: What it is not defined without.
        lower_is_better: Whether a lower number is better.

    """

    of: Callable[[AbstractModel, Setup], float | None]
    label: str
    needs: str
    lower_is_better: bool = False


_NEEDS = "a process with hidden states and a causal model whose activations can be read"
MEASURES = MappingProxyType(
    {
        "belief_r2": Measure(belief_r2, "R² of the belief", _NEEDS),
        "untrained_belief_r2": Measure(
            untrained_belief_r2, "R² of the belief before training", _NEEDS
        ),
        "excess_at_double_length": Measure(
            excess_at_double_length,
            "loss above the floor at twice the length (nats)",
            "a causal model with the loss `next`, and positions that are not `learned`",
            lower_is_better=True,
        ),
    }
)


def measure_label(name: str) -> str:
    """Return the name on screen of a measure, or the name itself of any other metric."""
    return MEASURES[name].label if name in MEASURES else name
