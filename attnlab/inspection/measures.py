"""Additional measures of a trained model, by which runs can be compared."""

import functools
import math
import re
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from attnlab.configuration.options import OptionError
from attnlab.inspection.belief_probes import ProbeSetup, check_can_probe, prepare_probes
from attnlab.inspection.lengths import loss_at_length
from attnlab.inspection.probes import activations
from attnlab.inspection.retrieval import inference_kl, retrieval_kl
from attnlab.models import AbstractModel
from attnlab.models.sites import site_title
from attnlab.training.experiment import Experiment, Setup, abstract_state


def belief_r2(model: AbstractModel, setup: Setup, site: str | None = None) -> float | None:
    """Return R² of a linear probe of the exact belief, for activations of one site.

    Args:
        model: The model.
        setup: `prepare(experiment)` of the experiment that it was trained in.
        site: A name from `model.sites`, by default the last one.

    Returns:
        R² on sequences that the probe was not fitted to; None if the process has no hidden states,
        or the model has no such site or sees later tokens.

    """
    if (probes := _probes_of(setup.experiment)) is None:
        return None
    if (site := site or model.sites[-1]) not in model.sites:
        return None
    train, test = (
        activations(model, data.sequences, [site])[site] for data in (probes.train, probes.test)
    )
    return _defined(probes.probe(train, test).score.r2)


def untrained_belief_r2(
    model: AbstractModel, setup: Setup, site: str | None = None
) -> float | None:
    """Return R² as `belief_r2` does, but before training: the control that it is compared with."""
    if (probes := _probes_of(setup.experiment)) is None:
        return None
    site = site or model.sites[-1]
    return _defined(probes.untrained[site].r2) if site in model.sites else None


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
    return _excess(model, setup, times=2)


def excess_at_fourfold_length(model: AbstractModel, setup: Setup) -> float | None:
    """Return the loss as `excess_at_double_length` does, at four times the trained length."""
    return _excess(model, setup, times=4)


def _excess(model: AbstractModel, setup: Setup, *, times: int) -> float | None:
    experiment = setup.experiment
    length = times * experiment.length
    try:
        return loss_at_length(experiment, model, np.asarray(setup.test), length).excess
    except OptionError:
        return None


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
        needs: What an experiment must have for it to be defined.
        lower_is_better: Whether a lower number is better.

    """

    of: Callable[..., float | None]
    label: str
    needs: str
    lower_is_better: bool = False


_NEEDS_LENGTHS = "a causal model with the loss `next`, and positions that are not `learned`"
_NEEDS_TABLES = "`in-context-markov` with `known-tables`, and a causal model with the loss `next`"
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
            _NEEDS_LENGTHS,
            lower_is_better=True,
        ),
        "excess_at_fourfold_length": Measure(
            excess_at_fourfold_length,
            "loss above the floor at four times the length (nats)",
            _NEEDS_LENGTHS,
            lower_is_better=True,
        ),
        "retrieval_kl": Measure(
            retrieval_kl,
            "KL from retrieval, on new tables (nats)",
            _NEEDS_TABLES,
            lower_is_better=True,
        ),
        "inference_kl": Measure(
            inference_kl,
            "KL from inference, on new tables (nats)",
            _NEEDS_TABLES,
            lower_is_better=True,
        ),
    }
)


# Measures of one site, by default the last one.
_OF_SITES = ("belief_r2", "untrained_belief_r2")


def measure_of(name: str) -> Measure | None:
    """Return a measure by its name, or None if there is none of that name.

    The names are those of `MEASURES`, and `belief_r2:SITE` and `untrained_belief_r2:SITE` for the
    R² at another site than the last one. That is not defined for a model without the site.

    >>> measure_of("belief_r2:mlp.0").label
    'R² of the belief, MLP 1'
    """
    base, _, site = name.partition(":")
    # A name may come from a link, and its site is shown as Markdown.
    if base not in _OF_SITES or not re.fullmatch(r"[a-z_]+(\.[a-z_]+)?(\.\d+)?", site):
        return MEASURES.get(name)
    found = MEASURES[base]
    return Measure(
        functools.partial(found.of, site=site),
        f"{found.label}, {site_title(site)}",
        f"a process with hidden states and a causal model with the site `{site}`",
    )


def measures_for(experiments: Iterable[Experiment]) -> tuple[str, ...]:
    """Return the names of `MEASURES`, and those of R² at each site of models that can be probed."""
    sites: dict[str, None] = {}
    for experiment in experiments:
        try:
            check_can_probe(experiment)
        except OptionError:
            continue
        sites |= dict.fromkeys(abstract_state(experiment).model.sites)
    return (*MEASURES, *(f"{base}:{site}" for base in _OF_SITES for site in sites))


def measure_label(name: str) -> str:
    """Return the name on screen of a measure, or the name itself of any other metric."""
    return name if (found := measure_of(name)) is None else found.label
