"""Attention of one head over one sequence: scores, masks, scales, whole or in chunks."""

import abc
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.lax import optimization_barrier
from jaxtyping import Array, Bool, Float, Int, Num

from attnlab.configuration.options import check_options, option

# Materialise transposed matrices before the gradients' products use them. Otherwise XLA on a CPU
# multiplies them column by column, and a batch of ten-token sequences takes more than twice as
# long.


@jax.custom_jvp
def dot_products(
    query: Float[Array, "query d_attn"], key: Float[Array, "key d_attn"]
) -> Float[Array, "query key"]:
    """Return query keyᵀ."""
    return query @ key.T


@dot_products.defjvp
def _dot_products_jvp(primals, tangents):
    (query, key), (query_tangent, key_tangent) = primals, tangents
    by_key = optimization_barrier(query.T).T @ optimization_barrier(key_tangent.T)
    return dot_products(query, key), query_tangent @ key.T + by_key


@jax.custom_jvp
def weighted_sums(
    pattern: Float[Array, "query key"], value: Float[Array, "key d_value"]
) -> Float[Array, "query d_value"]:
    """Return pattern value."""
    return pattern @ value


@weighted_sums.defjvp
def _weighted_sums_jvp(primals, tangents):
    (pattern, value), (pattern_tangent, value_tangent) = primals, tangents
    by_value = optimization_barrier(optimization_barrier(value_tangent.T) @ pattern.T).T
    return weighted_sums(pattern, value), pattern_tangent @ value + by_value


class AbstractScore(eqx.Module):
    """A score of how well a key matches a query; its fields are its options.

    It is a module, so that a compiled program accepts new values of an option.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    formula: ClassVar[str]

    @abc.abstractmethod
    def scores(
        self, query: Float[Array, "query d_attn"], key: Float[Array, "key d_attn"]
    ) -> Float[Array, "query key"]:
        """Return the score of every query with every key; larger is a better match."""


class DotProduct(AbstractScore):
    """q · k. Luong et al. (2015), "Effective approaches to attention-based NMT", section 3.1."""

    name: ClassVar[str] = "dot"
    summary: ClassVar[str] = "The dot product of query and key."
    formula: ClassVar[str] = r"q \cdot k"

    def scores(self, query, key):
        return dot_products(query, key)


class ScaledDotProduct(AbstractScore):
    """q · k / √d, whose variance does not grow with d. Vaswani et al. (2017), section 3.2.1."""

    name: ClassVar[str] = "scaled"
    summary: ClassVar[str] = "The dot product divided by √d."
    formula: ClassVar[str] = r"q \cdot k / \sqrt{d}"

    def scores(self, query, key):
        return dot_products(query, key) * query.shape[1] ** -0.5


class Additive(AbstractScore):
    """Σᵢ tanh(qᵢ + kᵢ): each component is between -1 and 1, so no score exceeds d.

    Bahdanau et al. (2015), "Neural machine translation by jointly learning to align and translate",
    appendix A.1.2, with weights 1 on the components. Their two other matrices are the projections
    that produce q and k.
    """

    name: ClassVar[str] = "additive"
    summary: ClassVar[str] = "The sum of tanh over the components of query plus key."
    formula: ClassVar[str] = r"\textstyle\sum_i \tanh(q_i + k_i)"

    def scores(self, query, key):
        return jnp.tanh(query[:, None, :] + key[None, :, :]).sum(axis=2)


class GaussianKernel(AbstractScore):
    """-‖q - k‖² / 2h², the logarithm of a Gaussian kernel of bandwidth h.

    The softmax of these scores gives the weights of a kernel regression: Nadaraya (1964) and
    Watson (1964).
    """

    name: ClassVar[str] = "gaussian"
    summary: ClassVar[str] = "Minus the squared distance: the closer the key, the higher the score."
    formula: ClassVar[str] = r"-\lVert q - k \rVert^2 / 2h^2"

    bandwidth: float = option(
        1.0,
        "Distance at which the kernel has fallen to e^(-1/2) of its peak.",
        low=0.001,
        high=1000.0,
    )

    def __check_init__(self):
        check_options(self)

    def scores(self, query, key):
        return gaussian_scores(query, key, self.bandwidth)


def gaussian_scores(
    query: Float[Array, "query d_attn"],
    key: Float[Array, "key d_attn"],
    bandwidth: float | Num[Array, ""],
) -> Float[Array, "query key"]:
    """Return -‖q - k‖² / 2h², where the bandwidth h may be a trained parameter."""
    apart = query[:, None, :] - key[None, :, :]
    return -(apart**2).sum(axis=2) / (2 * bandwidth**2)


SCORES = MappingProxyType(
    {kind.name: kind for kind in (DotProduct, ScaledDotProduct, Additive, GaussianKernel)}
)


_DOT_PRODUCT = DotProduct()


class Attended(NamedTuple):
    """The output of a head for each query, and its attention pattern over the keys."""

    # JAX arrays inside a compiled program, NumPy arrays outside.
    output: Float[Any, "query d_value"]
    pattern: Float[Any, "query key"]


def attend(
    query: Float[Array, "query d_attn"],
    key: Float[Array, "key d_attn"],
    value: Float[Array, "key d_value"],
    *,
    mask: Bool[Array, "query key"],
    scale: float | Float[Array, ""],
    bias: Float[Array, "query key"] | float = 0.0,
    score: AbstractScore = _DOT_PRODUCT,
) -> Attended:
    """Attend with one head: pattern = softmax(scale · query keyᵀ + bias), output = pattern value.

    Another `score` replaces query keyᵀ. The softmax runs over the keys that `mask` allows (True:
    may be attended to); the others get exactly 0, and so do their gradients. A query without any
    allowed key gets a pattern and an output of zeros. Vaswani et al. (2017), equation 1, with scale
    = 1/√d_attn.
    """
    scores = scale * score.scores(query, key) + bias
    pattern = masked_softmax(scores, mask)
    return Attended(output=weighted_sums(pattern, value), pattern=pattern)


def masked_softmax(
    scores: Float[Array, "query key"], mask: Bool[Array, "query key"]
) -> Float[Array, "query key"]:
    """Return exp(scoreⱼ) / Σₖ exp(scoreₖ) over the unmasked keys of each query, or zeros."""
    possible = jnp.where(mask, scores, -jnp.inf)
    # Any shift gives the same quotient, so the shift has no gradient.
    largest = jax.lax.stop_gradient(possible.max(axis=-1, keepdims=True))
    # In a row without an unmasked key, JAX's softmax and its gradient would be NaN.
    weights = jnp.exp(possible - jnp.where(largest == -jnp.inf, 0.0, largest))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / jnp.where(total == 0, 1.0, total)


# The glossary page shows the docstrings of masks.
def causal(queries: Int[Array, " query"], keys: Int[Array, " key"]) -> Bool[Array, "query key"]:
    """A position sees itself and earlier positions."""
    return keys[None, :] <= queries[:, None]


def unmasked(queries: Int[Array, " query"], keys: Int[Array, " key"]) -> Bool[Array, "query key"]:
    """A position sees every position."""
    return jnp.ones((queries.size, keys.size), dtype=bool)


def published(queries: Int[Array, " query"], keys: Int[Array, " key"]) -> Bool[Array, "query key"]:
    """A position sees itself and later positions: the blog post's code masks the past."""
    return keys[None, :] >= queries[:, None]


MASKS = MappingProxyType({"causal": causal, "none": unmasked, "published": published})

SCALES = ("1/sqrt(d)", "none", "temperature")


def scale_factor(scale: str, *, d_attn: int, temperature: float) -> float:
    """Return the factor on query · key for a name of `SCALES`: 1/√d_attn, 1, or 1/temperature."""
    return {"1/sqrt(d)": d_attn**-0.5, "none": 1.0, "temperature": 1 / temperature}[scale]


Mask = Callable[[Int[Array, " query"], Int[Array, " key"]], Bool[Array, "query key"]]
Bias = Callable[[Int[Array, " query"], Int[Array, " key"]], Float[Array, "query key"]]


class _Sums(NamedTuple):
    """The running sums of each query over the keys so far, relative to exp(largest)."""

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
    """Return the output of `attend`, without ever holding the whole pattern in memory.

    output = Σⱼ exp(sⱼ - m) vⱼ / Σⱼ exp(sⱼ - m), where sⱼ = scale · query keyⱼ, over the keys that
    `mask` allows. The sums run over chunks of about √keys keys. If a chunk raises the largest score
    from m to m′, the sums so far are multiplied by exp(m - m′). Queries are processed in chunks of
    about √queries, and a backward pass computes each chunk again instead of keeping it. `mask` and
    `bias` are functions of the indices of queries and keys, as in `MASKS`; another `score` replaces
    query keyⱼ. A query without any allowed key gets zeros. Besides arguments and result, memory is
    about √queries · √keys scores at a time, instead of queries · keys.

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
            # The last chunk is padded with keys beyond the end.
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
    # Any shift gives the same quotient of sums, so the shift has no gradient.
    largest = jax.lax.stop_gradient(jnp.maximum(sums.largest, scores.max(axis=1)))
    # Before the first unmasked key the largest score is -inf, which cannot be subtracted.
    shift = jnp.where(jnp.isfinite(largest), largest, 0.0)
    below = jnp.where(unmasked, scores - shift[:, None], -jnp.inf)
    # The compiler may round huge scores differently here and in the maximum; exp would overflow.
    weights = jnp.exp(below - jax.lax.stop_gradient(jnp.maximum(below, 0.0)))
    earlier = jnp.exp(sums.largest - shift)
    return _Sums(
        largest=largest,
        weight=earlier * sums.weight + weights.sum(axis=1),
        output=earlier[:, None] * sums.output + weights @ values,
    )


def _chunk_size(length: int) -> int:
    """Return the next power of two above the root, since lengths are often powers of two."""
    return 2 ** (((length - 1).bit_length() + 1) // 2)


def _chunks(length: int) -> Int[Array, "chunks chunk"]:
    """Return positions in chunks; the last ones may be beyond the length."""
    size = _chunk_size(length)
    return jnp.arange(-(-length // size) * size).reshape(-1, size)


def _chunked(rows: Float[Array, "length width"]) -> Float[Array, "chunks chunk width"]:
    """Return rows in chunks, padded with zeros."""
    positions = _chunks(rows.shape[0])
    padded = jnp.pad(rows, ((0, positions.size - rows.shape[0]), (0, 0)))
    return padded.reshape(*positions.shape, rows.shape[1])
