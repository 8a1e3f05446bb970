"""`attention`: one head whose output is the logits, the blog's model."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.attention import MASKS, SCALES, attend, scale_factor
from attnlab.models.base import AbstractModel, AbstractModelOptions, Trace
from attnlab.models.initialisation import (
    INITIALISATION_HELP,
    INITIALISATIONS,
    Projection,
    initial_projection,
    project,
)
from attnlab.options import check_options, option
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

    def __post_init__(self):
        check_options(self)

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "Attention":
        token_key, position_key, query_key, key_key, value_key = jr.split(key, 5)
        tokens = None
        if self.embedding == "learned":
            tokens = jr.normal(token_key, (vocab, self.d_model))
        positions = position_table(
            self.position, length=length, width=self.d_model, key=position_key
        )
        width = _embed(tokens, positions, jnp.zeros(length, dtype=int), vocab).shape[1]

        def projection(key, outputs):
            return initial_projection(self.initialisation, key=key, inputs=width, outputs=outputs)

        trainable = getattr(self.position, "trainable", False)
        return Attention(
            options=self,
            vocab=vocab,
            tokens=tokens,
            positions=positions if trainable else None,
            query=projection(query_key, self.d_attn),
            key=projection(key_key, self.d_attn),
            value=projection(value_key, vocab),
        )


class Attention(AbstractModel):
    """The head that `AttentionOptions` describes, with its weights."""

    options: AttentionOptions = eqx.field(static=True)
    vocab: int = eqx.field(static=True)
    tokens: Float[Array, "vocab d_model"] | None
    positions: Float[Array, "length features"] | None
    query: Projection
    key: Projection
    value: Projection

    def __call__(
        self, tokens: Int[Array, " length"], queries: Int[Array, " query"]
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        options, days = self.options, jnp.arange(tokens.size)
        inputs = self.embed(tokens)
        query = project(self.query, inputs[queries])
        key = project(self.key, inputs)
        bias = 0.0
        if isinstance(options.position, AbstractScorePosition):
            query = options.position.turn(query, queries)
            key = options.position.turn(key, days)
            bias = options.position.bias(queries, days)
        logits, pattern = attend(
            query,
            key,
            project(self.value, inputs),
            mask=MASKS[options.mask](queries, days),
            scale=scale_factor(
                options.scale, d_attn=options.d_attn, temperature=options.temperature
            ),
            bias=bias,
        )
        no_weights = jnp.zeros((tokens.size, self.vocab, 0))
        return logits, Trace(patterns=pattern[None, None], weights=no_weights)

    def embed(self, tokens: Int[Array, " length"]) -> Float[Array, "length features"]:
        """What the head sees of each day: its token and its position."""
        positions = self.positions
        if positions is None:
            # A fixed encoding is a constant of the compiled program, and draws nothing.
            positions = position_table(
                self.options.position,
                length=tokens.size,
                width=self.options.d_model,
                key=jr.key(0),
            )
        return _embed(self.tokens, positions, tokens, self.vocab)


def _embed(
    token_vectors: Float[Array, "vocab d_model"] | None,
    positions: Float[Array, "length features"],
    tokens: Int[Array, " length"],
    vocab: int,
) -> Float[Array, "length inputs"]:
    one_hot = jax.nn.one_hot(tokens, vocab)
    if token_vectors is None:
        return jnp.concatenate([one_hot, positions], axis=1)
    # A product with the one-hot rows has a far cheaper gradient than a look-up on a CPU.
    content = one_hot @ token_vectors
    if content.shape == positions.shape:
        return content + positions
    return jnp.concatenate([content, positions], axis=1)
