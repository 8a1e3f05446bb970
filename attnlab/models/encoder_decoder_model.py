"""The model of `encoder-decoder`, for a whole target at once or token by token."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import OptionError
from attnlab.models.base import AttentionMap, CellArithmetic, Trace
from attnlab.models.generation import Cache, after_layer, nothing_seen
from attnlab.models.parts import (
    Embedding,
    HeadParts,
    Normaliser,
    Projection,
    embedding_of,
    multiply,
    normalised,
    project,
)
from attnlab.models.seq2seq import (
    AbstractSourceModel,
    Memory,
    among_visible,
    place_of,
)
from attnlab.models.sites import Activations, At, Edit, sites_of_layers, unchanged, with_edits
from attnlab.models.transformer_layer import KeysAndValues, TransformerLayer
from attnlab.positions import position_table

if TYPE_CHECKING:
    import attnlab.models.encoder_decoder
# That module imports this one.
Options: TypeAlias = "attnlab.models.encoder_decoder.EncoderDecoderOptions"


class EncoderDecoder(AbstractSourceModel):
    """The two stacks that `EncoderDecoderOptions` describes, with their weights.

    `decoder` is the self-attention of the decoder's layers; `crossing` is their cross-attention and
    MLPs. The last row of `tokens` is the token that begins the target.
    """

    has_heads: ClassVar[bool] = True
    edited_kinds: ClassVar[tuple[str, ...]] = ("self", "cross", "source")

    options: Options = eqx.field(static=True)
    vocab: int = eqx.field(static=True)
    source_length: int = eqx.field(static=True)
    target_length: int = eqx.field(static=True)
    tokens: Float[Array, "tokens d_model"]
    positions: tuple[Float[Array, "source d_model"], Float[Array, "target d_model"]] | None
    encoder: tuple[TransformerLayer, ...]
    decoder: tuple[TransformerLayer, ...]
    crossing: tuple[TransformerLayer, ...]
    normalisations: tuple[Normaliser, Normaliser] | None
    unembedding: Projection

    def write(
        self,
        source: Float[Array, "source vocab"],
        written: Float[Array, "written vocab"],
        edits: Sequence[Edit] = (),
        capture: Sequence[str] = (),
    ) -> tuple[Float[Array, "target vocab"], Trace]:
        inner = Activations(edits, capture)
        logits, asked = self._written(source, written, inner)
        maps = (AttentionMap(each.pattern, each.parts.mask[0], each.layer, each.kind)
                for each in asked)  # fmt: skip
        return logits, Trace(tuple(maps), residual=inner.kept)

    @property
    def sites(self) -> tuple[str, ...]:
        mlp, layers = ("mlp",) if self.options.mlp_width else (), len(self.encoder)
        encoder = ("embedding", *sites_of_layers(layers, "attention", *mlp), "final")
        decoder = sites_of_layers(layers, "attention", "cross", *mlp)
        return *(f"source.{site}" for site in encoder), "embedding", *decoder, "final"

    def cell(
        self,
        tokens: Int[Array, " length"],
        *,
        layer: int,
        head: int,
        query: int,
        key: int,
        kind: str = "self",
    ) -> CellArithmetic | None:
        """Return the arithmetic of a cell, or None outside the map of its kind."""
        asked = {(each.layer, each.kind): each.parts for each in _asked(self, tokens)}
        if (layer, kind) not in asked:
            return None
        (row, column), parts = place_of(kind, self.source_length), asked[layer, kind]
        one, place = jax.tree.map(lambda leaf: leaf[head], parts), key - column
        rows, columns = one.mask.shape
        if not (0 <= query - row < rows and 0 <= place < columns):
            return None
        own = slice(query - row, query - row + 1)
        one = one._replace(query=one.query[own], mask=one.mask[own], bias=one.bias[own])
        return among_visible(one.cell(place), column, len(tokens))

    def _written(
        self,
        source: Float[Array, "source vocab"],
        written: Float[Array, "written vocab"],
        inner: Activations,
    ) -> tuple[Float[Array, "target vocab"], "list[_Asked]"]:
        encoded, asked = self._encoded(source, inner)
        begun = jnp.pad(written, ((1, 0), (0, 1))).at[0, -1].set(1.0)
        rows = inner.at("embedding", _rows(begun, embedding_of(self.tokens, self._tables()[1])))
        places, options = jnp.arange(len(rows)), self.options.part("self")
        for number, (layer, cross) in enumerate(zip(self.decoder, self.crossing, strict=True)):
            own, at = inner.patterns("self"), inner.of_layer(number)
            rows, parts, pattern = layer(rows, places, options, number, own, at)
            asked.append(_Asked(number, "self", parts, pattern))
            own, at = inner.patterns("cross"), inner.of_layer(number, attention="cross")
            offered = self._offered(cross, encoded)
            rows, parts, pattern = self._crossed(cross, rows, offered, number, own, at)
            asked.append(_Asked(number, "cross", parts, pattern))
        return project(self.unembedding, inner.at("final", self._normalised(rows, 1))), asked

    def begin(self, source: Float[Array, "source vocab"], count: int) -> Memory:
        """Return each layer's keys and values of the source, and an empty cache for the target."""
        for name, long, most in (
            ("source", len(source), self.source_length),
            ("count", count, self.target_length),
        ):
            if long > most:
                problem = f"longer than the {most} tokens that the model was made for"
                raise OptionError(name, long, problem, f"Choose {most} or fewer")
        encoded, _ = self._encoded(source, Activations())
        nothing = nothing_seen(self.options.part("self"), count)
        return Memory(
            tuple(self._offered(cross, encoded) for cross in self.crossing),
            Cache(jnp.array(0), (nothing,) * len(self.decoder)),
        )

    def next(
        self, memory: Memory, token: Float[Array, " vocab"]
    ) -> tuple[Float[Array, " vocab"], Memory]:
        position, seen = memory.carried
        begun = jnp.append(token, (position == 0).astype(token.dtype))
        embedding = embedding_of(self.tokens, self._tables()[1])
        row = _rows(begun[None], Embedding(embedding.tokens, embedding.positions[position][None]))[
            0
        ]
        options, layers = self.options.part("self"), []
        for layer, cross, own, offered in zip(
            self.decoder, self.crossing, seen, memory.read, strict=True
        ):
            row, own = after_layer(layer, row, position, own, options)
            layers.append(own)
            row = self._crossed(cross, row[None], offered)[0][0]
        logits = project(self.unembedding, self._normalised(row[None], 1))[0]
        return logits, Memory(memory.read, Cache(position + 1, tuple(layers)))

    def _encoded(
        self, source: Float[Array, "source vocab"], inner: Activations
    ) -> tuple[Float[Array, "source width"], "list[_Asked]"]:
        embedding = embedding_of(self.tokens, self._tables()[0])
        rows = inner.at("source.embedding", _rows(jnp.pad(source, ((0, 0), (0, 1))), embedding))
        options, asked = self.options.part("source"), []
        places, own = jnp.arange(len(rows)), inner.patterns("source")
        for number, layer in enumerate(self.encoder):
            at = inner.of_layer(number, attention="source.attention", mlp="source.mlp")
            rows, parts, pattern = layer(rows, places, options, number, own, at)
            asked.append(_Asked(number, "source", parts, pattern))
        return inner.at("source.final", self._normalised(rows, 0)), asked

    def _offered(
        self, cross: TransformerLayer, encoded: Float[Array, "source width"]
    ) -> KeysAndValues:
        return cross.keys_and_values(encoded, self.options.part("cross"))

    def _crossed(
        self,
        cross: TransformerLayer,
        rows: Float[Array, "some width"],
        seen: KeysAndValues,
        number: int = 0,
        edits: Sequence[Edit] = (),
        at: At = unchanged,
    ) -> tuple[Float[Array, "some width"], HeadParts, Float[Array, "heads some source"]]:
        """Return rows after a layer's cross-attention and MLP, its heads' inputs, and patterns."""
        options = self.options.part("cross")
        places = jnp.arange(len(rows))
        parts = cross.asked(cross.as_read(rows, 0, options), places, seen, options)
        outputs, pattern = jax.vmap(lambda head: head.attended())(parts)
        if edits:
            pattern = with_edits(pattern, edits, layer=number, queries=places)
            outputs = pattern @ parts.value
        return cross.finished(rows, outputs, options, at), parts, pattern

    def _normalised(self, rows: Float[Array, "some width"], which: int):
        if self.normalisations is None:
            return rows
        return normalised(self.normalisations[which], rows)

    def _tables(self) -> tuple[Any, Any]:
        if self.positions is not None:
            return self.positions
        # A fixed encoding is a constant of the compiled program, and needs no random draw.
        return positions_of(self.options, (self.source_length, self.target_length), jr.key(0))


class _Asked(eqx.Module):
    """The inputs and the attention patterns of one layer's heads."""

    layer: int = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    parts: HeadParts
    pattern: Float[Array, "heads query key"]


@eqx.filter_jit
def _asked(model, tokens):
    one_hot = jax.nn.one_hot(tokens, model.vocab)
    return model._written(*jnp.split(one_hot, [model.source_length]), Activations())[1]


def positions_of(
    options: Options, lengths: tuple[int, int], key: Key[Array, ""]
) -> tuple[Array, Array]:
    """Return the position features of a source and a target of these lengths."""
    source, target = (
        position_table(options.position, length=length, width=options.d_model, key=part)
        for length, part in zip(lengths, jr.split(key), strict=True)
    )
    return source, target


def _rows(one_hot: Float[Array, "some tokens"], embedding: Embedding) -> Float[Array, "some width"]:
    return multiply(one_hot, embedding.tokens) + embedding.positions[: len(one_hot)]
