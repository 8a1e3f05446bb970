"""The gap of a model to the floor in nats, split at the belief that a probe finds in it."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractGenerator
from attnlab.inspection.belief_probes import BeliefData
from attnlab.inspection.predictions import probs_by_query
from attnlab.inspection.probes import Probe, Rows
from attnlab.models import AbstractModel
from attnlab.optimum.sequences import mean_and_error

# The share of the mean belief in a belief that is read out, so that no possible token gets
# probability 0.
_MIXED = 1e-3
# A smaller probability has no float64 logarithm.
_LEAST = 1e-300


def on_simplex(points: Float[np.ndarray, "*many states"]) -> Float[np.ndarray, "*many states"]:
    """Return the nearest distribution to each point: negative entries become 0.

    References:
        Duchi et al. (2008), "Efficient projections onto the l1-ball for learning in high
        dimensions", figure 1.

    """
    falling = -np.sort(-points, axis=-1)
    count = np.arange(1, points.shape[-1] + 1)
    over = (falling.cumsum(axis=-1) - 1) / count
    support = (falling > over).sum(axis=-1, keepdims=True)
    return np.maximum(points - np.take_along_axis(over, support - 1, axis=-1), 0.0)


class BeliefGap(NamedTuple):
    """The gap of a model to the floor in nats per token, in two parts, with standard errors.

    gap = `not_represented` + `not_used`: the gap of predictions from the probed belief, and the
    rest. The rest is negative if the model predicts better than the probed belief; then the gap has
    no such two parts.
    """

    floor: float
    gap: float
    gap_stderr: float
    not_represented: float
    not_represented_stderr: float
    not_used: float
    not_used_stderr: float

    @property
    def beats_probe(self) -> bool:
        """Whether the model predicts better than the probed belief, by over two standard errors."""
        return self.not_used < -2 * self.not_used_stderr


@fixed_numerics()
def belief_gap(
    process: AbstractGenerator, model: AbstractModel, fitted: Probe, rows: Rows, data: BeliefData
) -> BeliefGap:
    """Split a model's gap at the belief that a probe reads from its activations.

    The probed belief is the nearest distribution, mixed with a thousandth of the mean belief; its
    prediction is that of the process.

    Args:
        process: The process.
        model: The model.
        fitted: A probe of the belief at one site.
        rows: Activations of that site on the sequences of `data`.
        data: Sequences that the probe was not fitted to.

    """
    probed = on_simplex(fitted(rows))
    probed = (1 - _MIXED) * probed + _MIXED * data.beliefs.mean(axis=(0, 1))
    by_belief = next_probs_of(process.at_length(data.sequences.shape[1]), probed)
    missed = divergence(data.next_probs, by_belief).mean(axis=1)
    lost = divergence(data.next_probs, probs_by_query(model, data.sequences)).mean(axis=1)
    safe = np.where(data.next_probs > 0, data.next_probs, 1.0)
    floor = float(-(data.next_probs * np.log(safe)).sum(axis=2).mean())
    return BeliefGap(
        floor, *mean_and_error(lost), *mean_and_error(missed), *mean_and_error(lost - missed)
    )


def next_probs_of(
    process: AbstractGenerator, beliefs: Float[np.ndarray, "*many states"]
) -> Float[np.ndarray, "*many vocab"]:
    """Return the next-token distribution of each belief."""
    with np.errstate(divide="ignore"):
        logs = np.log(beliefs.reshape(-1, beliefs.shape[-1]))
    found = np.exp(np.asarray(_log_probs(process, jnp.asarray(logs)), dtype=np.float64))
    return found.reshape(*beliefs.shape[:-1], -1)


@partial(jax.jit, static_argnames="process")
def _log_probs(process, beliefs):
    return jax.vmap(process.log_probs)(beliefs)


def divergence(
    true: Float[np.ndarray, "*many vocab"], guess: Float[np.ndarray, "*many vocab"]
) -> Float[np.ndarray, "*many"]:
    """Return KL(true, guess) in nats over the last axis."""
    safe = np.where(true > 0, true, 1.0)
    ratio = np.log(safe) - np.log(np.where(true > 0, np.maximum(guess, _LEAST), 1.0))
    return (true * ratio).sum(axis=-1)
