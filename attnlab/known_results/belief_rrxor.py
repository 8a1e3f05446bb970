"""The belief about the states of `rrxor` is spread over the layers of a transformer."""

import math
from types import MappingProxyType

from attnlab.inspection.belief_probes import probe_all_sites
from attnlab.known_results.belief_mess3 import (
    REPLICATION,
    SHAI,
    probed_layers,
    probes_of,
    with_four_layers,
)
from attnlab.known_results.entry import Check, KnownResult
from attnlab.models import AbstractModel
from attnlab.training.experiment import Setup

_LABEL = "rrxor"
_EXPERIMENT = with_four_layers("rrxor-belief", steps=2_000)


def last_layer_r2(model: AbstractModel, setup: Setup) -> float:
    """Return R² of a linear probe of the belief after the last layer."""
    return probed_layers(model, setup)[-1].trained.score.r2


def rise_of_r2(model: AbstractModel, setup: Setup) -> float:
    """Return R² after the last layer minus R² after the first."""
    first, *_, last = probed_layers(model, setup)
    return last.trained.score.r2 - first.trained.score.r2


def r2_of_all(model: AbstractModel, setup: Setup) -> float:
    """Return R² of a linear probe of the activations of all layers together."""
    return probe_all_sites(probes_of(setup.experiment), model).score.r2


RESULT = KnownResult(
    name="belief-rrxor",
    title="Beliefs are spread over several layers",
    claim="On `rrxor` no single layer contains the belief linearly, but all layers together "
    "nearly do.",
    source=SHAI,
    settings=MappingProxyType({_LABEL: _EXPERIMENT}),
    checks=(
        Check(
            "R² of the belief after the last layer is 0.51 to 0.71.",
            _LABEL,
            "R² of the last layer",
            least=0.51,
            most=0.71,
            published=0.61,
        ),
        Check(
            "R² is higher after the last layer than after the first.",
            _LABEL,
            "R², last minus first layer",
            least=0.0,
            published=0.21,
        ),
        Check(
            "R² of all layers together is at least 0.77.",
            _LABEL,
            "R² of all layers",
            least=0.77,
            most=1.0,
            published=0.82,
        ),
    ),
    metrics=MappingProxyType(
        {
            "R² of the last layer": last_layer_r2,
            "R², last minus first layer": rise_of_r2,
            "R² of all layers": r2_of_all,
        }
    ),
    bounds=MappingProxyType(
        dict.fromkeys(("R² of the last layer", "R² of all layers"), (-math.inf, 1.0))
    ),
    differs=f"{REPLICATION} It trained for 50,000 steps, and the runs here for 2,000. "
    "Before training, R² of all layers together is already 0.54 to 0.59.",
    tuned_on=(0, 1, 2, 3, 4),
)
