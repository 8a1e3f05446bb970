"""How good a model's predictions are over a whole test set, part after part."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Int, Key

from attnlab.generators import continue_sequence
from attnlab.inspection.predictions import Calibration, calibration, confusion, final_probs
from attnlab.inspection.transitions import TransitionTest, transition_test
from attnlab.models import AbstractModel
from attnlab.models.generation import generate
from attnlab.training.evaluation import EvaluationByPosition, evaluate_by_position
from attnlab.training.experiment import Experiment

_BINS = 10
_CONTINUED = 2_000


class Quality(NamedTuple):
    """Confusion and calibration over test sequences, and next days beside the process's own.

    `by_day` are the figures of every day that was trained on, from those before it; None where
    only the final one was. `transitions` continues the first `continued` test sequences by a day
    each, and is None until that is done.
    """

    counts: Int[np.ndarray, "came predicted"]
    reliable: Calibration
    by_day: EvaluationByPosition | None
    continued: int
    transitions: TransitionTest | None


def quality(
    experiment: Experiment, model: AbstractModel, test: Int[np.ndarray, "sequences days"]
) -> Iterator[Quality]:
    """What the model's predictions on `test`, whose last days are the final ones, are worth."""
    probs = final_probs(model, test[:, :-1], experiment.training.readout)
    visible = test[:_CONTINUED, :-1]
    every_day = experiment.training.loss == "next"
    found = Quality(
        counts=confusion(probs, test[:, -1]),
        reliable=calibration(probs, test[:, -1], _BINS),
        by_day=evaluate_by_position(model, jnp.asarray(test)) if every_day else None,
        continued=len(visible),
        transitions=None,
    )
    yield found
    keys = jr.split(jr.key(experiment.seed), 2 * len(visible))
    process = _process_days(experiment, visible, keys[: len(visible)])
    learned = _model_days(experiment, model, visible, keys[len(visible) :])
    vocab = experiment.generator.vocabulary.size
    yield found._replace(transitions=transition_test(visible[:, -1], process, learned, vocab))


def _process_days(
    experiment: Experiment,
    visible: Int[np.ndarray, "sequences length"],
    keys: Key[Array, " sequences"],
) -> Int[np.ndarray, " sequences"]:
    def one(days, key):
        return continue_sequence(experiment.generator, days, key=key, size=1, days=1)[0, 0]

    return np.asarray(jax.vmap(one)(visible, keys))


def _model_days(
    experiment: Experiment,
    model: AbstractModel,
    visible: Int[np.ndarray, "sequences length"],
    keys: Key[Array, " sequences"],
) -> Int[np.ndarray, " sequences"]:
    def one(days, key):
        readout = experiment.training.readout
        return generate(model, days, readout=readout, days=1, temperature=1.0, key=key)[0]

    return np.asarray(jax.vmap(one)(visible, keys))
