"""Parts that several families share: projections, embeddings, normalisations, heads."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.attention import MASKS, SCORES, Attended, attend
from attnlab.configuration.options import present
from attnlab.models.base import CellArithmetic
from attnlab.positions import AbstractPosition, AbstractScorePosition, position_table

INITIALISATIONS = ("scaled", "published", "ones")

INITIALISATION_HELP = (
    "scaled: N(0, 1/inputs), biases 0; published: N(0, 1) for all; ones: all 1, so that all "
    "components start equal."
)


class Projection(NamedTuple):
    """An affine map x W + b of row vectors."""

    # JAX or NumPy arrays.
    weight: Float[Any, "inputs outputs"]
    bias: Float[Any, " outputs"]


def initial_projection(
    initialisation: str, *, key: Key[Array, ""], inputs: int, outputs: int
) -> Projection:
    """Return an initialised projection.

    `scaled`: weights N(0, 1/inputs), biases 0, so that outputs have about the size of the inputs
    (LeCun et al. 1998, "Efficient BackProp", equation 16). `published`: N(0, 1) for every weight
    and bias. `ones`: 1 for every weight and bias.
    """
    if initialisation == "ones":
        return Projection(jnp.ones((inputs, outputs)), jnp.ones(outputs))
    weight_key, bias_key = jr.split(key)
    weight = jr.normal(weight_key, (inputs, outputs))
    if initialisation == "published":
        return Projection(weight, jr.normal(bias_key, (outputs,)))
    return Projection(weight * inputs**-0.5, jnp.zeros(outputs))


def scaled_projection(key: Key[Array, ""], inputs: int, outputs: int) -> Projection:
    """Return an `initial_projection` of the kind `scaled`."""
    return initial_projection("scaled", key=key, inputs=inputs, outputs=outputs)


def project(projection: Projection, rows: Float[Array, "rows inputs"]) -> Float[Array, "rows out"]:
    """Return x W + b for every row x."""
    return multiply(rows, projection.weight) + projection.bias[None, :]


def project_side_by_side(
    projections: Sequence[Projection], rows: Float[Array, "rows inputs"]
) -> tuple[Float[Array, "rows _"], ...]:
    """Return x W + b of every projection for every row x, in one product, which is cheaper."""
    return split_outputs(project(join_projections(projections), rows), projections)


def join_projections(projections: Sequence[Projection]) -> Projection:
    """Return one projection whose outputs are those of `projections`, concatenated."""
    return Projection(
        jnp.concatenate([projection.weight for projection in projections], axis=1),
        jnp.concatenate([projection.bias for projection in projections]),
    )


def split_outputs(
    outputs: Float[Array, "rows outputs"], projections: Sequence[Projection]
) -> tuple[Float[Array, "rows _"], ...]:
    """Split the outputs of joined `projections` into those of each projection."""
    edges = np.cumsum([projection.bias.size for projection in projections])[:-1]
    return tuple(jnp.split(outputs, edges, axis=1))


def multiply(
    rows: Float[Array, "rows inputs"], weight: Float[Array, "inputs out"]
) -> Float[Array, "rows out"]:
    """Return x W for every row x."""
    # For a batch of sequences, the gradient of W is a product over all their rows. If W is
    # transposed first, XLA on a CPU takes a third of the time.
    return rows @ jax.lax.optimization_barrier(weight.T).T


ACTIVATIONS = MappingProxyType(
    {"gelu": jax.nn.gelu, "relu": jax.nn.relu, "silu": jax.nn.silu, "tanh": jnp.tanh}
)
ACTIVATION_HELP = "The nonlinear function of the hidden layers."


# Zhang and Sennrich (2019), equation 4: without a bias.
NORMALISERS = MappingProxyType(
    {
        "LayerNorm": eqx.nn.LayerNorm,
        "RMSNorm": lambda width: eqx.nn.RMSNorm(width, use_bias=False),
    }
)
Normaliser = eqx.nn.LayerNorm | eqx.nn.RMSNorm


def normalise_rows(
    normaliser: Normaliser, rows: Float[Array, "rows width"]
) -> Float[Array, "rows width"]:
    """Normalise each row separately."""
    return jax.vmap(normaliser)(rows)


def normalise_parts(
    normaliser: Normaliser | None, parts: Float[Array, "parts width"]
) -> tuple[Float[Array, "parts width"], Float[Array, " width"]]:
    """Return what each part of a row contributes to the normalised row, and the bias.

    The row is the sum of its parts; contributions and bias sum to the normalised row. All parts are
    divided by one number, the size of the whole row.
    """
    if normaliser is None:
        return parts, jnp.zeros(parts.shape[1])
    if isinstance(normaliser, eqx.nn.LayerNorm):
        parts = parts - parts.mean(axis=1, keepdims=True)
    size = jnp.sqrt((parts.sum(axis=0) ** 2).mean() + normaliser.eps)
    bias = jnp.zeros(parts.shape[1]) if normaliser.bias is None else normaliser.bias
    return parts / size * present(normaliser.weight)[None, :], bias


class Embedding(NamedTuple):
    """Tables of features: the input at a position is its token's row plus its position's row."""

    tokens: Float[Array, "vocab inputs"]
    positions: Float[Array, "length inputs"]


def side_by_side(
    tokens: Float[Array, "vocab token_features"],
    positions: Float[Array, "length position_features"],
) -> Embedding:
    """Return an embedding that concatenates token features and position features."""
    token_width, position_width = tokens.shape[1], positions.shape[1]
    return Embedding(
        tokens=jnp.pad(tokens, ((0, 0), (0, position_width))),
        positions=jnp.pad(positions, ((0, 0), (token_width, 0))),
    )


def embedding_of(
    tokens: Float[Array, "vocab d_model"], positions: Float[Array, "length features"]
) -> Embedding:
    """Return an embedding that adds vectors of equal width, and concatenates others."""
    if tokens.shape[1] == positions.shape[1]:
        return Embedding(tokens, positions)
    return side_by_side(tokens, positions)


def position_features(
    trained: Float[Array, "length features"] | None, options: Any, length: int
) -> Float[Array, "length features"]:
    """Return the trained features of positions, or those of the fixed encoding of `options`."""
    if trained is not None:
        return trained
    # A constant of the compiled program, which needs no random draw.
    table = partial(position_table, options.position, length=length, width=options.d_model)
    return table(key=jr.key(0))


def width_formula(
    tokens: str, position: AbstractPosition, d_model: int, *, side_by_side: bool = False
) -> str:
    """Return the width of an embedding as a formula; `tokens` is the width of token vectors.

    The embedding is made by the function `side_by_side` if that argument is True, otherwise by
    `embedding_of`.
    """
    table = partial(position_table, position, length=1, width=d_model)
    features = jax.eval_shape(lambda: table(key=jr.key(0))).shape[1]
    if not features or (features == d_model and not side_by_side):
        return tokens
    return f"({tokens} + {'d_model' if features == d_model else features})"


def position_formulas(position: AbstractPosition) -> Mapping[str, str]:
    """Return the formula of the positions' parameters, if they are trained."""
    return {"positions": "length × d_model"} if position.trainable else {}


def project_tokens(
    projections: tuple[Projection, ...],
    embedding: Embedding,
    one_hot: Float[Array, "length vocab"],
) -> tuple[Float[Array, "length _"], ...]:
    """Return x W + b of every projection, where x is the embedding of each token at its position.

    Since x is a sum, so is x W: the few rows of tokens and positions are projected once for a whole
    batch, and each sequence only selects from them. A product with one-hot rows has a far cheaper
    gradient on a CPU than a look-up, and projections side by side cost hardly more than one.
    """
    weight, bias = join_projections(projections)
    of_tokens = embedding.tokens @ weight
    of_positions = embedding.positions @ weight + bias[None, :]
    return split_outputs(one_hot @ of_tokens + of_positions, projections)


# `scaled` is missing, since it is `dot` with the scale 1/√d.
SCORE_CHOICES = ("dot", "additive", "gaussian")
SCORE_HELP = (
    "dot: query · key, scaled as below; additive: Σ tanh(query + key); gaussian: minus half the "
    "squared distance."
)


class HeadParts(NamedTuple):
    """The arguments of `attend` for one sequence."""

    query: Float[Array, "query d_attn"]
    key: Float[Array, "key d_attn"]
    value: Float[Array, "key d_value"]
    mask: Bool[Array, "query key"]
    scale: float | Float[Array, ""]
    bias: Float[Array, "query key"]

    @classmethod
    def of(
        cls,
        query: Float[Array, "query d_attn"],
        key: Float[Array, "key d_attn"],
        value: Float[Array, "key d_value"],
        *,
        queries: Int[Array, " query"],
        position: AbstractPosition,
        mask: str,
        scale: float | Float[Array, ""],
        head: int | Int[Array, ""] = 0,
        heads: int = 1,
    ) -> "HeadParts":
        """Apply `position` to the queries, at positions `queries`, and to all keys.

        `head` counts from 0 among the `heads` of its layer.
        """
        positions = jnp.arange(key.shape[0])
        bias = jnp.zeros((queries.size, positions.size))
        if isinstance(position, AbstractScorePosition):
            query, key = position.turn(query, queries), position.turn(key, positions)
            bias = position.bias_of_head(queries, positions, head=head, heads=heads)
        return cls(query, key, value, MASKS[mask](queries, positions), scale, bias)

    def attend(self, score: str = "dot") -> Attended:
        """Return the output and the pattern of the head, with a score of `SCORES`."""
        return attend(
            self.query,
            self.key,
            self.value,
            mask=self.mask,
            scale=self.scale,
            bias=self.bias,
            score=SCORES[score](),
        )

    def cell(self, key: int, score: str = "dot") -> CellArithmetic:
        """Return the arithmetic of the first query's cell at `key`."""
        scores = SCORES[score]().scores(self.query[:1], self.key)[0]
        return CellArithmetic(
            query=np.asarray(self.query[0]),
            key=np.asarray(self.key[key]),
            score=float(scores[key]),
            scale=float(self.scale),
            bias=float(self.bias[0, key]),
            scaled=np.asarray(self.scale * scores + self.bias[0]),
            unmasked=np.asarray(self.mask[0]),
            pattern=np.asarray(self.attend(score).pattern[0]),
            kind=score,
        )


def visible_through(mask: str, position: int, length: int) -> tuple[int, ...]:
    """Return the positions that `position` sees through any number of layers with this mask."""
    unmasked = MASKS[mask](jnp.array([position]), jnp.arange(length))
    return tuple(np.flatnonzero(np.asarray(unmasked)[0]).tolist())
