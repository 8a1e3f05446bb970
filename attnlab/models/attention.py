"""`attention`: one head whose output is the logits, the blog's model."""

import dataclasses
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.attention.head import MASKS, SCALES, attend, scale_factor
from attnlab.configuration.options import option
from attnlab.models.base import AbstractModel, AbstractModelOptions, Trace
from attnlab.models.embedding import Embedding, added, project_days, side_by_side
from attnlab.models.initialisation import (
    INITIALISATION_HELP,
    INITIALISATIONS,
    Projection,
    initial_projection,
)
from attnlab.positions import (
    POSITIONS,
    AbstractPosition,
    AbstractScorePosition,
    Learned,
    position_table,
)


@dataclasses.dataclass(frozen=True)
class AttentionOptions(AbstractModelOptions):
    """One attention head with biases; its values have one component a token and are the logits.

    With the `one-hot` embedding a day's features are its one-hot token and, behind it, the
    features of its position; with `learned`, the token's vector of width `d_model` plus its
    position's vector (a position of another width stands behind it).
    """

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "One self-attention head; its output is the prediction."
    losses: ClassVar[tuple[str, ...]] = ("last", "next", "published")
    readouts: ClassVar[tuple[str, ...]] = ("last", "first")
    attends: ClassVar[bool] = True

    d_attn: int = option(6, "Width of queries and keys.", low=1, high=128)
    embedding: str = option(
        "one-hot",
        "one-hot: token and position side by side; learned: a trained vector each, added.",
        choices=("one-hot", "learned"),
    )
    d_model: int = option(
        8, "Width of learned token vectors and of position vectors.", low=2, high=128
    )
    position: AbstractPosition = option(
        Learned(), "How the order of the days gets in.", registry=POSITIONS
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
    initialisation: str = option("scaled", INITIALISATION_HELP, choices=INITIALISATIONS)

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

        trainable = getattr(self.position, "trainable", False)
        return Attention(
            options=self,
            vocab=vocab,
            length=length,
            tokens=tokens,
            positions=positions if trainable else None,
            query=projection(query_key, self.d_attn),
            key=projection(key_key, self.d_attn),
            value=projection(value_key, vocab),
        )


class HeadParts(NamedTuple):
    """The arguments of `attend` for one sequence."""

    query: Float[Array, "query d_attn"]
    key: Float[Array, "key d_attn"]
    value: Float[Array, "key vocab"]
    mask: Bool[Array, "query key"]
    scale: float
    bias: Float[Array, "query key"]


class Attention(AbstractModel):
    """The head that `AttentionOptions` describes, with its weights."""

    options: AttentionOptions = eqx.field(static=True)
    vocab: int = eqx.field(static=True)
    length: int = eqx.field(static=True)
    tokens: Float[Array, "vocab d_model"] | None
    positions: Float[Array, "length features"] | None
    query: Projection
    key: Projection
    value: Projection

    def __call__(
        self, tokens: Int[Array, " length"], queries: Int[Array, " query"]
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        parts = self.parts(tokens, queries)
        logits, pattern = attend(
            parts.query, parts.key, parts.value, mask=parts.mask, scale=parts.scale, bias=parts.bias
        )
        no_weights = jnp.zeros((tokens.size, self.vocab, 0))
        return logits, Trace(patterns=pattern[None, None], weights=no_weights)

    def parts(self, tokens: Int[Array, " length"], queries: Int[Array, " query"]) -> HeadParts:
        """What `attend` is given for these days, at the positions `queries`."""
        options, days = self.options, jnp.arange(tokens.size)
        embedding, one_hot = self.embedding(), jax.nn.one_hot(tokens, self.vocab)
        asking = embedding._replace(positions=embedding.positions[queries])
        (query,) = project_days((self.query,), asking, one_hot[queries])
        key, value = project_days((self.key, self.value), embedding, one_hot)
        bias = jnp.zeros((queries.size, tokens.size))
        if isinstance(options.position, AbstractScorePosition):
            query = options.position.turn(query, queries)
            key = options.position.turn(key, days)
            bias = options.position.bias(queries, days)
        return HeadParts(
            query=query,
            key=key,
            value=value,
            mask=MASKS[options.mask](queries, days),
            scale=scale_factor(
                options.scale, d_attn=options.d_attn, temperature=options.temperature
            ),
            bias=bias,
        )

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
        return _embedding(self.tokens, positions, self.vocab)


def _embedding(
    tokens: Float[Array, "vocab d_model"] | None,
    positions: Float[Array, "length features"],
    vocab: int,
) -> Embedding:
    if tokens is None:
        return side_by_side(jnp.eye(vocab), positions)
    if tokens.shape[1] == positions.shape[1]:
        return added(tokens, positions)
    return side_by_side(tokens, positions)
