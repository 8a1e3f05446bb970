"""Test results as measures: loss, accuracy, the share learned, exact match, scores of heads."""

import jax.numpy as jnp
import numpy as np

from attnlab.generators import is_task, loss_mask_of
from attnlab.inspection.head_scores import head_scores
from attnlab.inspection.targets import check_targets
from attnlab.models import AbstractModel
from attnlab.optimum import FEW_BELIEFS, optimum
from attnlab.training.evaluation import Evaluation, evaluate
from attnlab.training.experiment import Experiment, Setup, draw_data
from attnlab.training.measure import Estimate
from attnlab.training.shares import learned_share

# Sequences of the training set that are measured.
MOST_TRAINING_SEQUENCES = 1_000


def evaluation_of(model: AbstractModel, setup: Setup) -> Evaluation:
    """Return the test of a model on the test set of its setup."""
    readout = setup.experiment.training.readout
    return evaluate(
        model, setup.test, readout=readout, loss_mask=setup.loss_mask, exact=setup.exact
    )


def accuracy(model: AbstractModel, setup: Setup) -> Estimate:
    """Return the share of correct predictions on the test set."""
    found = evaluation_of(model, setup)
    return Estimate(found.accuracy, found.accuracy_stderr)


def nll(model: AbstractModel, setup: Setup) -> Estimate:
    """Return the test loss in nats."""
    found = evaluation_of(model, setup)
    return Estimate(found.nll, found.nll_stderr)


def mean_nll(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the mean test loss, in nats, over all positions in the loss."""
    readout = setup.experiment.training.readout
    mask = setup.loss_mask
    found = evaluate(model, setup.test, readout=readout, loss_mask=mask, by_position=True)
    if found.by_position is None:
        return None
    return Estimate(found.by_position.mean, found.by_position.mean_stderr)


def learned(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the share of what can be learned: 0 is a uniform guess, 1 the best possible."""
    experiment = setup.experiment
    floor = optimum(experiment.generator, experiment.length, FEW_BELIEFS).final
    vocab = experiment.generator.vocabulary.size
    found = learned_share(evaluation_of(model, setup), floor, vocab)
    return None if found is None else Estimate(*found)


def exact_match(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the share of test targets that the model writes without a mistake."""
    task = setup.experiment.generator
    if not is_task(task):
        return None
    found = check_targets(task, model, setup.test)
    return Estimate(found.exact_match, found.exact_match_stderr)


def training_accuracy(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the share of correct predictions on at most 1,000 sequences of the training set."""
    experiment = setup.experiment
    if not has_training_set(experiment):
        return None
    rows = jnp.asarray(draw_data(experiment).train_set[:MOST_TRAINING_SEQUENCES])
    mask = loss_mask_of(experiment.generator, rows)
    found = evaluate(model, rows, readout=experiment.training.readout, loss_mask=mask)
    # The whole set is no sample.
    is_sample = experiment.training.train_size > MOST_TRAINING_SEQUENCES
    return Estimate(found.accuracy, found.accuracy_stderr if is_sample else 0.0)


def has_training_set(experiment: Experiment) -> bool:
    """Return whether the data of an experiment are fixed."""
    return experiment.training.data == "fixed"


def predicts_everywhere(experiment: Experiment) -> bool:
    """Return whether the model of an experiment predicts at every position."""
    return experiment.model.every_position


def prefix_match(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the largest `prefix_match` of a head, by which induction heads are recognised."""
    return _strongest(model, setup, "prefix_match")


def previous_token(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the largest share of attention of a head on the token before the query."""
    return _strongest(model, setup, "previous_token")


def _strongest(model: AbstractModel, setup: Setup, score: str) -> Estimate | None:
    if not predicts_everywhere(setup.experiment):
        return None
    heads = head_scores(setup.experiment.generator, model, np.asarray(setup.test))
    shares = [Estimate(getattr(each, score), getattr(each, f"{score}_stderr")) for each in heads]
    defined = [share for share in shares if np.isfinite(share.value)]
    return max(defined, default=None)
