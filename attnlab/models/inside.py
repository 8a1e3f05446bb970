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


Mask = Bool[Array | np.ndarray, "query key"]
Given = Float[Array | np.ndarray, "length length"]
PatternOf = Callable[[Float[Array, "length vocab"]], Given]


class Edit(eqx.Module):
    """The pattern that one head has in the place of its own, whatever the sequence.

    Layers and heads count from 0, and `kind` is that of their `AttentionMap`: rows and columns are
    those of this map in a trace. A row is what a query gives to each key; zeros remove the head,
    since its output is then 0. The rest of the model runs on with what comes of it.

    A pattern that depends on the sequence is a function of its one-hot rows, as `TrueAlignment` is.
    """

    layer: int | Int[Array, ""]
    head: int | Int[Array, ""]
    pattern: Given | PatternOf
    kind: str = eqx.field(static=True, default="self")

    def on(self, one_hot: Float[Array, "length vocab"]) -> "Edit":
        """The edit of one sequence, with its pattern as numbers."""
        pattern = self.pattern(one_hot) if callable(self.pattern) else self.pattern
        return Edit(self.layer, self.head, pattern, self.kind)


class TrueAlignment(eqx.Module):
    """The pattern that gives each target token to the source tokens that it is taken from, alike.

    Of visible tokens of a task; a target token asks from the place before its own. Keys that the
    mask does not admit have nothing, and queries within the source are uniform.
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
    """The patterns of a layer after the edits, the last of them last."""
    heads = jnp.arange(len(pattern))
    for edit in edits:
        here = (heads == edit.head) & (edit.layer == layer)
        # What stands in the place of a pattern is given, also where a model is trained with it.
        given = jax.lax.stop_gradient(jnp.asarray(edit.pattern))[queries]
        pattern = jnp.where(here[:, None, None], given[None], pattern)
    return pattern


class Edited(AbstractModel):
    """A model with edits: it predicts, is tested and is traced as any other."""

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
    """The model with the edits.

    Refused, with a `ValueError`: a model without heads, edits of a kind of heads that it lacks.
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
    """The pattern of a head that is not there."""
    return jnp.zeros(mask.shape)


def uniform(mask: Mask) -> Float[Array, "query key"]:
    """The same share for every key that the mask admits."""
    return jnp.asarray(mask) / jnp.maximum(mask.sum(axis=1, keepdims=True), 1)


def on_position(mask: Mask, key: int) -> Float[Array, "query key"]:
    """All on one key, for the queries that may attend to it; the others are uniform."""
    alone = jnp.zeros(mask.shape).at[:, key].set(1.0)
    return jnp.where(mask[:, key][:, None], alone, uniform(mask))


def in_proportion(
    mask: Mask, amounts: Float[Array | np.ndarray, "query key"]
) -> Float[Array, "query key"]:
    """To every key in proportion to what `amounts` says of it, such as the true dependence.

    Queries of which it says nothing of any key that they may attend to are uniform.
    """
    admitted = jnp.where(mask, amounts, 0.0)
    total = admitted.sum(axis=1, keepdims=True)
    return jnp.where(total > 0, admitted / jnp.where(total > 0, total, 1.0), uniform(mask))
