"""`encoder-decoder`: a transformer that reads a source and writes a target."""

import dataclasses
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.attention import SCALES
from attnlab.configuration.options import OptionError, OrName, option
from attnlab.models.base import AttentionMap, CellArithmetic, CellPlace, Trace
from attnlab.models.parts import (
    ACTIVATION_HELP,
    ACTIVATIONS,
    NORMALISERS,
    Embedding,
    HeadParts,
    Normaliser,
    Projection,
    embedding_of,
    multiply,
    normalise_rows,
    project,
    scaled_projection,
    width_formula,
)
from attnlab.models.seq2seq import (
    AbstractSourceModel,
    AbstractSourceOptions,
    Memory,
    among_visible,
    place_of,
)
from attnlab.models.sites import Activations, Edits, sites_of_layers
from attnlab.models.transformer import TransformerOptions
from attnlab.models.transformer_layer import (
    KeysAndValues,
    TransformerLayer,
    build_layer,
    layer_formulas,
    norm_formula,
)
from attnlab.positions import POSITIONS, AbstractPosition, Learned, NoPosition, position_table


@dataclasses.dataclass(frozen=True)
class EncoderDecoderOptions(AbstractSourceOptions):
    """Encoder layers over the source, without a mask, and decoder layers over the target.

    An encoder layer is a layer of `transformer` without a mask. A decoder layer has causal
    self-attention, then cross-attention: x ← x + Σ over heads of attend(N(x) W_Q, s W_K, s W_V)
    W_O, where s is the encoder's output, then the MLP. A special token begins the target; source
    and target share the token embedding. Cross-attention uses no position encoding of scores, since
    distances between the two sequences mean nothing. Vaswani et al. (2017), section 3.
    """

    name: ClassVar[str] = "encoder-decoder"
    summary: ClassVar[str] = "A transformer encoder reads the source; a decoder writes the target."

    layers: int = option(1, "Number of layers in the encoder, and in the decoder.", low=1, high=6)
    heads: int = option(2, "Number of attention heads per layer.", low=1, high=16)
    d_attn: int = option(16, "Width of queries and keys of each head.", low=1, high=64)
    d_model: int = option(32, "Width of the vectors between layers.", low=2, high=128)
    mlp_width: int = option(
        64, "Hidden width of the MLP after the heads; 0: none.", low=0, high=512, label="MLP width"
    )
    activation: str = option("gelu", ACTIVATION_HELP, choices=tuple(ACTIVATIONS))
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
    scale: str = option("1/sqrt(d)", "Factor on the score before the softmax.", choices=SCALES)
    temperature: float = option(
        1.0, "With scale “temperature”: scores are divided by it.", low=0.01, high=100.0
    )

    def part(self, kind: str) -> TransformerOptions:
        """Return the options of the layers whose maps have this `kind`: see `AttentionMap`."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        changes: dict[str, dict[str, Any]] = {
            "source": {"mask": "none"},
            "self": {"mask": "causal", "mlp_width": 0},
            "cross": {"mask": "none", "position": NoPosition()},
        }
        return TransformerOptions(**(own | changes[kind]))

    def position_tables(
        self, lengths: tuple[int, int], key: Key[Array, ""]
    ) -> tuple[Float[Array, "source d_model"], Float[Array, "target d_model"]]:
        """Return the position features of a source and a target of these lengths."""
        source, target = (
            position_table(self.position, length=length, width=self.d_model, key=part)
            for length, part in zip(lengths, jr.split(key), strict=True)
        )
        return source, target

    def parameter_formulas(self) -> Mapping[str, str]:
        width = width_formula("d_model", self.position, self.d_model)
        stacks = {"encoder": "source", "decoder": "self", "crossing": "cross"}
        return {
            "tokens": "(vocab + 1) × d_model",
            # For both sequences: every visible token has one, and so does the begin token.
            **({"positions": "(length + 1) × d_model"} if self.position.trainable else {}),
            **{
                f"{stack}.{part}": f"layers × {formula}"
                for stack, kind in stacks.items()
                for part, formula in layer_formulas(self.part(kind), width).items()
            },
            **(
                {"normalisations": f"2 × {norm_formula(self.part('self'), width)}"}
                if self.normalisation == "pre"
                else {}
            ),
            "unembedding": f"({width} + 1) × vocab",
        }

    def sees_order(self) -> bool:
        return self.position.tells_order(d_attn=self.d_attn)

    def work(self, *, vocab: int, length: int, parameters: int) -> float:
        weighed = 3 * self.layers * self.heads * length * 2 * self.d_attn
        return float(length * (parameters + weighed))

    def build(
        self, *, vocab: int, length: int, key: Key[Array, ""], source: int = 1
    ) -> "EncoderDecoder":
        token_key, position_key, unembedding_key, layer_key = jr.split(key, 4)
        tokens = jr.normal(token_key, (vocab + 1, self.d_model))
        lengths = (source, length - source + 1)
        positions = self.position_tables(lengths, position_key)
        width = embedding_of(tokens, positions[0]).tokens.shape[1]

        def layers(kind, number):
            keys = jr.split(jr.fold_in(layer_key, number), self.layers)
            options = self.part(kind)
            all_ = eqx.filter_vmap(lambda key: build_layer(options, width, key))(keys)
            return tuple(jax.tree.map(itemgetter(n), all_) for n in range(self.layers))

        normaliser = NORMALISERS[self.normaliser]
        return EncoderDecoder(
            options=self,
            vocab=vocab,
            source_length=source,
            target_length=lengths[1],
            tokens=tokens,
            positions=positions if self.position.trainable else None,
            encoder=layers("source", 0),
            decoder=layers("self", 1),
            crossing=layers("cross", 2),
            normalisations=(normaliser(width), normaliser(width))
            if self.normalisation == "pre"
            else None,
            unembedding=scaled_projection(unembedding_key, width, vocab),
        )


class EncoderDecoder(AbstractSourceModel):
    """The two stacks that `EncoderDecoderOptions` describes, with their weights.

    `decoder` is the self-attention of the decoder's layers; `crossing` is their cross-attention and
    MLPs. The last row of `tokens` is the token that begins the target.
    """

    has_heads: ClassVar[bool] = True
    edited_kinds: ClassVar[tuple[str, ...]] = ("self", "cross", "source")

    options: EncoderDecoderOptions = eqx.field(static=True)
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
        edits: Edits = (),
        capture: Sequence[str] = (),
    ) -> tuple[Float[Array, "target vocab"], Trace]:
        inner = Activations(edits, capture)
        logits, heads = self._run(source, written, inner)
        maps = (AttentionMap(each.pattern, each.parts.mask[0], each.layer, each.kind)
                for each in heads)  # fmt: skip
        return logits, Trace(tuple(maps), residual=inner.kept)

    @property
    def sites(self) -> tuple[str, ...]:
        mlp, layers = ("mlp",) if self.options.mlp_width else (), len(self.encoder)
        encoder = ("embedding", *sites_of_layers(layers, "attention", *mlp), "final")
        decoder = sites_of_layers(layers, "attention", "cross", *mlp)
        return *(f"source.{site}" for site in encoder), "embedding", *decoder, "final"

    def cell(self, tokens: Int[Array, " length"], place: CellPlace) -> CellArithmetic | None:
        """Return the arithmetic of a cell, or None outside the map of its kind."""
        heads = {(each.layer, each.kind): each.parts for each in _all_heads(self, tokens)}
        if (place.layer, place.kind) not in heads:
            return None
        row, column = place_of(place.kind, self.source_length)
        query, key = place.query - row, place.key - column
        one = jax.tree.map(lambda leaf: leaf[place.head], heads[place.layer, place.kind])
        rows, columns = one.mask.shape
        if not (0 <= query < rows and 0 <= key < columns):
            return None
        own = slice(query, query + 1)
        one = one._replace(query=one.query[own], mask=one.mask[own], bias=one.bias[own])
        return among_visible(one.cell(key), column, len(tokens))

    def _run(
        self,
        source: Float[Array, "source vocab"],
        written: Float[Array, "written vocab"],
        inner: Activations,
    ) -> tuple[Float[Array, "target vocab"], "list[_Heads]"]:
        """Return the logits, and the heads of all layers."""
        encoded, heads = self._encode(source, inner)
        begun = jnp.pad(written, ((1, 0), (0, 1))).at[0, -1].set(1.0)
        rows = inner.at("embedding", _embed(begun, embedding_of(self.tokens, self._tables()[1])))
        places, options = jnp.arange(len(rows)), self.options.part("self")
        for number, (layer, cross) in enumerate(zip(self.decoder, self.crossing, strict=True)):
            edits, at = inner.patterns("self"), inner.of_layer(number)
            rows, parts, pattern = layer(rows, places, options, number=number, edits=edits, at=at)
            heads.append(_Heads(number, "self", parts, pattern))
            rows, parts, pattern = cross(
                rows,
                places,
                self.options.part("cross"),
                memory=self._offer(cross, encoded),
                number=number,
                edits=inner.patterns("cross"),
                at=inner.of_layer(number, attention="cross"),
            )
            heads.append(_Heads(number, "cross", parts, pattern))
        return project(self.unembedding, inner.at("final", self._normalise(rows, 1))), heads

    def begin(self, source: Float[Array, "source vocab"], count: int) -> Memory:
        """Return each layer's keys and values of the source, and an empty cache for the target."""
        for name, long, most in (
            ("source", len(source), self.source_length),
            ("count", count, self.target_length),
        ):
            if long > most:
                problem = f"longer than the {most} tokens that the model was made for"
                raise OptionError(name, long, problem, f"Choose {most} or fewer")
        encoded, _ = self._encode(source, Activations())
        seen = (KeysAndValues.empty(self.options.part("self"), count),) * len(self.decoder)
        read = tuple(self._offer(cross, encoded) for cross in self.crossing)
        return Memory(read, (jnp.array(0), seen))

    def next(
        self, memory: Memory, token: Float[Array, " vocab"]
    ) -> tuple[Float[Array, " vocab"], Memory]:
        position, seen = memory.carried
        begun = jnp.append(token, (position == 0).astype(token.dtype))
        tokens, positions = embedding_of(self.tokens, self._tables()[1])
        row = _embed(begun[None], Embedding(tokens, positions[position][None]))[0]
        options, crossing, after = self.options.part("self"), self.options.part("cross"), []
        for layer, cross, own, offered in zip(
            self.decoder, self.crossing, seen, memory.read, strict=True
        ):
            row, own = layer.next_row(row, position, own, options)
            after.append(own)
            row = cross(row[None], jnp.arange(1), crossing, memory=offered)[0][0]
        logits = project(self.unembedding, self._normalise(row[None], 1))[0]
        return logits, Memory(memory.read, (position + 1, tuple(after)))

    def _encode(
        self, source: Float[Array, "source vocab"], inner: Activations
    ) -> tuple[Float[Array, "source width"], "list[_Heads]"]:
        embedding = embedding_of(self.tokens, self._tables()[0])
        rows = inner.at("source.embedding", _embed(jnp.pad(source, ((0, 0), (0, 1))), embedding))
        options, heads = self.options.part("source"), []
        places, edits = jnp.arange(len(rows)), inner.patterns("source")
        for number, layer in enumerate(self.encoder):
            at = inner.of_layer(number, attention="source.attention", mlp="source.mlp")
            rows, parts, pattern = layer(rows, places, options, number=number, edits=edits, at=at)
            heads.append(_Heads(number, "source", parts, pattern))
        return inner.at("source.final", self._normalise(rows, 0)), heads

    def _offer(self, cross: TransformerLayer, encoded: Float[Array, "source width"]):
        return cross.project_kv(encoded, self.options.part("cross"))

    def _normalise(self, rows: Float[Array, "some width"], which: int):
        if self.normalisations is None:
            return rows
        return normalise_rows(self.normalisations[which], rows)

    def _tables(self) -> tuple[Any, Any]:
        if self.positions is not None:
            return self.positions
        # A fixed encoding is a constant of the compiled program, and needs no random draw.
        return self.options.position_tables((self.source_length, self.target_length), jr.key(0))


class _Heads(eqx.Module):
    """The inputs and the attention patterns of one layer's heads."""

    layer: int = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    parts: HeadParts
    pattern: Float[Array, "heads query key"]


@eqx.filter_jit
def _all_heads(model, tokens):
    one_hot = jax.nn.one_hot(tokens, model.vocab)
    return model._run(*jnp.split(one_hot, [model.source_length]), Activations())[1]


def _embed(
    one_hot: Float[Array, "some tokens"], embedding: Embedding
) -> Float[Array, "some width"]:
    return multiply(one_hot, embedding.tokens) + embedding.positions[: len(one_hot)]
