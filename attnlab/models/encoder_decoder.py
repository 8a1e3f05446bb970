"""`encoder-decoder`: the options of a transformer that reads a source and writes a target."""

import dataclasses
from collections.abc import Mapping
from operator import itemgetter
from typing import ClassVar

import equinox as eqx
import jax
import jax.random as jr
from jaxtyping import Array, Key

from attnlab.attention import SCALES
from attnlab.configuration.options import OrName, option
from attnlab.models.encoder_decoder_model import EncoderDecoder, positions_of
from attnlab.models.parts import (
    ACTIVATION_HELP,
    ACTIVATIONS,
    NORMALISERS,
    embedding_of,
    initial_projection,
    width_in_words,
)
from attnlab.models.seq2seq import AbstractSourceOptions
from attnlab.models.transformer import TransformerOptions
from attnlab.models.transformer_layer import build_layer, layer_formulas, norm_formula
from attnlab.positions import POSITIONS, AbstractPosition, Learned, NoPosition


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
        return TransformerOptions(
            layers=self.layers,
            heads=self.heads,
            d_attn=self.d_attn,
            d_model=self.d_model,
            mlp_width=0 if kind == "self" else self.mlp_width,
            activation=self.activation,
            normalisation=self.normalisation,
            normaliser=self.normaliser,
            position=NoPosition() if kind == "cross" else self.position,
            mask="causal" if kind == "self" else "none",
            scale=self.scale,
            temperature=self.temperature,
        )

    def parameter_formulas(self) -> Mapping[str, str]:
        width = width_in_words("d_model", self.position, self.d_model)
        stacks = {"encoder": "source", "decoder": "self", "crossing": "cross"}
        trained = getattr(self.position, "trainable", False)
        return {
            "tokens": "(vocab + 1) × d_model",
            # For both sequences: every visible token has one, and so does the begin token.
            **({"positions": "(length + 1) × d_model"} if trained else {}),
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
    ) -> EncoderDecoder:
        token_key, position_key, unembedding_key, layer_key = jr.split(key, 4)
        tokens = jr.normal(token_key, (vocab + 1, self.d_model))
        lengths = (source, length - source + 1)
        positions = positions_of(self, lengths, position_key)
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
            positions=positions if getattr(self.position, "trainable", False) else None,
            encoder=layers("source", 0),
            decoder=layers("self", 1),
            crossing=layers("cross", 2),
            normalisations=(normaliser(width), normaliser(width))
            if self.normalisation == "pre"
            else None,
            unembedding=initial_projection(
                "scaled", key=unembedding_key, inputs=width, outputs=vocab
            ),
        )
