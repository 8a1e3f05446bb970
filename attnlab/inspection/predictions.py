"""What a model predicts on many sequences, and how often it is right."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.models import AbstractModel
from attnlab.models.readout import final_logits

_BLOCK = 1_000


@fixed_numerics()
def final_probs(
    model: AbstractModel, sequences: Int[Array | np.ndarray, "sequences length"], readout: str
) -> Float[np.ndarray, "sequences vocab"]:
    """The model's p(final token | visible tokens) of every sequence of visible tokens."""
    return np.asarray(_final_probs(model, jnp.asarray(sequences), readout), dtype=np.float64)


@eqx.filter_jit
def _final_probs(model, sequences, readout):
    def one(tokens):
        return jax.nn.softmax(final_logits(model, tokens, readout))

    return jax.lax.map(one, sequences, batch_size=_BLOCK)


@fixed_numerics()
def probs_by_query(
    model: AbstractModel, sequences: Int[Array | np.ndarray, "sequences length"]
) -> Float[np.ndarray, "sequences query vocab"]:
    """The softmax of the model's logits at every position of every sequence."""
    return np.asarray(_probs_by_query(model, jnp.asarray(sequences)), dtype=np.float64)


@eqx.filter_jit
def _probs_by_query(model, sequences):
    queries = jnp.arange(sequences.shape[1])

    def one(tokens):
        return jax.nn.softmax(model(tokens, queries)[0])

    return jax.lax.map(one, sequences, batch_size=_BLOCK)


def confusion(
    probs: Float[np.ndarray, "sequences vocab"], final: Int[np.ndarray, " sequences"]
) -> Int[np.ndarray, "observed predicted"]:
    """How often each token was observed (rows) and had the highest probability (columns)."""
    vocab = probs.shape[1]
    pairs = final * vocab + probs.argmax(axis=1)
    return np.bincount(pairs, minlength=vocab**2).reshape(vocab, vocab)
