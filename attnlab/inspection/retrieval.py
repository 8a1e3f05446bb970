"""Whether a model retrieves the tables that it was trained on, or infers new ones."""

import dataclasses
import functools
from typing import NamedTuple

import jax.random as jr
import numpy as np
from jaxtyping import Float, Int

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.configuration.options import OptionError
from attnlab.generators import InContextMarkov, sample
from attnlab.inspection.belief_gap import divergence
from attnlab.inspection.predictions import check_predicts_all, probs_by_query
from attnlab.models import AbstractModel
from attnlab.optimum.sequences import predictives
from attnlab.training.experiment import Experiment, Setup

_SEQUENCES = 500
# Keeps these sequences apart from a run's own draws, and from those of other measures.
_DRAW = 6


class NewTables(NamedTuple):
    """Sequences of new tables, and the predictions of two predictors at every query.

    `retrieval` is the exact prediction for the known tables, and `inference` that for the Dirichlet
    prior, from which the new tables are drawn.
    """

    sequences: Int[np.ndarray, "sequences length"]
    retrieval: Float[np.ndarray, "sequences query vocab"]
    inference: Float[np.ndarray, "sequences query vocab"]


def retrieval_kl(model: AbstractModel, setup: Setup) -> float | None:
    """Return KL(retrieval ‖ model) in nats, the mean over the tokens of sequences of new tables.

    It is small if the model predicts as if only the known tables existed.

    Args:
        model: The model.
        setup: `prepare(experiment)` of the experiment that it was trained in.

    Returns:
        The divergence; None unless the process is `in-context-markov` with `known-tables` and the
        model predicts every token.

    References:
        Raventós et al. (2023), "Pretraining task diversity and the emergence of non-Bayesian
        in-context learning for regression", which compares both predictors.
    """
    if (tables := _new_tables(setup.experiment)) is None:
        return None
    return _mean_kl(tables.retrieval, tables, model)


def inference_kl(model: AbstractModel, setup: Setup) -> float | None:
    """Return KL(inference ‖ model), as `retrieval_kl` does.

    It is small if the model reads a new table off the sequence.
    """
    if (tables := _new_tables(setup.experiment)) is None:
        return None
    return _mean_kl(tables.inference, tables, model)


def _mean_kl(
    reference: Float[np.ndarray, "sequences query vocab"], tables: NewTables, model: AbstractModel
) -> float:
    return float(divergence(reference, probs_by_query(model, tables.sequences)).mean())


# Both measures of a run share them. They hold a few megabytes.
@functools.lru_cache(maxsize=1)
@fixed_numerics()
def _new_tables(experiment: Experiment) -> NewTables | None:
    process, length = experiment.generator, experiment.length
    if not isinstance(process, InContextMarkov) or process.prior != "known-tables":
        return None
    try:
        check_predicts_all(experiment)
    except OptionError:
        return None
    # A stationary first token has no exact prediction for more than two tokens.
    new = dataclasses.replace(process, prior="dirichlet", first_token="uniform")
    key = jr.fold_in(key_of(experiment.seed), _DRAW)
    sequences = np.asarray(sample(new, key=key, size=_SEQUENCES, length=length))
    retrieval, inference = (predictives(each, sequences)[:, 1:] for each in (process, new))
    return NewTables(sequences, retrieval, inference)
