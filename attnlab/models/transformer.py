"""`transformer`: layers of several heads, each with a residual connection and an MLP."""

import dataclasses
from collections.abc import Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.attention import MASKS, SCALES
from attnlab.configuration.options import OrName, option
from attnlab.models.base import (
    AbstractModel,
    AbstractModelOptions,
    AttentionMap,
    CellArithmetic,
    CellPlace,
    Logits,
    OneHot,
    Queries,
    Trace,
)
from attnlab.models.parts import (
    ACTIVATION_HELP,
    ACTIVATIONS,
    NORMALISERS,
    SCORE_CHOICES,
    SCORE_HELP,
    Embedding,
    Normaliser,
    Projection,
    embedding_of,
    multiply,
    normalise_parts,
    normalise_rows,
    position_features,
    position_formulas,
    project,
    scaled_projection,
    visible_through,
    width_formula,
)
from attnlab.models.sites import Activations, Edits, sites_of_layers
from attnlab.models.transformer_layer import (
    TransformerLayer,
    build_layer,
    layer_formulas,
    norm_formula,
)
from attnlab.positions import POSITIONS, AbstractPosition, Learned, position_table


@dataclasses.dataclass(frozen=True)
class TransformerOptions(AbstractModelOptions):
    """A stack of layers over vectors x, which start as token embedding plus position embedding.

    In each layer, with N the layer normalisation before it (`pre`): x ← x + Σ over heads of
    attend(N(x)) W_O, then x ← x + W₂ f(W₁ N(x) + b₁) + b₂; logits = N(x) U + b, where U is the
    transpose of the token embedding if it is tied. With `post`, x ← N(x + …) instead, and no N
    before the logits. A position encoding of another width than `d_model` is concatenated to the
    token's vector. Vaswani et al. (2017), section 3; Xiong et al. (2020) on the place of N; Press
    and Wolf (2017) on the tied U.
    """

    name: ClassVar[str] = "transformer"
    summary: ClassVar[str] = "Layers of attention heads and MLPs with residual connections."
    usual_training: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"steps": 2_000, "data": "fresh", "batch": 256}
    )

    layers: int = option(1, "Number of layers.", low=1, high=8)
    heads: int = option(3, "Number of attention heads per layer.", low=1, high=16)
    d_attn: int = option(8, "Width of queries and keys of each head.", low=1, high=64)
    d_value: int = option(
        0, "Width of the values of each head; 0: as wide as queries and keys.", low=0, high=64
    )
    d_model: int = option(24, "Width of the vectors between layers.", low=2, high=128)
    mlp_width: int = option(
        48, "Hidden width of the MLP after the heads; 0: none.", low=0, high=512, label="MLP width"
    )
    activation: str = option("gelu", ACTIVATION_HELP, choices=tuple(ACTIVATIONS))
    residual: str = option(
        "with",
        "with: layers add their output to their input; without: the output replaces it.",
        choices=("with", "without"),
    )
    normalisation: str = option(
        "pre",
        "Normalisation before attention and MLP (pre), after them (post), or none.",
        choices=("pre", "post", "none"),
    )
    normaliser: str = option(
        "LayerNorm",
        "LayerNorm rescales vectors to mean 0 and variance 1; RMSNorm to mean square 1.",
        choices=tuple(NORMALISERS),
    )
    position: OrName[AbstractPosition] = option(
        Learned(), "Positional encoding: how the model knows the order.", registry=POSITIONS
    )
    mask: str = option(
        "causal",
        "causal: a position sees itself and earlier ones; none: it sees all; published: itself "
        "and later ones.",
        choices=tuple(MASKS),
    )
    score: str = option("dot", SCORE_HELP, choices=SCORE_CHOICES)
    scale: str = option("1/sqrt(d)", "Factor on the score before the softmax.", choices=SCALES)
    temperature: float = option(
        1.0, "With scale “temperature”: scores are divided by it.", low=0.01, high=100.0
    )
    attention: str = option(
        "plain",
        "plain computes all scores at once; chunked computes them in blocks, which needs less "
        "memory. The result is the same.",
        choices=("plain", "chunked"),
    )
    unembedding: str = option(
        "own",
        "own: a separate matrix computes the logits; tied: the token embeddings do.",
        choices=("own", "tied"),
    )

    @property
    def width_of_values(self) -> int:
        """Return the width of the values of each head."""
        return self.d_value or self.d_attn

    @property
    def causal(self) -> bool:
        return self.mask == "causal"

    def parameter_formulas(self) -> Mapping[str, str]:
        width = width_formula("d_model", self.position, self.d_model)
        layer = layer_formulas(self, width)
        return {
            "tokens": "vocab × d_model",
            **position_formulas(self.position),
            **{f"layers.{part}": f"layers × {formula}" for part, formula in layer.items()},
            **({"normalisation": norm_formula(self, width)} if self.normalisation == "pre" else {}),
            "unembedding": f"({width} + 1) × vocab" if self.unembedding == "own" else "vocab",
        }

    def sees(self, position: int, length: int) -> tuple[int, ...]:
        return visible_through(self.mask, position, length)

    def sees_order(self) -> bool:
        # From the second layer on, positions under a mask differ by how many tokens they saw.
        told_by_mask = self.layers > 1 and self.mask != "none"
        return told_by_mask or self.position.tells_order(d_attn=self.d_attn)

    def work(self, *, vocab: int, length: int, parameters: int) -> float:
        weighed = self.layers * self.heads * length * (self.d_attn + self.width_of_values)
        return float(length * (parameters + weighed))

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "Transformer":
        keys = jr.split(key, 3 + self.layers)
        (token_key, position_key, unembedding_key), layer_keys = keys[:3], keys[3:]
        tokens = jr.normal(token_key, (vocab, self.d_model))
        positions = position_table(
            self.position, length=length, width=self.d_model, key=position_key
        )
        width = embedding_of(tokens, positions).tokens.shape[1]
        # All at once: compiling the draws of every layer separately takes a third of a second each.
        layers = eqx.filter_vmap(lambda layer_key: build_layer(self, width, layer_key))(layer_keys)
        return Transformer(
            options=self,
            vocab=vocab,
            length=length,
            tokens=tokens,
            positions=positions if self.position.trainable else None,
            layers=tuple(jax.tree.map(itemgetter(n), layers) for n in range(self.layers)),
            normalisation=NORMALISERS[self.normaliser](width)
            if self.normalisation == "pre"
            else None,
            unembedding=scaled_projection(unembedding_key, width, vocab)
            if self.unembedding == "own"
            else jnp.zeros(vocab),
        )


class Transformer(AbstractModel):
    """The stack that `TransformerOptions` describes, with its weights."""

    has_heads: ClassVar[bool] = True

    options: TransformerOptions = eqx.field(static=True)
    vocab: int = eqx.field(static=True)
    length: int = eqx.field(static=True)
    tokens: Float[Array, "vocab d_model"]
    positions: Float[Array, "length features"] | None
    layers: tuple[TransformerLayer, ...]
    normalisation: Normaliser | None
    # Only a bias if the unembedding is tied.
    unembedding: Projection | Float[Array, " vocab"]

    def read(
        self, one_hot: OneHot, queries: Queries, *, edits: Edits = (), capture: Sequence[str] = ()
    ) -> tuple[Logits, Trace]:
        """Return the logits and the trace.

        Unless a site is captured or edited, the last layer computes only the rows of `queries`.
        """
        inner, everywhere = Activations(edits, capture), jnp.arange(one_hot.shape[0])
        rows, maps = inner.at("embedding", self._embedded(one_hot)), []
        for number, layer in enumerate(self.layers):
            is_last = number == len(self.layers) - 1
            asking = queries if is_last and not inner.active else everywhere
            rows, parts, pattern = layer(
                rows,
                asking,
                self.options,
                number=number,
                edits=inner.patterns(),
                at=inner.of_layer(number),
            )
            maps.append(AttentionMap(pattern, parts.mask[0], layer=number))
        rows = inner.at("final", self._final(rows))
        if inner.active:
            rows, last = rows[queries], maps.pop()
            maps.append(AttentionMap(last.pattern[:, queries], last.mask[queries], last.layer))
        return self._logits(rows), Trace(tuple(maps), residual=inner.kept)

    @property
    def sites(self) -> tuple[str, ...]:
        parts = ("attention", "mlp") if self.options.mlp_width else ("attention",)
        return "embedding", *sites_of_layers(len(self.layers), *parts), "final"

    def logits(self, rows: Float[Array, "query width"]) -> Float[Array, "query vocab"]:
        """Return the logits of rows after the last layer."""
        return self._logits(self._final(rows))

    def _final(self, rows: Float[Array, "query width"]) -> Float[Array, "query width"]:
        return rows if self.normalisation is None else normalise_rows(self.normalisation, rows)

    def _logits(self, rows: Float[Array, "query width"]) -> Float[Array, "query vocab"]:
        if isinstance(self.unembedding, Projection):
            return project(self.unembedding, rows)
        # Concatenated position features have no part in the tied product.
        return rows[:, : self.options.d_model] @ self.tokens.T + self.unembedding[None, :]

    def cell(self, tokens: Int[Array, " length"], place: CellPlace) -> CellArithmetic:
        parts = _project_layer(self, tokens, place.layer, jnp.array([place.query]))
        return jax.tree.map(lambda leaf: leaf[place.head], parts).cell(
            place.key, self.options.score
        )

    @property
    def logits_are_a_sum(self) -> bool:
        return self.options.residual == "with" and self.options.normalisation != "post"

    def contributions(
        self, tokens: Int[Array, " length"], query: Int[Array, ""] | int
    ) -> dict[str, Float[Array, " vocab"]] | None:
        """Return the contributions of the embedding, each head, the rest of each layer, and biases.

        The final normalisation divides all parts by the same number, its divisor on this sequence,
        so that their contributions add up. Elhage et al. (2021), "A mathematical framework for
        transformer circuits", on direct paths to the logits.
        """
        if not self.logits_are_a_sum:
            return None
        parts = self.parts_of_row(tokens, query, len(self.layers))
        parts = {"embedding": parts.pop("token") + parts.pop("position"), **parts}
        weighed, bias = normalise_parts(self.normalisation, jnp.stack(list(parts.values())))
        biases = self._logits(bias[None])[0]
        # Subtract the logits of a zero row, which are the biases.
        made = self._logits(weighed) - self._logits(jnp.zeros((1, bias.size)))
        return {**dict(zip(parts, made, strict=True)), "biases": biases}

    def parts_of_row(
        self, tokens: Int[Array, " length"], place: Int[Array, ""] | int, layers: int
    ) -> dict[str, Float[Array, " width"]]:
        """Return the parts that sum to the row of one position after the first `layers` layers.

        They are the token, the position, each head, and the rest of each layer.
        """
        embedding, read = self.embedding(), self.inputs_of_layers(tokens)
        parts = {"token": embedding.tokens[tokens[place]], "position": embedding.positions[place]}
        for number, (layer, rows) in enumerate(zip(self.layers[:layers], read, strict=False), 1):
            heads, rest = layer.contributions(rows, place, self.options)
            parts |= {f"layer {number}, head {head + 1}": row for head, row in enumerate(heads)}
            parts[f"layer {number}, {'MLP' if layer.mlp is not None else 'bias'}"] = rest
        return parts

    def copying_circuits(self) -> Float[Array, "layers heads vocab vocab"] | None:
        if not self.logits_are_a_sum:
            return None
        tokens = self.embedding().tokens

        def of_head(rows):
            return self._logits(normalise_parts(self.normalisation, rows)[0])

        return jnp.stack(
            [jax.vmap(of_head)(layer.project_vo(tokens, self.options)) for layer in self.layers]
        )

    def inputs_of_layers(self, tokens: Int[Array, " length"]) -> list[Float[Array, "length width"]]:
        """Return the rows that each layer reads, at all positions."""
        read = [self._embedded(jax.nn.one_hot(tokens, self.vocab))]
        for layer in self.layers[:-1]:
            read.append(layer(read[-1], jnp.arange(len(tokens)), self.options)[0])
        return read

    def _embedded(self, one_hot: Float[Array, "length vocab"]) -> Float[Array, "length width"]:
        embedding = self.embedding()
        return multiply(one_hot, embedding.tokens) + embedding.positions

    def embedding(self) -> Embedding:
        """Return the features of every token and of every position."""
        positions = position_features(self.positions, self.options, self.length)
        return embedding_of(self.tokens, positions)


@eqx.filter_jit
def _project_layer(model, tokens, number, queries):
    rows = model.inputs_of_layers(tokens)[number]
    return model.layers[number].project_qkv(rows, queries, model.options)
