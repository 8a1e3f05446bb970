"""The inside of a trained model: its traces, and edits of its forward pass."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import quoted
from attnlab.generators import AbstractTask
from attnlab.models.base import AbstractModel, AttentionMap, Trace
from attnlab.models.sites import Edit, Given

# Number of sequences traced together. It bounds the memory, since a trace has a pattern for every
# head.
_BLOCK = 8


@fixed_numerics()
def trace_of(
    model: AbstractModel,
    tokens: Int[Array | np.ndarray, " length"],
    *,
    capture: Sequence[str] = (),
) -> Trace:
    """Return the trace at every position of one sequence, as NumPy arrays."""
    return _in_numpy(_trace(model, jnp.asarray(tokens), tuple(capture)))


@fixed_numerics()
def mean_trace(
    model: AbstractModel,
    sequences: Int[Array | np.ndarray, "sequences length"],
    *,
    capture: Sequence[str] = (),
) -> Trace:
    """Return the mean over sequences of their traces at every position."""
    return _in_numpy(_mean_trace(model, jnp.asarray(sequences), tuple(capture)))


def _in_numpy(trace: Trace) -> Trace:
    return jax.tree.map(np.asarray, trace)


@eqx.filter_jit
def _trace(model, tokens, capture):
    return model(tokens, jnp.arange(tokens.size), capture=capture)[1]


@eqx.filter_jit
def _mean_trace(model, sequences, capture):
    count, length = sequences.shape

    def of_one(tokens):
        return model(tokens, jnp.arange(length), capture=capture)[1]

    def add(total, block):
        traces = jax.vmap(of_one)(block)
        return jax.tree.map(lambda sums, leaf: sums + leaf.sum(axis=0), total, traces), None

    def zeros(leaf):
        # Masks are counted.
        return jnp.zeros(leaf.shape, jnp.result_type(leaf, 0))

    shapes, whole = jax.eval_shape(of_one, sequences[0]), count - count % _BLOCK
    blocks = sequences[:whole].reshape(-1, _BLOCK, length)
    total, _ = jax.lax.scan(add, jax.tree.map(zeros, shapes), blocks)
    if whole < count:
        total, _ = add(total, sequences[whole:])

    def mean(shape, sums):
        # All sequences have the same mask.
        return sums > 0 if shape.dtype == bool else sums / count

    return jax.tree.map(mean, shapes, total)


def heads_of(trace: Trace) -> tuple[tuple[int, int], ...]:
    """Return every head as (index of its map in the trace, index in the map), first layer first."""
    return tuple(
        (place, head)
        for place, found in enumerate(trace.attention)
        for head in range(found.pattern.shape[0])
    )


def map_name(found: AttentionMap) -> str:
    """Return the name of a map: the layer from 1, and its kind, such as "2" or "2 (source)"."""
    return layer_name(found.layer, found.kind)


def layer_name(layer: int, kind: str) -> str:
    """Return the `map_name` of the map of this kind in `layer`, counted from 0."""
    return f"{layer + 1}" + {"cross": " (source)", "source": " (encoder)"}.get(kind, "")


def head_name(found: AttentionMap, head: int) -> str:
    """Return a short name of a head, such as "L2 H3" or "source L1 H1"; `head` counts from 0."""
    # The encoder reads the first token, so that it is no query of the decoder.
    own = "" if found.mask[0].any() else "decoder "
    part = {"cross": "source ", "source": "encoder "}.get(found.kind, own)
    return f"{part}L{found.layer + 1} H{head + 1}"


Mask = Bool[Array | np.ndarray, "query key"]


class TrueAlignment(eqx.Module):
    """The attention pattern of a task's true alignment, as a function of one-hot visible tokens.

    The query of a target token, one position before it, attends equally to the source tokens that
    it comes from. Masked keys get no attention, and queries within the source are uniform.
    """

    task: AbstractTask = eqx.field(static=True)
    mask: Mask

    def __call__(self, one_hot: Float[Array, "length vocab"]) -> Given:
        count = self.task.source_length
        source = jnp.argmax(one_hot[:count], axis=1)
        taken = self.task.true_alignment(source).astype(jnp.float32)
        whole = jnp.zeros(self.mask.shape).at[count - 1 :, :count].set(taken)
        return in_proportion(self.mask, whole)


class Edited(AbstractModel):
    """A model with edits: it predicts, is tested and is traced like any other."""

    vocab: int = eqx.field(static=True)
    model: AbstractModel
    edits: tuple[Edit, ...]

    @property
    def sites(self) -> tuple[str, ...]:
        return self.model.sites

    def read(
        self,
        one_hot: Float[Array, "length vocab"],
        queries: Int[Array, " query"],
        **capture: Sequence[str],
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        edits = tuple(edit.on(one_hot) for edit in self.edits)
        return self.model.read(one_hot, queries, **{"edits": edits, **capture})


def edited(model: AbstractModel, *edits: Edit) -> AbstractModel:
    """Return the model with these edits, applied after any edits that it already has.

    Without edits this is the model itself.

    Raises:
        ValueError: If the model has no heads, no heads of that kind, or no such site.

    """
    if not edits:
        return model
    if isinstance(model, Edited):
        return edited(model.model, *model.edits, *edits)
    for edit in edits:
        if edit.site is not None:
            model.check_site(edit.site)
        elif not model.has_heads:
            raise ValueError(
                "This model has no attention heads to edit. Choose the model `attention` or "
                "`transformer`, or for a task `encoder-decoder` or `rnn-attention`."
            )
        elif edit.kind not in model.edited_kinds:
            kinds = ", ".join(quoted(kind) for kind in model.edited_kinds)
            raise ValueError(
                f"`kind` is {quoted(edit.kind)}: the model has no such heads. Choose one of "
                f"{kinds}."
            )
    return Edited(vocab=model.vocab, model=model, edits=tuple(edits))


def removed(mask: Mask) -> Float[Array, "query key"]:
    """Return a pattern of zeros, which removes a head."""
    return jnp.zeros(mask.shape)


def uniform(mask: Mask) -> Float[Array, "query key"]:
    """Return a pattern that attends equally to all keys that the mask allows."""
    return jnp.asarray(mask) / jnp.maximum(mask.sum(axis=1, keepdims=True), 1)


def on_position(mask: Mask, key: int) -> Float[Array, "query key"]:
    """Return a pattern with all attention on `key`; queries that cannot see it are uniform."""
    alone = jnp.zeros(mask.shape).at[:, key].set(1.0)
    return jnp.where(mask[:, key][:, None], alone, uniform(mask))


def in_proportion(
    mask: Mask, amounts: Float[Array | np.ndarray, "query key"]
) -> Float[Array, "query key"]:
    """Return a pattern in proportion to `amounts`, such as the true dependence.

    A query is uniform if the amounts of all keys that it sees are 0.
    """
    admitted = jnp.where(mask, amounts, 0.0)
    total = admitted.sum(axis=1, keepdims=True)
    return jnp.where(total > 0, admitted / jnp.where(total > 0, total, 1.0), uniform(mask))
