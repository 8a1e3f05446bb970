"""The measures of a trained model, by name.

Each is a function of the model and of `prepare(experiment)` of the experiment that it was trained
in. It returns None where it is not defined.
"""

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Float

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.configuration.options import OptionError, present
from attnlab.configuration.registry import Registry
from attnlab.generators import InContextMarkov, as_task, is_task, loss_mask_of, sample
from attnlab.inspection.belief_gap import divergence
from attnlab.inspection.belief_probes import (
    ProbeSetup,
    check_can_probe,
    prepare_probes,
    probe_all_sites,
    probe_sites,
)
from attnlab.inspection.dispersion import DISPERSION
from attnlab.inspection.essential_parts import (
    has_essential_parts,
    with_mean_mlp,
    with_mean_patterns,
)
from attnlab.inspection.factors import FACTORS
from attnlab.inspection.head_scores import head_scores
from attnlab.inspection.lengths import check_length, loss_at_length
from attnlab.inspection.mechanisms import MECHANISMS
from attnlab.inspection.predictions import check_predicts_all, probs_by_query
from attnlab.inspection.probes import Score, activations
from attnlab.inspection.referee import EXPLAINS, explains_named
from attnlab.inspection.targets import check_targets
from attnlab.models import AbstractModel, TransformerOptions
from attnlab.models.sites import site_title
from attnlab.optimum import FEW_BELIEFS, optimum
from attnlab.optimum.sequences import mean_and_error, predictives
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import Experiment, Setup, abstract_state, draw_data
from attnlab.training.loop import evaluate_setup
from attnlab.training.measure import NOT_NEGATIVE, OWN_MEASURES, SHARE, Estimate, Measure
from attnlab.training.shares import learned_share

# Sequences of the training set that are measured.
MOST_TRAINING_SEQUENCES = 1_000
_NEW_SEQUENCES = 500
# Keeps sequences of new tables apart from a run's own draws, and from those of other measures.
_DRAW = 6


def accuracy(model: AbstractModel, setup: Setup) -> Estimate:
    """Return the share of correct predictions on the test set."""
    found = evaluate_setup(model, setup)
    return Estimate(found.accuracy, found.accuracy_stderr)


def nll(model: AbstractModel, setup: Setup) -> Estimate:
    """Return the test loss."""
    found = evaluate_setup(model, setup)
    return Estimate(found.nll, found.nll_stderr)


def excess(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return test loss minus that of exact predictions of the same sequences."""
    found = evaluate_setup(model, setup)
    if found.excess is None or found.excess_stderr is None:
        return None
    return Estimate(found.excess, found.excess_stderr)


def mean_nll(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the mean test loss over all positions in the loss."""
    found = evaluate_setup(model, setup, by_position=True).by_position
    return None if found is None else Estimate(found.mean, found.mean_stderr)


def learned(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the share of what can be learned: 0 is a uniform guess, 1 the best possible."""
    process = setup.experiment.generator
    floor = optimum(process, setup.experiment.length, FEW_BELIEFS).final
    found = learned_share(evaluate_setup(model, setup), floor, process.vocabulary.size)
    return None if found is None else Estimate(*found)


def learned_with_mean_patterns(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the share learned if every head has its mean pattern in all sequences."""
    return learned(with_mean_patterns(model, setup), setup)


def learned_with_mean_mlp(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the share learned if the MLP adds the same in all sequences: its mean."""
    return learned(with_mean_mlp(model, setup), setup)


def exact_match(model: AbstractModel, setup: Setup) -> Estimate:
    """Return the share of targets written without a mistake."""
    return check_targets(as_task(setup.experiment.generator), model, setup.test).exact_match


def training_accuracy(model: AbstractModel, setup: Setup) -> Estimate:
    """Return the share of correct predictions on at most 1,000 training sequences."""
    experiment = setup.experiment
    rows = jnp.asarray(draw_data(experiment).train_set[:MOST_TRAINING_SEQUENCES])
    mask = loss_mask_of(experiment.generator, rows)
    found = evaluate(model, rows, readout=experiment.training.readout, loss_mask=mask)
    # The whole set is no sample.
    is_sample = experiment.training.train_size > MOST_TRAINING_SEQUENCES
    return Estimate(found.accuracy, found.accuracy_stderr if is_sample else 0.0)


def prefix_match(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the largest share of a head's attention after earlier copies of the token."""
    return _largest_share("prefix_match", model, setup)


def previous_token(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the largest share of a head's attention on the token before the query."""
    return _largest_share("previous_token", model, setup)


def _largest_share(name: str, model: AbstractModel, setup: Setup) -> Estimate | None:
    heads = head_scores(setup.experiment.generator, model, np.asarray(setup.test))
    shares = [Estimate(getattr(each, name), getattr(each, f"{name}_stderr")) for each in heads]
    return max((share for share in shares if math.isfinite(share.value)), default=None)


def belief_r2(model: AbstractModel, setup: Setup, site: str | None = None) -> Estimate | None:
    """Return how well a linear probe of the last site reads off the exact belief.

    This is R² on sequences that the probe was not fitted to. `site` is another site than the last
    one, from `model.sites`. R² is not defined for a process without hidden states, and for a model
    that has no such site or sees later tokens.
    """
    if (probes := _probes_of(setup.experiment)) is None:
        return None
    if (site := site or model.sites[-1]) not in model.sites:
        return None
    rows = (activations(model, part.sequences, [site])[site] for part in probes[:2])
    return _as_estimate(probes.probe(*rows).score)


def untrained_belief_r2(
    model: AbstractModel, setup: Setup, site: str | None = None
) -> Estimate | None:
    """Return the same before training, the control of `belief_r2`."""
    if (probes := _probes_of(setup.experiment)) is None:
        return None
    site = site or model.sites[-1]
    return _as_estimate(probes.untrained[site]) if site in model.sites else None


def lowest_belief_r2(model: AbstractModel, setup: Setup) -> float | None:
    """Return R² of the belief after the layer in which it is lowest."""
    return min(_r2_of_layers(model, setup), default=None)


def belief_r2_rise(model: AbstractModel, setup: Setup) -> float | None:
    """Return R² of the belief after the last layer minus R² after the first."""
    found = _r2_of_layers(model, setup)
    return found[-1] - found[0] if found else None


def belief_r2_of_all_sites(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return how well a linear probe of all sites reads off the exact belief."""
    probes = _probes_of(setup.experiment)
    return None if probes is None else _as_estimate(probe_all_sites(probes, model).score)


def _r2_of_layers(model: AbstractModel, setup: Setup) -> list[float]:
    """Return R² of the belief after every layer, without those where it is not defined."""
    if (probes := _probes_of(setup.experiment)) is None:
        return []
    found = [each.trained.score.r2 for each in probe_sites(probes, model) if "mlp" in each.site]
    return [r2 for r2 in found if not math.isnan(r2)]


def _as_estimate(score: Score) -> Estimate | None:
    return None if math.isnan(score.r2) else Estimate(score.r2, score.stderr)


# Measures of a run share its probes. They hold some megabytes.
@functools.lru_cache(maxsize=1)
def _probes_of(experiment: Experiment) -> ProbeSetup | None:
    return prepare_probes(experiment) if _can_probe(experiment) else None


def excess_at_double_length(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return loss minus that of exact predictions, over the later half of longer sequences.

    The sequences are twice as long as in training, and the mean is over the tokens after the
    trained length. It is not defined for a model that fails `check_length` at that length.
    """
    return _excess(2, model, setup)


def excess_at_fourfold_length(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the same at four times the trained length."""
    return _excess(4, model, setup)


def excess_rise_at_fourfold_length(model: AbstractModel, setup: Setup) -> float | None:
    """Return the loss above the floor after the trained length, minus that up to it.

    The later tokens are those of sequences four times as long. Both are relative to the exact
    predictions of the same tokens, so that the randomness of the tokens cancels.
    """
    own, longer = (_excess(times, model, setup) for times in (1, 4))
    return None if own is None or longer is None else longer.value - own.value


def _excess(times: int, model: AbstractModel, setup: Setup) -> Estimate | None:
    experiment = setup.experiment
    length = times * experiment.length
    try:
        return loss_at_length(experiment, model, np.asarray(setup.test), length).excess
    except OptionError:
        return None


def retrieval_kl(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return KL(retrieval ‖ model) in nats, the mean over the tokens of sequences of new tables.

    It is small if the model predicts as if only the known tables existed. It is defined for the
    process `in-context-markov` with `known-tables`, and a model that predicts every token.

    References:
        Raventós et al. (2023), "Pretraining task diversity and the emergence of non-Bayesian
        in-context learning for regression", which compares both predictors.
    """
    return _kl_from("known-tables", model, setup)


def inference_kl(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return KL(inference ‖ model), as `retrieval_kl` does.

    It is small if the model reads a new table off the sequence.
    """
    return _kl_from("dirichlet", model, setup)


def _kl_from(prior: str, model: AbstractModel, setup: Setup) -> Estimate | None:
    if not _has_known_tables(setup.experiment):
        return None
    sequences, predictions = _new_tables(setup.experiment)
    each = divergence(predictions[prior], probs_by_query(model, sequences))
    return Estimate(float(each.mean()), mean_and_error(each.mean(axis=1)).stderr)


# Both measures of a run share them. They hold a few megabytes.
@functools.lru_cache(maxsize=1)
@fixed_numerics()
def _new_tables(
    experiment: Experiment,
) -> tuple[np.ndarray, dict[str, Float[np.ndarray, "sequences query vocab"]]]:
    """Return sequences of new tables, and the exact predictions for both priors of the tables.

    The new tables are drawn from the Dirichlet prior, for which `inference` is exact; `retrieval`
    is exact for the known tables.
    """
    process: Any = experiment.generator
    # A stationary first token has no exact prediction for more than two tokens.
    new = dataclasses.replace(process, prior="dirichlet", first_token="uniform")
    key = jr.fold_in(key_of(experiment.seed), _DRAW)
    sequences = np.asarray(sample(new, key=key, size=_NEW_SEQUENCES, length=experiment.length))
    return sequences, {each.prior: predictives(each, sequences)[:, 1:] for each in (process, new)}


def _passes(check: Callable[..., None], *arguments: Any) -> bool:
    try:
        check(*arguments)
    except OptionError:
        return False
    return True


def has_training_set(experiment: Experiment) -> bool:
    """Return whether the data of an experiment are fixed."""
    return experiment.training.data == "fixed"


def _can_probe(experiment: Experiment) -> bool:
    return _passes(check_can_probe, experiment)


def _can_lengthen(times: int, experiment: Experiment) -> bool:
    return _passes(check_length, experiment, times * experiment.length)


def _has_layers_to_probe(experiment: Experiment) -> bool:
    model = experiment.model
    has_layers = isinstance(model, TransformerOptions) and model.mlp_width > 0
    return has_layers and _can_probe(experiment)


def _has_known_tables(experiment: Experiment) -> bool:
    process = experiment.generator
    is_known = isinstance(process, InContextMarkov) and process.prior == "known-tables"
    return is_known and _passes(check_predicts_all, experiment)


# What some measures need, in words and as a condition.
_EVERYWHERE = {
    "needs": "a model that predicts at every position",
    "applies": lambda experiment: experiment.model.every_position,
}
_SELF_ATTENTION = _EVERYWHERE | {"needs": "self-attention that predicts at every position"}
_TASK = {"needs": "a task", "applies": lambda experiment: is_task(experiment.generator)}
_FIXED = {"needs": "fixed data", "applies": has_training_set}
_BELIEFS = {
    "needs": "a process with hidden states and a causal model whose activations can be read",
    "applies": _can_probe,
    "bounds": (-math.inf, 1.0),
}
_LAYERS = {
    "needs": "a process with hidden states and a causal transformer with MLPs",
    "applies": _has_layers_to_probe,
}
_LENGTHS = {
    "needs": "a causal model with the loss `next`, and positions that are not `learned`",
    "lower_is_better": True,
}
_PARTS = {
    "needs": "a transformer of one layer with an MLP, not `post`, and the loss of one token",
    "applies": has_essential_parts,
}
_TABLES = {
    "needs": "`in-context-markov` with `known-tables`, and a causal model with the loss `next`",
    "applies": _has_known_tables,
    "bounds": NOT_NEGATIVE,
    "lower_is_better": True,
}
_LOSS = {"bounds": NOT_NEGATIVE, "lower_is_better": True}


def _measure(
    of: Callable[..., Estimate | float | None], label: str, unit: str = "", **more: Any
) -> Measure:
    """Return the measure of a function; the summary is by default that of its docstring."""
    first_line, *_ = (of.__doc__ or "").splitlines()
    summary = first_line.removeprefix("Return ").removesuffix(".")
    fields: dict[str, Any] = {"summary": summary, **more}
    return Measure(of.__name__, of, label, unit, **fields)


# Shares learned without what a part reads off the tokens.
ESSENTIAL_PARTS = ("learned_with_mean_patterns", "learned_with_mean_mlp")
MEASURES: Registry = Registry(
    (
        _measure(accuracy, "accuracy", bounds=SHARE),
        _measure(nll, "loss", "nats", **_LOSS),
        _measure(
            excess,
            "loss above the floor",
            "nats",
            needs="a process whose exact predictions are known",
            lower_is_better=True,
        ),
        _measure(mean_nll, "mean loss", "nats", **_LOSS, **_EVERYWHERE),
        _measure(learned, "share learned"),
        _measure(learned_with_mean_patterns, "share learned with mean patterns", **_PARTS),
        _measure(learned_with_mean_mlp, "share learned with the mean MLP", **_PARTS),
        _measure(exact_match, "exact match", bounds=SHARE, **_TASK),
        _measure(training_accuracy, "accuracy on the training set", bounds=SHARE, **_FIXED),
        _measure(
            belief_r2,
            "R² of the belief",
            **_BELIEFS,
        ),
        _measure(
            untrained_belief_r2,
            "R² of the belief before training",
            **_BELIEFS,
        ),
        _measure(lowest_belief_r2, "lowest R² of the belief", **_BELIEFS | _LAYERS),
        _measure(
            belief_r2_rise,
            "R² of the belief, last minus first layer",
            summary="how much of the belief is only in later layers",
            **_LAYERS,
        ),
        _measure(belief_r2_of_all_sites, "R² of the belief, all sites together", **_BELIEFS),
        _measure(prefix_match, "prefix match", bounds=SHARE, **_SELF_ATTENTION),
        _measure(
            previous_token, "attention to the previous token", bounds=SHARE, **_SELF_ATTENTION
        ),
        _measure(
            excess_at_double_length,
            "loss above the floor at twice the length",
            "nats",
            applies=partial(_can_lengthen, 2),
            **_LENGTHS,
        ),
        _measure(
            excess_at_fourfold_length,
            "loss above the floor at four times the length",
            "nats",
            applies=partial(_can_lengthen, 4),
            **_LENGTHS,
        ),
        _measure(
            excess_rise_at_fourfold_length,
            "rise of the loss above the floor at four times the length",
            "nats",
            applies=partial(_can_lengthen, 4),
            **_LENGTHS,
        ),
        _measure(
            retrieval_kl,
            "KL from retrieval, on new tables",
            "nats",
            summary="small if the model predicts as if only the known tables existed",
            **_TABLES,
        ),
        _measure(
            inference_kl,
            "KL from inference, on new tables",
            "nats",
            summary="small if the model reads a new table off the sequence",
            **_TABLES,
        ),
        *MECHANISMS,
        *DISPERSION,
        *FACTORS,
        *EXPLAINS,
    ),
    parts=(OWN_MEASURES,),
)
# Measures of one site, by default the last one.
_OF_SITES = ("belief_r2", "untrained_belief_r2")


def measure_of(name: str) -> Measure | None:
    """Return a measure by its name, or None if there is none of that name.

    The names are those of `MEASURES`, and `belief_r2:SITE` and `untrained_belief_r2:SITE` for the
    R² at another site than the last one. That is not defined for a model without the site. Measures
    `explains_METHOD` have the further forms `explains_METHOD:PART`, with a part of `referee.PARTS`.

    >>> measure_of("belief_r2:mlp.0").label
    'R² of the belief, MLP 1'
    """
    base, _, site = name.partition(":")
    if (of_method := explains_named(name)) is not None:
        return of_method
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
    of_process = [f"{name}:process" for name in names if name.startswith("explains_")]
    return (*names, *(f"{base}:{site}" for base in _OF_SITES for site in sites), *of_process)


def measure_label(name: str) -> str:
    """Return the name on screen of a measure, or the name itself of any other metric."""
    return name if (found := measure_of(name)) is None else found.title


def estimates_of(model: AbstractModel, setup: Setup, names: Iterable[str]) -> dict[str, Estimate]:
    """Return the named measures of a model, without those that are not defined for it."""
    found = ((name, present(measure_of(name)).estimate(model, setup)) for name in names)
    return {name: estimate for name, estimate in found if estimate is not None}
