"""What each attention head looks at, and whether it copies the tokens that it attends to."""

import math
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import present
from attnlab.generators import AbstractGenerator
from attnlab.models import AbstractModel
from attnlab.training.evaluation import evaluation_block

_SEQUENCES = 500
# The shares of attention that are measured, in this order.
SHARES = ("prefix_match", "previous_token", "true_sources")


class HeadScore(NamedTuple):
    """The mean share of a head's attention on three kinds of positions, and its copying score.

    `prefix_match` are the positions after earlier occurrences of the query's token,
    `previous_token` is the one before the query, and `true_sources` are those of the process. Each
    is a mean over the queries that have such positions, and over sequences. It is NaN if there are
    none, or if the process does not define sources. Layers and heads are counted from 1.

    `copying` is the `copying_score` of the head's weights, or NaN if the model has no circuits.

    References:
        Olsson et al. (2022), "In-context learning and induction heads".
    """

    layer: int
    head: int
    prefix_match: float
    previous_token: float
    true_sources: float
    prefix_match_stderr: float
    previous_token_stderr: float
    true_sources_stderr: float
    copying: float = math.nan


# A head has a name if it gives this share to what it is named after, and this much more than an
# untrained one.
_NAMED, _MORE = 0.4, 0.2


def role_of(score: HeadScore, untrained: HeadScore) -> str:
    """Return the name of a head by what it does, or "" if it does neither.

    An `induction` head attends to the tokens after earlier occurrences of the query's token, and a
    `previous token` head to the token before. The share must be at least 0.4, and 0.2 above that of
    the same head before training.
    """
    shares = {
        "induction": (score.prefix_match, untrained.prefix_match),
        "previous token": (score.previous_token, untrained.previous_token),
    }
    found = {
        name: share
        for name, (share, before) in shares.items()
        if share >= _NAMED and share - before >= _MORE
    }
    return max(found, key=found.__getitem__, default="")


@fixed_numerics()
def head_scores(
    process: AbstractGenerator, model: AbstractModel, sequences: Int[np.ndarray, "size positions"]
) -> tuple[HeadScore, ...]:
    """Return the scores of every self-attention head on the first 500 sequences.

    Args:
        process: The process of the sequences, at its length.
        model: A model that predicts at every position.
        sequences: Visible tokens and the next one, such as the test set.

    Returns:
        One entry for each layer and head; none for a model without self-attention.
    """
    shares = np.asarray(_shares(process, model, jnp.asarray(sequences)[:_SEQUENCES]), np.float64)
    circuits = _circuits(model)
    scores = []
    for layer, of_layer in enumerate(shares.transpose(1, 2, 3, 0)):
        for head, of_head in enumerate(of_layer):
            found = [each[np.isfinite(each)] for each in of_head]
            means = [float(each.mean()) if each.size else np.nan for each in found]
            errors = [
                float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else np.nan
                for each in found
            ]
            copying = np.nan if circuits is None else copying_score(circuits[layer, head])
            scores.append(HeadScore(layer + 1, head + 1, *means, *errors, copying=copying))
    return tuple(scores)


def copying_score(circuit: Float[Array | np.ndarray, "vocab vocab"]) -> float:
    """Return Σλ / Σ|λ| over the eigenvalues λ of a head's `copying_circuits`, from -1 to 1.

    It is 1 if attending to any token raises the logit of the same token, and -1 if it lowers it.
    Rows and columns have their mean subtracted, since only differences of logits count. Parts of
    the head's input that layers below wrote are left out.

    References:
        Elhage et al. (2021), "A mathematical framework for transformer circuits".
    """
    matrix = np.asarray(circuit, np.float64)
    if not np.isfinite(matrix).all():
        return math.nan
    matrix = matrix - matrix.mean(axis=0)
    values = np.linalg.eigvals(matrix - matrix.mean(axis=1, keepdims=True))
    size = np.abs(values).sum()
    return float(values.real.sum() / size) if size > 0 else math.nan


@eqx.filter_jit
def _circuits(model):
    return model.copying_circuits()


@eqx.filter_jit
def _shares(process, model, sequences):
    def of_sequence(tokens: Int[Array, " positions"]) -> Float[Array, "layers heads measures"]:
        visible = tokens[:-1]
        _, trace = model(visible, jnp.arange(visible.size))
        places = _places(process, tokens)
        patterns = [each.pattern for each in trace.attention if each.kind == "self"]
        each = jax.vmap(partial(_share, places))
        if not patterns:
            return jnp.zeros((0, 0, len(SHARES)))
        return jnp.stack([each(pattern) for pattern in patterns])

    return jax.lax.map(of_sequence, sequences, batch_size=evaluation_block(sequences.shape[1]))


def _places(
    process: AbstractGenerator, tokens: Int[Array, " positions"]
) -> Bool[Array, "measures query key"]:
    """Return the positions of each measure."""
    visible = tokens[:-1]
    places = jnp.arange(visible.size)
    query, key = places[:, None], places[None, :]
    before = jnp.append(-1, visible[:-1])
    matches = (before[None, :] == visible[:, None]) & (key <= query)
    sources = process.true_sources(visible)
    if sources is None:
        sources = jnp.zeros_like(matches)
    elif process.has_loss_mask():
        sources = sources & present(process.loss_mask(tokens))[1:, None]
    return jnp.stack([matches, key == query - 1, sources])


def _share(
    places: Bool[Array, "measures query key"], pattern: Float[Array, "query key"]
) -> Float[Array, " measures"]:
    shares = (places * pattern[None]).sum(axis=2)
    counted = places.any(axis=2)
    return (shares * counted).sum(axis=1) / counted.sum(axis=1)
