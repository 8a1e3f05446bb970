"""The inside of a trained model: its traces, and its forward pass with other patterns."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import quoted
from attnlab.generators import AbstractTask
from attnlab.models.base import AbstractModel, AttentionMap, Trace

# Number of sequences traced together. It bounds the memory, since a trace has a pattern for every
# head.
_BLOCK = 8


@fixed_numerics()
def trace_of(model: AbstractModel, tokens: Int[Array | np.ndarray, " length"]) -> Trace:
    """Return the trace at every position of one sequence, as NumPy arrays."""
    return _in_numpy(_trace(model, jnp.asarray(tokens)))


@fixed_numerics()
def mean_trace(
    model: AbstractModel, sequences: Int[Array | np.ndarray, "sequences length"]
) -> Trace:
    """Return the mean over sequences of their traces at every position."""
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
        # All sequences have the same mask.
        return leaf[0] if leaf.dtype == bool else leaf.mean(axis=0)

    return jax.tree.map(mean, traces)


def heads_of(trace: Trace) -> tuple[tuple[int, int], ...]:
    """Return every head as (index of its map in the trace, index in the map), first layer first."""
    return tuple(
        (place, head)
        for place, found in enumerate(trace.attention)
        for head in range(found.pattern.shape[0])
    )


def map_name(found: AttentionMap) -> str:
    """Return a layer's number from 1, with the kind of its keys if they are not its own tokens.

    Self-attention of the source belongs to the encoder.
    """
    return layer_name(found.layer, found.kind)


def layer_name(layer: int, kind: str) -> str:
    """Return the `map_name` of a layer, counted from 0, for maps of a kind."""
    return f"{layer + 1}" + {"cross": " (source)", "source": " (encoder)"}.get(kind, "")


def head_name(found: AttentionMap, head: int) -> str:
    """Return a short name of a layer's head, such as "L2 H3"; `head` counts from 0."""
    return f"L{map_name(found)} H{head + 1}"


Mask = Bool[Array | np.ndarray, "query key"]
Given = Float[Array | np.ndarray, "length length"]
PatternOf = Callable[[Float[Array, "length vocab"]], Given]


class Edit(eqx.Module):
    """The pattern that replaces one head's own, for every sequence.

    Layers and heads count from 0, and `kind` is that of their `AttentionMap`: rows and columns are
    those of this map in a trace. A row is what a query gives to each key; zeros remove the head,
    since its output is then 0. The rest of the model uses the result.

    A pattern that depends on the sequence is a function of its one-hot rows, such as
    `TrueAlignment`.
    """

    layer: int | Int[Array, ""]
    head: int | Int[Array, ""]
    pattern: Given | PatternOf
    kind: str = eqx.field(static=True, default="self")

    def on(self, one_hot: Float[Array, "length vocab"]) -> "Edit":
        """Return the edit for one sequence, with its pattern as numbers."""
        pattern = self.pattern(one_hot) if callable(self.pattern) else self.pattern
        return Edit(self.layer, self.head, pattern, self.kind)


class TrueAlignment(eqx.Module):
    """The pattern that attends equally to the source tokens that each target token comes from.

    For visible tokens of a task; the query of a target token is at the position before it. Keys
    that the mask does not allow get nothing, and queries within the source are uniform.
    """

    task: AbstractTask = eqx.field(static=True)
    mask: Mask

    def __call__(self, one_hot: Float[Array, "length vocab"]) -> Given:
        count = self.task.source_length
        source = jnp.argmax(one_hot[:count], axis=1)
        taken = self.task.true_alignment(source).astype(jnp.float32)
        whole = jnp.zeros(self.mask.shape).at[count - 1 :, :count].set(taken)
        return in_proportion(self.mask, whole)


def with_edits(
    pattern: Float[Array, "heads query key"],
    edits: Sequence[Edit],
    *,
    layer: int,
    queries: Int[Array, " query"],
) -> Float[Array, "heads query key"]:
    """Return the patterns of a layer after the edits, applied in order."""
    heads = jnp.arange(len(pattern))
    for edit in edits:
        here = (heads == edit.head) & (edit.layer == layer)
        # A replaced pattern is a constant, also if the model is trained with it.
        given = jax.lax.stop_gradient(jnp.asarray(edit.pattern))[queries]
        pattern = jnp.where(here[:, None, None], given[None], pattern)
    return pattern


class Edited(AbstractModel):
    """A model with edits: it predicts, is tested and is traced like any other."""

    vocab: int = eqx.field(static=True)
    model: AbstractModel
    edits: tuple[Edit, ...]

    def read(
        self,
        one_hot: Float[Array, "length vocab"],
        queries: Int[Array, " query"],
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        edits = tuple(edit.on(one_hot) for edit in self.edits)
        return self.model.read(one_hot, queries, edits=edits)


def edited(model: AbstractModel, *edits: Edit) -> Edited:
    """Return the model with the edits.

    Raises `ValueError` for a model without heads, and for a kind of heads that it lacks.
    """
    if not model.has_heads:
        raise ValueError(
            "This model has no attention heads to edit. Choose the model `attention` or "
            "`transformer`, or for a task `encoder-decoder` or `rnn-attention`."
        )
    for edit in edits:
        if edit.kind not in model.edited_kinds:
            kinds = ", ".join(quoted(kind) for kind in model.edited_kinds)
            raise ValueError(
                f"`kind` is {quoted(edit.kind)}: the model has no such heads. Choose one of "
                f"{kinds}."
            )
    return Edited(vocab=model.vocab, model=model, edits=tuple(edits))


def removed(mask: Mask) -> Float[Array, "query key"]:
    """Return the pattern of a removed head."""
    return jnp.zeros(mask.shape)


def uniform(mask: Mask) -> Float[Array, "query key"]:
    """Return the same share for every key that the mask allows."""
    return jnp.asarray(mask) / jnp.maximum(mask.sum(axis=1, keepdims=True), 1)


def on_position(mask: Mask, key: int) -> Float[Array, "query key"]:
    """Return all attention on one key, for queries that may attend to it; others are uniform."""
    alone = jnp.zeros(mask.shape).at[:, key].set(1.0)
    return jnp.where(mask[:, key][:, None], alone, uniform(mask))


def in_proportion(
    mask: Mask, amounts: Float[Array | np.ndarray, "query key"]
) -> Float[Array, "query key"]:
    """Return attention in proportion to `amounts`, such as the true dependence.

    Queries without an amount for any allowed key are uniform.
    """
    admitted = jnp.where(mask, amounts, 0.0)
    total = admitted.sum(axis=1, keepdims=True)
    return jnp.where(total > 0, admitted / jnp.where(total > 0, total, 1.0), uniform(mask))
