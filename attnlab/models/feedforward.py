"""`linear` and `mlp`: models of all tokens at once, without attention."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Key

from attnlab.configuration.options import option
from attnlab.generators import AbstractGenerator
from attnlab.models.base import (
    WEIGHTS_BY_POSITION,
    AbstractModel,
    AbstractModelOptions,
    Logits,
    OneHot,
    Queries,
    Trace,
)
from attnlab.models.parts import (
    ACTIVATION_HELP,
    ACTIVATIONS,
    INITIALISATION_HELP,
    INITIALISATIONS,
    Projection,
    initial_projection,
    project,
    scaled_projection,
)
from attnlab.models.sites import Activations, Edits
from attnlab.optimum import Best
from attnlab.optimum.baselines import best_linear


@dataclasses.dataclass(frozen=True)
class LinearOptions(AbstractModelOptions):
    """Multinomial logistic regression on the flattened one-hot sequence.

    `day_feature` appends the position number (from 1) over 20 to each one-hot token, as the blog
    post of the presets does; such constants only add to the bias.
    """

    name: ClassVar[str] = "linear"
    summary: ClassVar[str] = "Multinomial logistic regression on all tokens at once; no attention."
    every_position: ClassVar[bool] = False
    causal: ClassVar[bool] = False
    attains_reachable: ClassVar[bool] = True

    initialisation: str = option("scaled", INITIALISATION_HELP, choices=INITIALISATIONS)
    day_feature: str = option(
        "without",
        "with: each position has the extra feature t/20, as in the blog post “Understanding "
        "what self-attention is doing”.",
        choices=("without", "with"),
    )

    def reachable(self, generator: AbstractGenerator, length: int, position: int) -> Best:
        """Return the linear predictor of lowest loss; another one may have a higher accuracy."""
        return best_linear(generator, length)

    def parameter_formulas(self) -> Mapping[str, str]:
        features = "(vocab + 1)" if self.day_feature == "with" else "vocab"
        return {"projection": f"(length × {features} + 1) × vocab"}

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "Linear":
        features = vocab + (self.day_feature == "with")
        projection = initial_projection(
            self.initialisation, key=key, inputs=length * features, outputs=vocab
        )
        return Linear(projection=projection, vocab=vocab)


class Linear(AbstractModel):
    """logits = flatten(inputs) W + b."""

    projection: Projection
    vocab: int = eqx.field(static=True)

    def read(self, one_hot: OneHot, queries: Queries) -> tuple[Logits, Trace]:
        """Return the same logits at every query, since they depend on the whole sequence."""
        length = one_hot.shape[0]
        weight = self.projection.weight.reshape(length, -1, self.vocab)
        inputs = one_hot
        if weight.shape[1] > self.vocab:
            numbers = jnp.arange(1, length + 1)[:, None] / 20
            inputs = jnp.concatenate([inputs, numbers], axis=1)
        logits = project(self.projection, inputs.reshape(1, -1))
        trace = Trace(values={WEIGHTS_BY_POSITION: weight[:, : self.vocab]})
        return jnp.tile(logits, (queries.size, 1)), trace


@dataclasses.dataclass(frozen=True)
class MLPOptions(AbstractModelOptions):
    """logits = xₙ W + b with xᵢ = f(xᵢ₋₁ Wᵢ + bᵢ), where x₀ is the flattened one-hot sequence.

    Every position and token has separate weights, so what is learned at one position says nothing
    about another, and the number of parameters grows with the length.
    """

    name: ClassVar[str] = "mlp"
    summary: ClassVar[str] = "Multilayer perceptron on all tokens at once; no attention."
    every_position: ClassVar[bool] = False
    causal: ClassVar[bool] = False

    layers: int = option(1, "Number of hidden layers.", low=1, high=8)
    mlp_width: int = option(64, "Width of the hidden layers.", low=1, high=512, label="MLP width")
    activation: str = option("gelu", ACTIVATION_HELP, choices=tuple(ACTIVATIONS))

    def parameter_formulas(self) -> Mapping[str, str]:
        deeper = "(layers - 1) × (mlp_width + 1) × mlp_width"
        return {
            "layers": f"(length × vocab + 1) × mlp_width + {deeper}",
            "unembedding": "(mlp_width + 1) × vocab",
        }

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "MLP":
        widths = [length * vocab, *[self.mlp_width] * self.layers, vocab]
        *layers, unembedding = (
            scaled_projection(layer_key, inputs, outputs)
            for layer_key, inputs, outputs in zip(
                jr.split(key, self.layers + 1), widths, widths[1:], strict=False
            )
        )
        return MLP(
            vocab=vocab, activation=self.activation, layers=tuple(layers), unembedding=unembedding
        )


class MLP(AbstractModel):
    """The perceptron that `MLPOptions` describes, with its weights."""

    vocab: int = eqx.field(static=True)
    activation: str = eqx.field(static=True)
    layers: tuple[Projection, ...]
    unembedding: Projection

    def read(
        self, one_hot: OneHot, queries: Queries, *, edits: Edits = (), capture: Sequence[str] = ()
    ) -> tuple[Logits, Trace]:
        """Return the same logits at every query: they come from the whole sequence."""
        inner, rows = Activations(edits, capture), one_hot.reshape(1, -1)
        if inner.active:
            # Every position computes the same, unless an edit changes some.
            rows = jnp.tile(rows, (len(one_hot), 1))
        for number, layer in enumerate(self.layers):
            rows = inner.at(f"mlp.{number}", ACTIVATIONS[self.activation](project(layer, rows)))
        logits = project(self.unembedding, rows)
        logits = logits[queries] if inner.active else jnp.tile(logits, (queries.size, 1))
        return logits, Trace(residual=inner.kept)

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple(f"mlp.{number}" for number in range(len(self.layers)))
