"""Every layer of a transformer contains the belief about the states of `mess3`, linearly."""

import dataclasses
import functools
import math
from types import MappingProxyType

from attnlab.inspection.belief_probes import ProbeSetup, SiteProbe, prepare_probes, probe_sites
from attnlab.known_results.entry import Check, KnownResult
from attnlab.models import AbstractModel, TransformerOptions
from attnlab.training.experiment import Experiment, Setup
from attnlab.training.presets import PRESETS

SHAI = "Shai et al. (2024), “Transformers represent belief state geometry in their residual stream”"
REPLICATION = "The published numbers are those of a public replication of the paper."
_LABEL = "mess3"


def with_four_layers(preset: str, steps: int) -> Experiment:
    """Return the preset's experiment with the published transformer and this number of steps."""
    start = PRESETS[preset].experiment
    published = TransformerOptions(layers=4, heads=1, d_attn=8, d_model=64, mlp_width=256)
    return dataclasses.replace(
        start,
        model=published,
        training=dataclasses.replace(start.training, steps=steps),
    )


# The measures of a run share its probes. They hold some megabytes.
@functools.lru_cache(maxsize=1)
def probes_of(experiment: Experiment) -> ProbeSetup:
    """Prepare the probes of an experiment once."""
    return prepare_probes(experiment)


def probed_layers(model: AbstractModel, setup: Setup) -> list[SiteProbe]:
    """Return a linear probe of the belief after each layer."""
    found = probe_sites(probes_of(setup.experiment), model)
    return [each for each in found if each.site.startswith("mlp")]


_EXPERIMENT = with_four_layers("mess3-belief", steps=1_200)


def lowest_r2(model: AbstractModel, setup: Setup) -> float:
    """Return the lowest R² among the layers."""
    return min(each.trained.score.r2 for each in probed_layers(model, setup))


RESULT = KnownResult(
    name="belief-mess3",
    title="A fractal of beliefs in every layer",
    claim="A linear map of the activations gives the belief about the hidden states of `mess3`, "
    "in every layer.",
    source=SHAI,
    settings=MappingProxyType({_LABEL: _EXPERIMENT}),
    checks=(
        Check(
            "R² of the belief, in the layer where it is lowest, is at least 0.978.",
            _LABEL,
            "lowest R²",
            least=0.978,
            most=1.0,
            published=0.988,
        ),
        Check("The loss is at most 0.005 nats above the floor.", _LABEL, "excess", most=0.005),
    ),
    metrics=MappingProxyType({"lowest R²": lowest_r2}),
    bounds=MappingProxyType({"lowest R²": (-math.inf, 1.0)}),
    differs=f"{REPLICATION} Training is shorter here: 1,200 steps of 128 sequences.",
    tuned_on=(0, 1, 2, 3, 4),
)
