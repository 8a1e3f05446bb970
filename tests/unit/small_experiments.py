"""Experiments small enough for tests; those of equal shapes share their compiled programs."""

import dataclasses

from attnlab.generators import Markov
from attnlab.models import AttentionOptions, LinearOptions
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training

SMALL = Experiment(
    generator=Markov(),
    length=4,
    model=AttentionOptions(d_attn=2, d_model=2),
    training=Training(batch=20, steps=60, train_size=200, test_size=100),
)
SMALL_LINEAR = dataclasses.replace(SMALL, model=LinearOptions())


def small(experiment=SMALL, *, seed=0, **training):
    """The experiment with another seed and other options of training."""
    changed = dataclasses.replace(experiment.training, **training)
    return dataclasses.replace(experiment, training=changed, seed=seed)
