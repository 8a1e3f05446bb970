"""`attention`: a single head whose output is the logits, as in the blog post of the presets."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Key

from attnlab.attention import MASKS, SCALES, scale_factor
from attnlab.configuration.options import Finding, OrName, option
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
    INITIALISATION_HELP,
    INITIALISATIONS,
    SCORE_CHOICES,
    SCORE_HELP,
    Embedding,
    HeadParts,
    Projection,
    embedding_of,
    initial_projection,
    position_features,
    position_formulas,
    project,
    project_side_by_side,
    project_tokens,
    side_by_side,
    visible_through,
    width_formula,
)
from attnlab.models.sites import Activations, Edits, with_edits
from attnlab.positions import POSITIONS, AbstractPosition, Learned, position_table


@dataclasses.dataclass(frozen=True)
class AttentionOptions(AbstractModelOptions):
    """One attention head with biases; its values have width `vocab`, so its output is the logits.

    With the `one-hot` embedding, the input at a position is the token's one-hot vector followed by
    the position's features. With `learned`, it is the token's vector of width `d_model` plus the
    position's vector (concatenated if the widths differ).
    """

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "One self-attention head; its output is the prediction."

    d_attn: int = option(6, "Width of queries and keys.", low=1, high=128)
    embedding: str = option(
        "one-hot",
        "one-hot: token and position are concatenated; learned: each has a trained vector, and "
        "both are added.",
        choices=("one-hot", "learned"),
    )
    d_model: int = option(
        8, "Width of learned token vectors and of position vectors.", low=2, high=128
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
    initialisation: str = option("scaled", INITIALISATION_HELP, choices=INITIALISATIONS)

    @property
    def causal(self) -> bool:
        return self.mask == "causal"

    def parameter_formulas(self) -> Mapping[str, str]:
        learned = self.embedding == "learned"
        width = width_formula(
            "d_model" if learned else "vocab",
            self.position,
            self.d_model,
            side_by_side=not learned,
        )
        return {
            **({"tokens": "vocab × d_model"} if learned else {}),
            **position_formulas(self.position),
            "query": f"({width} + 1) × d_attn",
            "key": f"({width} + 1) × d_attn",
            "value": f"({width} + 1) × vocab",
        }

    def sees(self, position: int, length: int) -> tuple[int, ...]:
        return visible_through(self.mask, position, length)

    def sees_order(self) -> bool:
        return self.position.tells_order(d_attn=self.d_attn)

    def work(self, *, vocab: int, length: int, parameters: int) -> float:
        # Every token is compared with all tokens, by keys of width d_attn and values of width
        # vocab.
        return float(length * (parameters + 2 * length * (self.d_attn + vocab)))

    def findings(self, *, loss: str, length: int) -> Iterator[Finding]:
        if self.initialisation == "ones":
            yield Finding(
                "initialisation",
                "With all weights 1, all components of a query are equal, and so are those of a "
                "key. Their gradients are equal too, unless `rotary` turns them, so they stay "
                "equal. "
                + "The head is then no better than one of width 1. " * (self.score != "additive")
                + "Choose the initialisation `scaled`.",
            )
        yield from super().findings(loss=loss, length=length)

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "Attention":
        token_key, position_key, query_key, key_key, value_key = jr.split(key, 5)
        tokens = None
        if self.embedding == "learned":
            tokens = jr.normal(token_key, (vocab, self.d_model))
        positions = position_table(
            self.position, length=length, width=self.d_model, key=position_key
        )
        width = _embedding(tokens, positions, vocab).tokens.shape[1]

        def projection(key, outputs):
            return initial_projection(self.initialisation, key=key, inputs=width, outputs=outputs)

        return Attention(
            options=self,
            vocab=vocab,
            length=length,
            tokens=tokens,
            positions=positions if self.position.trainable else None,
            query=projection(query_key, self.d_attn),
            key=projection(key_key, self.d_attn),
            value=projection(value_key, vocab),
        )


class Attention(AbstractModel):
    """The head that `AttentionOptions` describes, with its weights."""

    has_heads: ClassVar[bool] = True

    options: AttentionOptions = eqx.field(static=True)
    vocab: int = eqx.field(static=True)
    length: int = eqx.field(static=True)
    tokens: Float[Array, "vocab d_model"] | None
    positions: Float[Array, "length features"] | None
    query: Projection
    key: Projection
    value: Projection

    def read(
        self, one_hot: OneHot, queries: Queries, *, edits: Edits = (), capture: Sequence[str] = ()
    ) -> tuple[Logits, Trace]:
        inner, rows = Activations(edits, capture), None
        if inner.active:
            embedding = self.embedding()
            rows = inner.at("embedding", one_hot @ embedding.tokens + embedding.positions)
        parts = self.parts(one_hot, queries, rows)
        logits, pattern = parts.attend(self.options.score)
        if inner.patterns():
            pattern = with_edits(pattern[None], inner.patterns(), layer=0, queries=queries)[0]
            logits = pattern @ parts.value
        maps = (AttentionMap(pattern[None], parts.mask, layer=0),)
        return logits, Trace(maps, residual=inner.kept)

    @property
    def sites(self) -> tuple[str, ...]:
        # The output of the head is the logits already.
        return ("embedding",)

    def cell(self, tokens: Int[Array, " length"], place: CellPlace) -> CellArithmetic:
        parts = self.parts(jax.nn.one_hot(tokens, self.vocab), jnp.array([place.query]))
        return parts.cell(place.key, self.options.score)

    def copying_circuits(self) -> Float[Array, "layers heads vocab vocab"]:
        # The values are the logits already.
        return (self.embedding().tokens @ self.value.weight)[None, None]

    def parts(
        self,
        one_hot: Float[Array, "length vocab"],
        queries: Int[Array, " query"],
        rows: Float[Array, "length features"] | None = None,
    ) -> HeadParts:
        """Return the arguments of `attend` for these one-hot tokens, at the positions `queries`.

        `rows`, if given, replace the embedded tokens.
        """
        options, embedding = self.options, self.embedding()
        if rows is None:
            asking = embedding._replace(positions=embedding.positions[queries])
            (query,) = project_tokens((self.query,), asking, one_hot[queries])
            key, value = project_tokens((self.key, self.value), embedding, one_hot)
        else:
            query = project(self.query, rows[queries])
            key, value = project_side_by_side((self.key, self.value), rows)
        return HeadParts.of(
            query,
            key,
            value,
            queries=queries,
            position=options.position,
            mask=options.mask,
            scale=scale_factor(
                options.scale, d_attn=options.d_attn, temperature=options.temperature
            ),
        )

    def embedding(self) -> Embedding:
        """Return the features of every token and of every position."""
        positions = position_features(self.positions, self.options, self.length)
        return _embedding(self.tokens, positions, self.vocab)


def _embedding(
    tokens: Float[Array, "vocab d_model"] | None,
    positions: Float[Array, "length features"],
    vocab: int,
) -> Embedding:
    if tokens is None:
        return side_by_side(jnp.eye(vocab), positions)
    return embedding_of(tokens, positions)


class PaddedHead(Attention):
    """An `Attention` whose queries and keys are widened by components that are always 0.

    If both a query's and a key's component are 0, so are the gradients of their weights. Adam
    leaves them at 0, and the head computes and trains like the narrow one. `factor` multiplies the
    scores. It is not trained, and is an array so that all widths share one compiled program.
    """

    factor: Float[Array, ""]

    def parts(self, *given: Any) -> HeadParts:
        return super().parts(*given)._replace(scale=jax.lax.stop_gradient(self.factor))


def padded(model: Attention, width: int, *, scale: str, gain: float) -> PaddedHead:
    """Return `model` widened to `width`, with queries and keys scaled by `gain`.

    `scale`, a name of `SCALES`, is the factor on the scores, computed for the original width.
    """
    options = model.options
    if not options.d_attn <= width:
        raise ValueError(f"`width` is {width}: the head has {options.d_attn} already.")

    def widened(projection: Projection) -> Projection:
        more = ((0, 0), (0, width - options.d_attn))
        # In NumPy, since JAX would compile a program for every width.
        weight, bias = (np.float32(gain) * np.asarray(part) for part in projection)
        return Projection(
            *(jnp.asarray(part) for part in (np.pad(weight, more), np.pad(bias, more[1:])))
        )

    # One name for all heads, since static fields are part of the compilation key.
    wide = dataclasses.replace(options, d_attn=width, scale="none")
    factor = scale_factor(scale, d_attn=options.d_attn, temperature=options.temperature)
    return PaddedHead(
        options=wide,
        vocab=model.vocab,
        length=model.length,
        tokens=model.tokens,
        positions=model.positions,
        query=widened(model.query),
        key=widened(model.key),
        value=model.value,
        factor=jnp.asarray(np.float32(factor)),
    )
