"""Attention by distance on `mess3`, beside what theory predicts for one layer of attention."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators.named_chains import Mess3
from attnlab.models import AbstractModel, TransformerOptions
from attnlab.training.evaluation import evaluation_block
from attnlab.training.experiment import Experiment

_FEWEST_TOKENS = 3


def predicted_decay(experiment: Experiment) -> float | None:
    """Return the factor by which theory says that attention falls with each token of distance.

    It is λ = 1 - 3x, an eigenvalue of the transition matrix of `mess3`. Such a layer can only add
    up what each token says about the hidden state, which fades by λ with every move.

    Returns:
        λ, or None unless a transformer of one layer with one causal head and no MLP learns `mess3`
        with 0 < λ < 1 on three or more tokens.

    References:
        Piotrowski et al. (2025), "Constrained belief updates explain geometric structures in
        transformer representations".

    """
    process, model = experiment.generator, experiment.model
    if not (isinstance(model, TransformerOptions) and isinstance(process, Mess3)):
        return None
    if (model.layers, model.heads, model.mlp_width, model.causal) != (1, 1, 0, True):
        return None
    decay = 1 - 3 * process.x
    return decay if 0 < decay < 1 and experiment.length >= _FEWEST_TOKENS else None


class AttentionByDistance(NamedTuple):
    """The attention of the last position to earlier ones, by distance, beside a prediction.

    Shares are of the attention to earlier tokens. The last token itself is left out: it also
    reaches the output through the residual stream.

    Attributes:
        shares: Mean over sequences, from distance 1.
        stderr: Their standard errors.
        predicted: Proportional to the predicted decay to the power of the distance.
        deviation: Total variation ½ Σ |share - predicted|: 0 if equal, at most 1.
        deviation_stderr: Its standard error over sequences, linearised.
        uniform: The deviation of equal shares.

    """

    shares: Float[np.ndarray, " distances"]
    stderr: Float[np.ndarray, " distances"]
    predicted: Float[np.ndarray, " distances"]
    deviation: float
    deviation_stderr: float
    uniform: float


@fixed_numerics()
def attention_by_distance(
    model: AbstractModel, sequences: Int[Array | np.ndarray, "sequences length"], decay: float
) -> AttentionByDistance:
    """Measure how the only head of a model attends to earlier tokens.

    Args:
        model: A model with one layer and one head.
        sequences: Visible tokens.
        decay: As returned by `predicted_decay`.

    """
    patterns = np.asarray(_last_rows(model, jnp.asarray(sequences)), np.float64)
    earlier = patterns[:, -2::-1]
    each = earlier / earlier.sum(axis=1, keepdims=True)
    predicted = decay ** np.arange(1, each.shape[1] + 1)
    predicted /= predicted.sum()
    shares = each.mean(axis=0)
    # The derivative of the deviation, for one sequence after another.
    moves = (each - shares) @ np.sign(shares - predicted) / 2
    count = np.sqrt(len(each))
    return AttentionByDistance(
        shares,
        each.std(axis=0, ddof=1) / count,
        predicted,
        float(np.abs(shares - predicted).sum() / 2),
        float(moves.std(ddof=1) / count),
        float(np.abs(1 / len(shares) - predicted).sum() / 2),
    )


@eqx.filter_jit
def _last_rows(model, sequences):
    last = sequences.shape[1] - 1

    def one(tokens):
        return model(tokens, jnp.array([last]))[1].attention[0].pattern[0, 0]

    return jax.lax.map(one, sequences, batch_size=evaluation_block(last + 1))
