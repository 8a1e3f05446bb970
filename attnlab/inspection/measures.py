"""The measures of a trained model, by name."""

import dataclasses
import functools
import math
import re
from collections.abc import Iterable
from functools import partial

import numpy as np

from attnlab.configuration.options import OptionError, present
from attnlab.configuration.registry import Registry
from attnlab.generators import InContextMarkov, is_task
from attnlab.inspection import results
from attnlab.inspection.belief_probes import ProbeSetup, check_can_probe, prepare_probes
from attnlab.inspection.lengths import check_length, loss_at_length
from attnlab.inspection.probes import activations
from attnlab.inspection.retrieval import inference_kl, retrieval_kl
from attnlab.models import AbstractModel
from attnlab.models.sites import site_title
from attnlab.training.experiment import Experiment, Setup, abstract_state
from attnlab.training.measure import NOT_NEGATIVE, OWN_MEASURES, SHARE, Estimate, Measure


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


def _can_probe(experiment: Experiment) -> bool:
    try:
        check_can_probe(experiment)
    except OptionError:
        return False
    return True


def _can_lengthen(times: int, experiment: Experiment) -> bool:
    try:
        check_length(experiment, times * experiment.length)
    except OptionError:
        return False
    return True


def _has_known_tables(experiment: Experiment) -> bool:
    process = experiment.generator
    return isinstance(process, InContextMarkov) and process.prior == "known-tables"


_NEEDS_LENGTHS = "a causal model with the loss `next`, and positions that are not `learned`"
_NEEDS_TABLES = "`in-context-markov` with `known-tables`, and a causal model with the loss `next`"
_NEEDS_BELIEFS = "a process with hidden states and a causal model whose activations can be read"
MEASURES: Registry = Registry(
    (
        Measure(
            "accuracy",
            results.accuracy,
            label="accuracy",
            bounds=SHARE,
            summary="share of correct predictions on the test set",
        ),
        Measure(
            "nll",
            results.nll,
            label="loss",
            bounds=NOT_NEGATIVE,
            unit="nats",
            summary="test loss",
            lower_is_better=True,
        ),
        Measure(
            "mean_nll",
            results.mean_nll,
            label="mean loss",
            bounds=NOT_NEGATIVE,
            unit="nats",
            summary="mean test loss over all positions in the loss",
            needs="a model that predicts at every position",
            applies=results.predicts_everywhere,
            lower_is_better=True,
        ),
        Measure(
            "learned",
            results.learned,
            label="share learned",
            summary="share of what can be learned: 0 is a uniform guess, 1 the best possible",
        ),
        Measure(
            "exact_match",
            results.exact_match,
            label="exact match",
            bounds=SHARE,
            summary="share of targets written without a mistake",
            needs="a task",
            applies=lambda experiment: is_task(experiment.generator),
        ),
        Measure(
            "training_accuracy",
            results.training_accuracy,
            label="accuracy on the training set",
            bounds=SHARE,
            summary="share of correct predictions on at most 1,000 training sequences",
            needs="fixed data",
            applies=results.has_training_set,
        ),
        Measure(
            "belief_r2",
            belief_r2,
            label="R² of the belief",
            summary="how well a linear probe of the last site reads off the exact belief",
            needs=_NEEDS_BELIEFS,
            applies=_can_probe,
        ),
        Measure(
            "untrained_belief_r2",
            untrained_belief_r2,
            label="R² of the belief before training",
            summary="the same before training, the control of `belief_r2`",
            needs=_NEEDS_BELIEFS,
            applies=_can_probe,
        ),
        Measure(
            "prefix_match",
            results.prefix_match,
            label="prefix match",
            bounds=SHARE,
            summary="the largest share of a head's attention after earlier copies of the token",
            needs="self-attention that predicts at every position",
            applies=results.predicts_everywhere,
        ),
        Measure(
            "previous_token",
            results.previous_token,
            label="attention to the previous token",
            bounds=SHARE,
            summary="the largest share of a head's attention on the token before the query",
            needs="self-attention that predicts at every position",
            applies=results.predicts_everywhere,
        ),
        Measure(
            "excess_at_double_length",
            excess_at_double_length,
            label="loss above the floor at twice the length",
            unit="nats",
            summary="loss minus that of exact predictions, over the later half of longer sequences",
            needs=_NEEDS_LENGTHS,
            applies=partial(_can_lengthen, 2),
            lower_is_better=True,
        ),
        Measure(
            "excess_at_fourfold_length",
            excess_at_fourfold_length,
            label="loss above the floor at four times the length",
            unit="nats",
            summary="the same at four times the trained length",
            needs=_NEEDS_LENGTHS,
            applies=partial(_can_lengthen, 4),
            lower_is_better=True,
        ),
        Measure(
            "retrieval_kl",
            retrieval_kl,
            label="KL from retrieval, on new tables",
            bounds=NOT_NEGATIVE,
            unit="nats",
            summary="small if the model predicts as if only the known tables existed",
            needs=_NEEDS_TABLES,
            applies=_has_known_tables,
            lower_is_better=True,
        ),
        Measure(
            "inference_kl",
            inference_kl,
            label="KL from inference, on new tables",
            bounds=NOT_NEGATIVE,
            unit="nats",
            summary="small if the model reads a new table off the sequence",
            needs=_NEEDS_TABLES,
            applies=_has_known_tables,
            lower_is_better=True,
        ),
    ),
    parts=(OWN_MEASURES,),
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
    return dataclasses.replace(
        found,
        name=name,
        of=partial(found.of, site=site),
        label=f"{found.label}, {site_title(site)}",
        needs=f"a process with hidden states and a causal model with the site `{site}`",
    )


def measures_for(experiments: Iterable[Experiment]) -> tuple[str, ...]:
    """Return the measures that some experiment has, with R² at each site that can be probed."""
    known, sites = dict.fromkeys(experiments), {}
    for experiment in known:
        if _can_probe(experiment):
            sites |= dict.fromkeys(abstract_state(experiment).model.sites)
    names = [name for name, measure in MEASURES.items() if any(map(measure.applies, known))]
    return (*names, *(f"{base}:{site}" for base in _OF_SITES for site in sites))


def measure_label(name: str) -> str:
    """Return the name on screen of a measure, or the name itself of any other metric."""
    return name if (found := measure_of(name)) is None else found.title


def estimates_of(model: AbstractModel, setup: Setup, names: Iterable[str]) -> dict[str, Estimate]:
    """Return the named measures of a model, without those that are not defined for it."""
    found = ((name, present(measure_of(name)).estimate(model, setup)) for name in names)
    return {name: estimate for name, estimate in found if estimate is not None}
