"""What is inside a trained model, on one sequence or on the mean of many."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.models.base import AbstractModel, AttentionMap, Trace

# Sequences traced together, which bounds the memory: a trace has a pattern for every head.
_BLOCK = 8


@fixed_numerics()
def trace_of(model: AbstractModel, tokens: Int[Array | np.ndarray, " length"]) -> Trace:
    """The trace at every position of one sequence, as NumPy arrays."""
    return _in_numpy(_trace(model, jnp.asarray(tokens)))


@fixed_numerics()
def mean_trace(
    model: AbstractModel, sequences: Int[Array | np.ndarray, "sequences length"]
) -> Trace:
    """The mean over sequences of their traces at every position."""
    return _in_numpy(_mean_trace(model, jnp.asarray(sequences)))


def _in_numpy(trace: Trace) -> Trace:
    return jax.tree.map(np.asarray, trace)


@eqx.filter_jit
def _trace(model, tokens):
    return model(tokens, jnp.arange(tokens.size))[1]


@eqx.filter_jit
def _mean_trace(model, sequences):
    queries = jnp.arange(sequences.shape[1])
    traces = jax.lax.map(lambda tokens: model(tokens, queries)[1], sequences, batch_size=_BLOCK)

    def mean(leaf):
        # The mask is that of every sequence.
        return leaf[0] if leaf.dtype == bool else leaf.mean(axis=0)

    return jax.tree.map(mean, traces)


def heads_of(trace: Trace) -> tuple[tuple[int, int], ...]:
    """Every head as (place of its map in the trace, place in the map), first layer first."""
    return tuple(
        (place, head)
        for place, found in enumerate(trace.attention)
        for head in range(found.pattern.shape[0])
    )


def map_name(found: AttentionMap) -> str:
    """A layer as people count it, and what its keys are if they are not the tokens themselves.

    Those of the source that ask each other are the encoder's.
    """
    return layer_name(found.layer, found.kind)


def layer_name(layer: int, kind: str) -> str:
    """That of the maps of a kind, as `map_name` has it; `layer` counts from 0."""
    return f"{layer + 1}" + {"cross": " (source)", "source": " (encoder)"}.get(kind, "")


def head_name(found: AttentionMap, head: int) -> str:
    """A head of a layer in short, such as "L2 H3"; `head` counts from 0."""
    return f"L{map_name(found)} H{head + 1}"
