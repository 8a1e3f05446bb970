"""Measures of how attention disperses over more items than in training, on `maximum`."""

import dataclasses
from functools import partial
from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.generators import Maximum, sample
from attnlab.models import AbstractModel, AttentionOptions
from attnlab.models.attention import Attention
from attnlab.optimum.sequences import mean_and_error
from attnlab.training.experiment import Experiment, Setup
from attnlab.training.measure import SHARE, Estimate, Measure

# How many times as many items as in training.
TIMES = 16
_SEQUENCES = 500
# Keeps these sequences apart from the draws of the run.
_DRAW = 12


class Reading(NamedTuple):
    """What the question attends to, where the largest item is, and whether the label is right."""

    weights: Float[np.ndarray, "sequences keys"]
    is_largest: Bool[np.ndarray, "sequences keys"]
    is_right: Bool[np.ndarray, " sequences"]


def reads_maximum(experiment: Experiment) -> bool:
    """Return whether one head without positions learns `maximum`."""
    model = experiment.model
    is_head = isinstance(model, AttentionOptions) and not model.sees_order()
    return is_head and isinstance(experiment.generator, Maximum)


@fixed_numerics()
def read_maximum(
    model: AbstractModel, experiment: Experiment, times: int = 1, *, by_length: bool = False
) -> Reading:
    """Return how a head reads `times` as many items as it was trained with.

    With `by_length`, scores are multiplied by log N / log n, where n is the trained length and N
    the new one, so that attention stays sharp.

    References:
        Nakanishi (2025), "Scalable-Softmax is superior for attention".
    """
    length = times * (experiment.length - 1) + 1
    process = cast(Maximum, experiment.generator.at_length(length))
    key = jr.fold_in(key_of(experiment.seed), _DRAW)
    sequences = sample(process, key=key, size=_SEQUENCES, length=length + 1)
    factor = np.log(length) / np.log(experiment.length) if by_length else 1.0
    head = dataclasses.replace(cast(Attention, model), length=length)
    weights, logits = _read(head, sequences[:, :-1], jnp.float32(factor))
    is_largest = jax.vmap(process.true_sources)(sequences[:, :-1])[:, -1]
    is_right = logits.argmax(axis=1) == sequences[:, -1]
    return Reading(*(np.asarray(part) for part in (weights, is_largest, is_right)))


@eqx.filter_jit
def _read(
    head: Attention, sequences: Int[Array, "sequences length"], factor: Float[Array, ""]
) -> tuple[Float[Array, "sequences length"], Float[Array, "sequences vocab"]]:
    def one(tokens):
        last = jnp.array([tokens.size - 1])
        parts = head.parts(jax.nn.one_hot(tokens, head.vocab), last)
        logits, weights = parts._replace(scale=factor * parts.scale).attend(head.options.score)
        return weights[0], logits[0]

    return jax.lax.map(one, sequences, batch_size=100)


def weight_bound(model: AbstractModel, experiment: Experiment, length: int) -> float:
    """Return the largest weight that any of so many tokens can have: 1 / (1 + (n - 1) exp(-d)).

    d is the difference between the largest and the smallest score of a token.

    References:
        Veličković et al. (2025), "Softmax is not enough (for sharp size generalisation)".
    """
    process = cast(Maximum, experiment.generator)
    # Every item once, and the question, which is the token after them.
    tokens = jnp.arange(process.values * process.labels + 1)
    head = dataclasses.replace(cast(Attention, model), length=tokens.size)
    ((weights,), _) = _read(head, tokens[None], jnp.float32(1))
    least, *_, most = np.sort(np.asarray(weights, np.float64))
    return float(most / (most + (length - 1) * least))


def weight_of_largest(
    model: AbstractModel, setup: Setup, times: int = 1, *, by_length: bool = False
) -> Estimate:
    """Return the mean weight of the largest item, for `times` as many items as in training."""
    found = read_maximum(model, setup.experiment, times, by_length=by_length)
    return mean_and_error((found.weights * found.is_largest).sum(axis=1))


def accuracy_at_16_times(model: AbstractModel, setup: Setup) -> Estimate:
    """Return the accuracy on 16 times as many items as in training."""
    return mean_and_error(read_maximum(model, setup.experiment, TIMES).is_right.astype(float))


def weight_above_bound(model: AbstractModel, setup: Setup) -> float:
    """Return the largest weight of any token minus its bound, for 16 times as many items."""
    weights = read_maximum(model, setup.experiment, TIMES).weights
    return float(weights.max()) - weight_bound(model, setup.experiment, weights.shape[1])


_HEAD = {"needs": "`maximum`, and a head without positions", "applies": reads_maximum}
DISPERSION = (
    Measure(
        "weight_of_largest",
        weight_of_largest,
        label="weight of the largest item",
        summary="attention from the question to the largest item",
        bounds=SHARE,
        **_HEAD,
    ),
    Measure(
        "weight_of_largest_at_16_times",
        partial(weight_of_largest, times=TIMES),
        label="weight of the largest of 16 times as many items",
        summary="attention to the largest item, for 16 times as many items as in training",
        bounds=SHARE,
        **_HEAD,
    ),
    Measure(
        "weight_of_largest_by_length",
        partial(weight_of_largest, times=TIMES, by_length=True),
        label="weight of the largest of 16 times as many items, scores × log n",
        summary="the same, if scores grow with the logarithm of the length",
        bounds=SHARE,
        **_HEAD,
    ),
    Measure(
        "accuracy_at_16_times",
        accuracy_at_16_times,
        label="accuracy on 16 times as many items",
        summary="accuracy on 16 times as many items as in training",
        bounds=SHARE,
        **_HEAD,
    ),
    Measure(
        "weight_above_bound",
        weight_above_bound,
        label="largest weight minus its bound",
        summary="it cannot be above 0, for 16 times as many items as in training",
        bounds=(-1.0, 1.0),
        **_HEAD,
    ),
)
