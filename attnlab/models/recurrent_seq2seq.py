"""`rnn-bottleneck` and `rnn-attention`: one network reads the source, another writes the target."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Key

from attnlab.attention import SCORES, masked_softmax
from attnlab.configuration.options import option
from attnlab.models.base import HIDDEN_STATES, AttentionMap, CellArithmetic, CellPlace, Trace
from attnlab.models.parts import Projection, project, scaled_projection
from attnlab.models.recurrent import CELLS, Cell, advance_cell, build_cell, cell_formula, start_of
from attnlab.models.seq2seq import AbstractSourceModel, AbstractSourceOptions, Memory, among_visible
from attnlab.models.sites import Activations, Carried, Edits, with_edits

_CELL_HELP = "; ".join(f"{name}: {text}" for name, text in CELLS.items()) + "."


@dataclasses.dataclass(frozen=True)
class RNNBottleneckOptions(AbstractSourceOptions):
    """An encoder that reads the source, and a decoder that starts from its final state.

    sᵢ = cell(xᵢ, sᵢ₋₁) from s₀ = 0; h₀ = sₙ and hₜ = cell′(yₜ₋₁, hₜ₋₁), where y₀ = 0 and all
    other tokens x, y are one-hot vectors; logits of target token t = hₜ U + b. Sutskever et al.
    (2014), "Sequence to sequence learning with neural networks", section 2.
    """

    name: ClassVar[str] = "rnn-bottleneck"
    summary: ClassVar[str] = (
        "A recurrent encoder passes only its last state to a recurrent decoder."
    )

    hidden_size: int = option(32, "Width of each state.", low=1, high=256)
    cell: str = option("tanh", f"Update rule of a state. {_CELL_HELP}", choices=tuple(CELLS))

    def parameter_formulas(self) -> Mapping[str, str]:
        return {
            "encoder": cell_formula(self.cell, "vocab"),
            "decoder": cell_formula(self.cell, "vocab"),
            "unembedding": "(hidden_size + 1) × vocab",
        }

    def build(
        self, *, vocab: int, length: int, key: Key[Array, ""], source: int = 1
    ) -> "EncodedRNN":
        return _built(self, vocab, source, key, heads=None)


@dataclasses.dataclass(frozen=True)
class RNNAttentionOptions(AbstractSourceOptions):
    """Like `rnn-bottleneck`, but at every step the decoder attends to all states of the encoder.

    hₜ = tanh(W_hh hₜ₋₁ + W_xh yₜ₋₁ + W_ah aₜ + b_h), or a gated cell of the same inputs, where
    aₜ = Σᵢ αₜᵢ sᵢ and αₜ is the softmax over i of the scores of hₜ₋₁ W_q with sᵢ W_k: `additive`
    v · tanh(q + k), `dot` q · k, `scaled` q · k / √d_attn. Bahdanau et al. (2015), "Neural machine
    translation by jointly learning to align and translate", section 3 and appendix A.1.2, with an
    encoder that reads one way; Luong et al. (2015), section 3.1, on the other scores.
    """

    name: ClassVar[str] = "rnn-attention"
    summary: ClassVar[str] = (
        "Like `rnn-bottleneck`, but the decoder attends to all states of the encoder."
    )

    hidden_size: int = option(32, "Width of each state.", low=1, high=256)
    cell: str = option("tanh", f"Update rule of a state. {_CELL_HELP}", choices=tuple(CELLS))
    d_attn: int = option(32, "Width of query and keys.", low=1, high=128)
    score: str = option(
        "additive",
        "How a state of the decoder is compared with those of the encoder. additive: v · tanh(q + "
        "k); dot: q · k; scaled: q · k / √d.",
        choices=("additive", "dot", "scaled"),
    )

    def parameter_formulas(self) -> Mapping[str, str]:
        return {
            "encoder": cell_formula(self.cell, "vocab"),
            "decoder": cell_formula(self.cell, "(vocab + hidden_size)"),
            "heads.query": "(hidden_size + 1) × d_attn",
            "heads.key": "(hidden_size + 1) × d_attn",
            **({"heads.weights": "d_attn"} if self.score == "additive" else {}),
            "unembedding": "(hidden_size + 1) × vocab",
        }

    def work(self, *, vocab: int, length: int, parameters: int) -> float:
        return float(length * (parameters + length * (self.d_attn + self.hidden_size)))

    def build(
        self, *, vocab: int, length: int, key: Key[Array, ""], source: int = 1
    ) -> "EncodedRNN":
        query_key, key_key, weight_key, rest_key = jr.split(key, 4)
        size, width = self.hidden_size, self.d_attn
        heads = Alignment(
            score=self.score,
            query=scaled_projection(query_key, size, width),
            key=scaled_projection(key_key, size, width),
            weights=jr.normal(weight_key, (width,)) * width**-0.5
            if self.score == "additive"
            else None,
        )
        return _built(self, vocab, source, rest_key, heads=heads)


class Alignment(eqx.Module):
    """The attention of a decoder state over the encoder's states."""

    score: str = eqx.field(static=True)
    query: Projection
    key: Projection
    weights: Float[Array, " d_attn"] | None

    def __call__(
        self, state: Float[Array, " size"], keys: Float[Array, "source d_attn"]
    ) -> Float[Array, " source"]:
        scores = self.scores(project(self.query, state[None]), keys)
        return masked_softmax(scores, jnp.ones(scores.shape, bool))[0]

    def scores(
        self, query: Float[Array, "1 d_attn"], keys: Float[Array, "source d_attn"]
    ) -> Float[Array, "1 source"]:
        """Return the scores of one query with every key."""
        if self.weights is not None:
            return (jnp.tanh(query + keys) @ self.weights)[None]
        return SCORES[self.score]().scores(query, keys)


class EncodedRNN(AbstractSourceModel):
    """The networks that `RNNBottleneckOptions` and `RNNAttentionOptions` describe, with weights."""

    edited_kinds: ClassVar[tuple[str, ...]] = ("cross",)

    options: RNNBottleneckOptions | RNNAttentionOptions = eqx.field(static=True)
    vocab: int = eqx.field(static=True)
    source_length: int = eqx.field(static=True)
    encoder: Cell
    decoder: Cell
    heads: Alignment | None
    unembedding: Projection

    @property
    def has_heads(self) -> bool:
        return self.heads is not None

    def write(
        self,
        source: Float[Array, "source vocab"],
        written: Float[Array, "written vocab"],
        edits: Edits = (),
        capture: Sequence[str] = (),
    ) -> tuple[Float[Array, "target vocab"], Trace]:
        inner = Activations(edits, capture)
        memory, encoded = self._begun(source, inner)
        patterns = inner.patterns("cross")

        def writing(carried, numbered):
            place, token = numbered
            return self._after(Memory(memory.read, carried), token, place, patterns)

        begun = jnp.pad(written, ((1, 0), (0, 0)))
        numbered = (jnp.arange(len(begun)), begun)
        _, states, pattern = inner.scan("state", writing, memory.carried, numbered)
        maps = ()
        if self.heads is not None:
            maps = (AttentionMap(pattern[None], jnp.ones(pattern.shape, bool), 0, "cross"),)
        # One state per visible token: the state of the source's last token is the decoder's first.
        inside = {HIDDEN_STATES: jnp.concatenate([encoded[:-1], states])}
        return project(self.unembedding, states), Trace(maps, inside, inner.kept)

    @property
    def sites(self) -> tuple[str, ...]:
        return "source.state", "state"

    def begin(self, source: Float[Array, "source vocab"], count: int) -> Memory:
        return self._begun(source, Activations())[0]

    def next(
        self, memory: Memory, token: Float[Array, " vocab"]
    ) -> tuple[Float[Array, " vocab"], Memory]:
        carried, _ = self._after(memory, token)
        return project(self.unembedding, carried[0][None])[0], Memory(memory.read, carried)

    def _begun(
        self, source: Float[Array, "source vocab"], inner: Activations
    ) -> tuple[Memory, Float[Array, "source size"]]:
        """Return the memory of a source, and the encoder's states, which attention reads."""

        def reading(carried, token):
            return advance_cell(self.encoder.gates, carried, token), None

        start = start_of(self.encoder.gates, self.options.hidden_size)
        carried, encoded, _ = inner.scan("source.state", reading, start, source)
        read = () if self.heads is None else (encoded, project(self.heads.key, encoded))
        return Memory(read, carried), encoded

    def cell(self, tokens: Int[Array, " length"], place: CellPlace) -> CellArithmetic | None:
        """Return the arithmetic of a target token's attention to one source token, or None."""
        first = self.source_length - 1
        is_cross = (place.layer, place.head, place.kind) == (0, 0, "cross")
        is_there = is_cross and first <= place.query < len(tokens) and place.key <= first
        if self.heads is None or not is_there:
            return None
        parts = _attention_at(self, tokens, jnp.int32(place.query - first))
        query_, key_, scores, pattern, state = (np.asarray(part) for part in parts)
        # `Alignment.scores` includes the scale.
        scale = query_.size**-0.5 if self.heads.score == "scaled" else 1.0
        weights = self.heads.weights
        own = CellArithmetic(
            query=query_,
            key=key_[place.key],
            score=float(scores[place.key] / scale),
            scale=scale,
            bias=0.0,
            scaled=scores,
            unmasked=np.ones(scores.size, bool),
            pattern=pattern,
            kind="additive" if weights is not None else "dot",
            weights=None if weights is None else np.asarray(weights),
            state=state,
        )
        return among_visible(own, 0, len(tokens))

    def _after(
        self,
        memory: Memory,
        token: Float[Array, " vocab"],
        place: Int[Array, ""] | int = 0,
        edits: Edits = (),
    ) -> tuple[Carried, Float[Array, " source"]]:
        """Return the carry after a token, and the attention to the source (empty without heads).

        `place` is the index of the target token predicted next, for the edits.
        """
        carried, pattern = memory.carried, jnp.zeros(0)
        if self.heads is not None:
            encoded, keys = memory.read
            pattern = self.heads(carried[0], keys)
            if edits:
                asking = jnp.asarray(place)[None]
                pattern = with_edits(pattern[None, None], edits, layer=0, queries=asking)[0, 0]
            token = jnp.concatenate([token, pattern @ encoded])
        return advance_cell(self.decoder.gates, carried, token), pattern


@eqx.filter_jit
def _attention_at(model, tokens, place):
    """Return query, keys, scores, pattern and previous state for the target token at `place`."""
    one_hot = jax.nn.one_hot(tokens, model.vocab)
    source, written = jnp.split(one_hot, [model.source_length])
    memory, _ = model._begun(source, Activations())

    def writing(carried, token):
        return model._after(Memory(memory.read, carried), token)[0], carried[0]

    begun = jnp.pad(written, ((1, 0), (0, 0)))
    _, before = jax.lax.scan(writing, memory.carried, begun)
    (_, keys), state = memory.read, before[place]
    query = project(model.heads.query, state[None])
    scores = model.heads.scores(query, keys)[0]
    return query[0], keys, scores, model.heads(state, keys), state


def _built(
    options: RNNBottleneckOptions | RNNAttentionOptions,
    vocab: int,
    source: int,
    key: Key[Array, ""],
    *,
    heads: Alignment | None,
) -> EncodedRNN:
    encoder_key, decoder_key, unembedding_key = jr.split(key, 3)
    size = options.hidden_size
    inputs = vocab if heads is None else vocab + size
    return EncodedRNN(
        options=options,
        vocab=vocab,
        source_length=source,
        encoder=build_cell(options.cell, inputs=vocab, size=size, key=encoder_key),
        decoder=build_cell(options.cell, inputs=inputs, size=size, key=decoder_key),
        heads=heads,
        unembedding=scaled_projection(unembedding_key, size, vocab),
    )
