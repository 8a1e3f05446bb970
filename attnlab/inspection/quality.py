"""How good a model's predictions are over a whole test set, part after part."""

from collections.abc import Iterator
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from attnlab.inspection.calibration import Calibration, calibration
from attnlab.inspection.likelihood_ratio import LikelihoodRatioTest, likelihood_ratio_test
from attnlab.inspection.predictions import confusion, final_probs
from attnlab.inspection.transitions import Transitions, transitions
from attnlab.models import AbstractModel
from attnlab.optimum.sampled import predictives
from attnlab.training.evaluation import EvaluationByPosition, evaluate_by_position
from attnlab.training.experiment import Experiment
from attnlab.training.sources import as_examples

_BINS = 10


class Quality(NamedTuple):
    """Confusion and calibration over test sequences, and the model beside the true distribution.

    `by_position` are the figures of every token that was trained on, from those before it; None
    where only the final one was. `transitions` and `test` are None until they are worked out.
    """

    counts: Int[np.ndarray, "observed predicted"]
    reliable: Calibration
    by_position: EvaluationByPosition | None
    transitions: Transitions | None
    test: LikelihoodRatioTest | None


def quality(
    experiment: Experiment, model: AbstractModel, test: Int[np.ndarray, "sequences positions"]
) -> Iterator[Quality]:
    """What the model's predictions on `test`, whose last tokens are the final ones, are worth."""
    visible, final = test[:, :-1], test[:, -1]
    probs = final_probs(model, visible, experiment.training.readout)
    examples = as_examples(jnp.asarray(test), given=experiment.generator.given())
    every_position = experiment.training.loss == "next"
    found = Quality(
        counts=confusion(probs, final),
        reliable=calibration(probs, final, _BINS, experiment.seed),
        by_position=evaluate_by_position(model, examples) if every_position else None,
        transitions=None,
        test=None,
    )
    yield found
    true = predictives(experiment.generator, visible)[:, -1]
    yield found._replace(
        transitions=transitions(visible[:, -1], true, probs),
        test=likelihood_ratio_test(true, probs, final, seed=experiment.seed),
    )
