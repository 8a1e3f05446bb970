"""`transformer`: layers of several heads, each with a residual connection and an MLP."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.attention.head import MASKS, SCALES, scale_factor
from attnlab.configuration.options import option
from attnlab.models.base import (
    AbstractModel,
    AbstractModelOptions,
    AttentionMap,
    CellArithmetic,
    Trace,
)
from attnlab.models.embedding import Embedding, embedding_of
from attnlab.models.head_parts import HeadParts, seen_through
from attnlab.models.initialisation import Projection, initial_projection, project
from attnlab.positions import POSITIONS, AbstractPosition, Learned, position_table


@dataclasses.dataclass(frozen=True)
class TransformerOptions(AbstractModelOptions):
    """A stack of layers over the tokens' vectors x, which begin as token plus position.

    Of each layer, with N the layer normalisation before it (`pre`):
    x ← x + Σ over heads of attend(N(x)) W_O, then x ← x + W₂ gelu(W₁ N(x) + b₁) + b₂;
    logits = N(x) U + b. With `post`, x ← N(x + …) instead, and no N before the logits. A position
    encoding of another width than `d_model` stands behind the token's vector.
    Vaswani et al. (2017), section 3; Xiong et al. (2020) on the place of N.
    """

    name: ClassVar[str] = "transformer"
    summary: ClassVar[str] = "Layers of attention heads and MLPs with residual connections."

    layers: int = option(1, "Number of layers.", low=1, high=8)
    heads: int = option(3, "Number of attention heads per layer.", low=1, high=16)
    d_attn: int = option(8, "Width of queries, keys and values of each head.", low=1, high=64)
    d_model: int = option(24, "Width of the vectors between layers.", low=2, high=128)
    mlp_width: int = option(
        48, "Hidden width of the MLP after the heads; 0: none.", low=0, high=512, label="MLP width"
    )
    residual: str = option(
        "with",
        "with: layers add to what they read; without: they replace it.",
        choices=("with", "without"),
    )
    normalisation: str = option(
        "pre",
        "Layer normalisation before each part, after it, or none.",
        choices=("pre", "post", "none"),
    )
    position: AbstractPosition = option(
        Learned(), "Positional encoding: how the model knows the order.", registry=POSITIONS
    )
    mask: str = option(
        "causal",
        "causal: a day sees itself and earlier days; none: all days; published: itself and later.",
        choices=tuple(MASKS),
    )
    scale: str = option("1/sqrt(d)", "Factor on query · key before the softmax.", choices=SCALES)
    temperature: float = option(
        1.0, "With scale “temperature”: scores are divided by it.", low=0.01, high=100.0
    )

    @property
    def causal(self) -> bool:
        return self.mask == "causal"

    def sees(self, position: int, length: int) -> tuple[int, ...]:
        return seen_through(self.mask, position, length)

    def sees_order(self) -> bool:
        # From the second layer on, positions under a mask differ by how many tokens they saw.
        told_by_mask = self.layers > 1 and self.mask != "none"
        return told_by_mask or self.position.tells_order(d_attn=self.d_attn)

    def work(self, *, vocab: int, length: int, parameters: int) -> float:
        weighed = self.layers * self.heads * 2 * length * self.d_attn
        return float(length * (parameters + weighed))

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "Transformer":
        token_key, position_key, unembedding_key, *layer_keys = jr.split(key, 3 + self.layers)
        tokens = jr.normal(token_key, (vocab, self.d_model))
        positions = position_table(
            self.position, length=length, width=self.d_model, key=position_key
        )
        width = embedding_of(tokens, positions).tokens.shape[1]
        return Transformer(
            options=self,
            vocab=vocab,
            length=length,
            tokens=tokens,
            positions=positions if getattr(self.position, "trainable", False) else None,
            layers=tuple(_build_layer(self, width, layer_key) for layer_key in layer_keys),
            normalisation=eqx.nn.LayerNorm(width) if self.normalisation == "pre" else None,
            unembedding=initial_projection(
                "scaled", key=unembedding_key, inputs=width, outputs=vocab
            ),
        )


class TransformerLayer(eqx.Module):
    """The heads and the MLP of one layer; projections of all heads stand side by side."""

    query: Projection
    key: Projection
    value: Projection
    output: Projection
    mlp: tuple[Projection, Projection] | None
    normalisations: tuple[eqx.nn.LayerNorm, eqx.nn.LayerNorm] | None

    def parts(
        self,
        rows: Float[Array, "length width"],
        queries: Int[Array, " query"],
        options: TransformerOptions,
    ) -> HeadParts:
        """What `attend` is given, with an axis for the heads in front."""
        if options.normalisation == "pre":
            rows = jax.vmap(self.normalisations[0])(rows)

        def by_head(projection, some_rows):
            return jnp.stack(jnp.split(project(projection, some_rows), options.heads, axis=1))

        scale = scale_factor(options.scale, d_attn=options.d_attn, temperature=options.temperature)

        def of_head(query, key, value):
            return HeadParts.of(
                query,
                key,
                value,
                queries=queries,
                position=options.position,
                mask=options.mask,
                scale=jnp.float32(scale),
            )

        return jax.vmap(of_head)(
            by_head(self.query, rows[queries]), by_head(self.key, rows), by_head(self.value, rows)
        )

    def __call__(
        self,
        rows: Float[Array, "length width"],
        queries: Int[Array, " query"],
        options: TransformerOptions,
    ) -> tuple[Float[Array, "query width"], HeadParts, Float[Array, "heads query key"]]:
        """The rows of `queries` after this layer, its parts, and its patterns."""
        parts = self.parts(rows, queries, options)
        outputs, pattern = jax.vmap(HeadParts.attended)(parts)
        mixed = project(self.output, jnp.concatenate(list(outputs), axis=1))
        rows = self._joined(rows[queries], mixed, 0, options)
        if self.mlp is not None:
            wide, narrow = self.mlp
            inputs = rows
            if options.normalisation == "pre":
                inputs = jax.vmap(self.normalisations[1])(rows)
            rows = self._joined(
                rows, project(narrow, jax.nn.gelu(project(wide, inputs))), 1, options
            )
        return rows, parts, pattern

    def _joined(self, before, made, part: int, options: TransformerOptions):
        rows = before + made if options.residual == "with" else made
        if options.normalisation == "post":
            rows = jax.vmap(self.normalisations[part])(rows)
        return rows


class Transformer(AbstractModel):
    """The stack that `TransformerOptions` describes, with its weights."""

    options: TransformerOptions = eqx.field(static=True)
    vocab: int = eqx.field(static=True)
    length: int = eqx.field(static=True)
    tokens: Float[Array, "vocab d_model"]
    positions: Float[Array, "length features"] | None
    layers: tuple[TransformerLayer, ...]
    normalisation: eqx.nn.LayerNorm | None
    unembedding: Projection

    def read(
        self,
        one_hot: Float[Array, "length vocab"],
        queries: Int[Array, " query"],
        *,
        source: Float[Array, "source vocab"] | None = None,
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        """Of the last layer, only the rows of `queries` are computed."""
        rows, maps = self._embedded(one_hot), []
        for number, layer in enumerate(self.layers):
            is_last = number == len(self.layers) - 1
            asking = queries if is_last else jnp.arange(one_hot.shape[0])
            rows, parts, pattern = layer(rows, asking, self.options)
            maps.append(AttentionMap(pattern, parts.mask[0], layer=number))
        if self.normalisation is not None:
            rows = jax.vmap(self.normalisation)(rows)
        return project(self.unembedding, rows), Trace(tuple(maps))

    def cell(
        self, tokens: Int[Array, " length"], *, layer: int, head: int, query: int, key: int
    ) -> CellArithmetic:
        rows, everywhere = (
            self._embedded(jax.nn.one_hot(tokens, self.vocab)),
            jnp.arange(len(tokens)),
        )
        for below in self.layers[:layer]:
            rows, _, _ = below(rows, everywhere, self.options)
        parts = self.layers[layer].parts(rows, jnp.array([query]), self.options)
        return jax.tree.map(lambda leaf: leaf[head], parts).cell(key)

    def _embedded(self, one_hot: Float[Array, "length vocab"]) -> Float[Array, "length width"]:
        embedding = self.embedding()
        return one_hot @ embedding.tokens + embedding.positions

    def embedding(self) -> Embedding:
        """The features of every token and of every position."""
        positions = self.positions
        if positions is None:
            # A fixed encoding is a constant of the compiled program, and draws nothing.
            positions = position_table(
                self.options.position,
                length=self.length,
                width=self.options.d_model,
                key=jr.key(0),
            )
        return embedding_of(self.tokens, positions)


def _build_layer(options: TransformerOptions, width: int, key: Key[Array, ""]) -> TransformerLayer:
    keys = iter(jr.split(key, 6))

    def projection(inputs, outputs):
        return initial_projection("scaled", key=next(keys), inputs=inputs, outputs=outputs)

    inner = options.heads * options.d_attn
    mlp = None
    query, key_, value = (projection(width, inner) for _ in range(3))
    output = projection(inner, width)
    if options.mlp_width:
        mlp = projection(width, options.mlp_width), projection(options.mlp_width, width)
    normalisations = None
    if options.normalisation != "none":
        normalisations = eqx.nn.LayerNorm(width), eqx.nn.LayerNorm(width)
    return TransformerLayer(query, key_, value, output, mlp, normalisations)
