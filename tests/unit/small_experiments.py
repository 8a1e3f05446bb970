"""Experiments small enough for tests; those of equal shapes share their compiled programs."""

import dataclasses

from attnlab.generators import Cards, Markov
from attnlab.models import (
    AttentionOptions,
    ConvOptions,
    EncoderDecoderOptions,
    GRUOptions,
    LinearOptions,
    LSTMOptions,
    MLPOptions,
    RNNAttentionOptions,
    RNNBottleneckOptions,
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
_WITH_SOURCE = (
    EncoderDecoderOptions(heads=1, d_attn=2, d_model=4, mlp_width=3),
    RNNBottleneckOptions(hidden_size=3),
    RNNAttentionOptions(hidden_size=3, d_attn=2),
)
SMALL_TASK = dataclasses.replace(
    SMALL,
    # 380 hands: those of training, of the test, and those to watch differ.
    generator=Cards(hand=2, suits=2, ranks=10),
    model=_WITH_SOURCE[0],
    training=dataclasses.replace(SMALL.training, loss="next"),
)
# One of every family.
SMALL_MODELS = {
    experiment.model.name: experiment
    for experiment in (
        SMALL, SMALL_LINEAR, SMALL_TRANSFORMER, SMALL_GRU,
        *(dataclasses.replace(SMALL, model=model) for model in _OTHERS),
        *(dataclasses.replace(SMALL_TASK, model=model) for model in _WITH_SOURCE),
    )
}  # fmt: skip


def small(experiment=SMALL, *, seed=0, **training):
    """The experiment with another seed and other options of training."""
    changed = dataclasses.replace(experiment.training, **training)
    return dataclasses.replace(experiment, training=changed, seed=seed)
