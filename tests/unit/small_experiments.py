"""Experiments small enough for tests; those of equal shapes share their compiled programs."""

import dataclasses

from attnlab.generators import Markov
from attnlab.models import (
    AttentionOptions,
    ConvOptions,
    GRUOptions,
    LinearOptions,
    LSTMOptions,
    MLPOptions,
    RNNOptions,
    SSMOptions,
    TransformerOptions,
)
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training

SMALL = Experiment(
    generator=Markov(),
    length=4,
    model=AttentionOptions(d_attn=2, d_model=2),
    training=Training(batch=20, steps=60, train_size=200, test_size=100),
)
SMALL_LINEAR = dataclasses.replace(SMALL, model=LinearOptions())
SMALL_TRANSFORMER = dataclasses.replace(
    SMALL, model=TransformerOptions(layers=2, heads=2, d_attn=2, d_model=4, mlp_width=3)
)
SMALL_GRU = dataclasses.replace(SMALL, model=GRUOptions(hidden_size=3))
_OTHERS = (
    LSTMOptions(hidden_size=3),
    RNNOptions(hidden_size=3),
    SSMOptions(hidden_size=3, mlp_width=3),
    ConvOptions(layers=2, kernel_size=2, d_model=3),
    MLPOptions(mlp_width=3),
)
# One of every family.
SMALL_MODELS = {
    experiment.model.name: experiment
    for experiment in (
        SMALL, SMALL_LINEAR, SMALL_TRANSFORMER, SMALL_GRU,
        *(dataclasses.replace(SMALL, model=model) for model in _OTHERS),
    )
}  # fmt: skip


def small(experiment=SMALL, *, seed=0, **training):
    """The experiment with another seed and other options of training."""
    changed = dataclasses.replace(experiment.training, **training)
    return dataclasses.replace(experiment, training=changed, seed=seed)
