"""Attention in chunks of queries and keys: memory grows as the length, not as its square."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from attnlab.attention.scores import AbstractScore, DotProduct

Mask = Callable[[Int[Array, " query"], Int[Array, " key"]], Bool[Array, "query key"]]
Bias = Callable[[Int[Array, " query"], Int[Array, " key"]], Float[Array, "query key"]]
_DOT_PRODUCT = DotProduct()


class _Sums(NamedTuple):
    """Of each query over the keys seen so far, relative to exp(largest)."""

    largest: Float[Array, " query"]
    weight: Float[Array, " query"]
    output: Float[Array, "query d_value"]


def chunked_attend(
    query: Float[Array, "query d_attn"],
    key: Float[Array, "key d_attn"],
    value: Float[Array, "key d_value"],
    *,
    mask: Mask,
    scale: float | Float[Array, ""],
    bias: Bias | None = None,
    score: AbstractScore = _DOT_PRODUCT,
) -> Float[Array, "query d_value"]:
    """The output of `attend`, without its pattern, which is never whole in memory.

    output = Σⱼ exp(sⱼ - m) vⱼ / Σⱼ exp(sⱼ - m), where sⱼ = scale · query keyⱼ, over the keys that
    `mask` admits. The sums are taken chunk by chunk of about √keys keys; where a chunk raises the
    largest score from m to m′, what was summed is multiplied by exp(m - m′). Queries go in chunks
    of about √queries one after another, and a backward pass computes each chunk again instead of
    keeping it. `mask` and `bias` are functions of the places of queries and keys in their arrays,
    as in `MASKS`; another `score` takes the place of query keyⱼ. A query
    that may attend to nothing gets zeros. Memory beside the arguments and the result:
    about √queries · √keys scores at a time, against queries · keys.

    Rabe and Staats (2021), "Self-attention does not need O(n²) memory", sections 2 and 3.
    """
    queries, keys = query.shape[0], key.shape[0]
    key_chunks = _chunks(keys), _chunked(key), _chunked(value)

    def of_query_chunk(chunk):
        positions, rows = chunk
        start = _Sums(
            largest=jnp.full(rows.shape[0], -jnp.inf),
            weight=jnp.zeros(rows.shape[0]),
            output=jnp.zeros((rows.shape[0], value.shape[1])),
        )

        @jax.checkpoint
        def add(sums, key_chunk):
            key_positions, some_keys, some_values = key_chunk
            scores = scale * score.scores(rows, some_keys)
            if bias is not None:
                scores = scores + bias(positions, key_positions)
            # Chunks are filled up with keys beyond the last.
            unmasked = mask(positions, key_positions) & (key_positions < keys)[None, :]
            return _with_chunk(sums, scores, unmasked, some_values), None

        sums, _ = jax.lax.scan(add, start, key_chunks)
        return sums.output / jnp.where(sums.weight > 0, sums.weight, 1.0)[:, None]

    outputs = jax.lax.map(jax.checkpoint(of_query_chunk), (_chunks(queries), _chunked(query)))
    return outputs.reshape(-1, value.shape[1])[:queries]


def _with_chunk(
    sums: _Sums,
    scores: Float[Array, "query some"],
    unmasked: Bool[Array, "query some"],
    values: Float[Array, "some d_value"],
) -> _Sums:
    scores = jnp.where(unmasked, scores, -jnp.inf)
    # Any shift gives the same quotient of sums, so none has a gradient.
    largest = jax.lax.stop_gradient(jnp.maximum(sums.largest, scores.max(axis=1)))
    # As long as nothing was unmasked, there is nothing to shift.
    shift = jnp.where(jnp.isfinite(largest), largest, 0.0)
    below = jnp.where(unmasked, scores - shift[:, None], -jnp.inf)
    # The compiler may round huge scores differently here and in the maximum; exp then
    # overflows.
    excess = jax.lax.stop_gradient(jnp.maximum(below.max(axis=1), 0.0))
    weights = jnp.exp(below - excess[:, None])
    earlier = jnp.exp(sums.largest - shift - excess)
    return _Sums(
        largest=largest,
        weight=earlier * sums.weight + weights.sum(axis=1),
        output=earlier[:, None] * sums.output + weights @ values,
    )


def _chunk_size(length: int) -> int:
    """The power of two next above the root: powers of two, as lengths often are, fill chunks."""
    return 2 ** (((length - 1).bit_length() + 1) // 2)


def _chunks(length: int) -> Int[Array, "chunks chunk"]:
    """Positions in chunks; the last ones may lie beyond the length."""
    size = _chunk_size(length)
    return jnp.arange(-(-length // size) * size).reshape(-1, size)


def _chunked(rows: Float[Array, "length width"]) -> Float[Array, "chunks chunk width"]:
    """Rows in chunks, zeros behind the last."""
    positions = _chunks(rows.shape[0])
    padded = jnp.pad(rows, ((0, positions.size - rows.shape[0]), (0, 0)))
    return padded.reshape(*positions.shape, rows.shape[1])
