"""The two matrix products of attention, with gradients that are quick for small matrices."""

import jax
from jax.lax import optimization_barrier
from jaxtyping import Array, Float

# Transposed matrices are made before the products of the gradients read them: on a CPU XLA
# otherwise multiplies by one as it stands, column by column, and a batch of sequences of ten
# tokens takes more than twice as long.


@jax.custom_jvp
def dot_products(
    query: Float[Array, "query d_attn"], key: Float[Array, "key d_attn"]
) -> Float[Array, "query key"]:
    """query keyᵀ."""
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
    """pattern value."""
    return pattern @ value


@weighted_sums.defjvp
def _weighted_sums_jvp(primals, tangents):
    (pattern, value), (pattern_tangent, value_tangent) = primals, tangents
    by_value = optimization_barrier(optimization_barrier(value_tangent.T) @ pattern.T).T
    return weighted_sums(pattern, value), pattern_tangent @ value + by_value
