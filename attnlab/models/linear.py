"""`linear`: a weight for every day, weather and outcome."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import option
from attnlab.models.base import AbstractModel, AbstractModelOptions, Trace
from attnlab.models.initialisation import (
    INITIALISATION_HELP,
    INITIALISATIONS,
    Projection,
    initial_projection,
    project,
)


@dataclasses.dataclass(frozen=True)
class LinearOptions(AbstractModelOptions):
    """Multinomial logistic regression on the flattened one-hot sequence.

    `day_feature` appends the day number over 20 to every day's one-hot token, as the blog's
    input has it; these constants only add to the bias.
    """

    name: ClassVar[str] = "linear"
    summary: ClassVar[str] = "Multinomial logistic regression on all days at once; no attention."
    losses: ClassVar[tuple[str, ...]] = ("last",)
    readouts: ClassVar[tuple[str, ...]] = ("last",)
    attends: ClassVar[bool] = False

    initialisation: str = option("scaled", INITIALISATION_HELP, choices=INITIALISATIONS)
    day_feature: str = option(
        "without",
        "with: each day also carries its number over 20, as in the blog.",
        choices=("without", "with"),
    )

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

    def __call__(
        self, tokens: Int[Array, " length"], queries: Int[Array, " query"]
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        """The same logits at every query: they come from the whole sequence."""
        weight = self.projection.weight.reshape(tokens.size, -1, self.vocab)
        inputs = jax.nn.one_hot(tokens, self.vocab)
        if weight.shape[1] > self.vocab:
            days = jnp.arange(1, tokens.size + 1)[:, None] / 20
            inputs = jnp.concatenate([inputs, days], axis=1)
        logits = project(self.projection, inputs.reshape(1, -1))
        no_patterns = jnp.zeros((0, 0, queries.size, tokens.size))
        return (
            jnp.tile(logits, (queries.size, 1)),
            Trace(patterns=no_patterns, weights=weight[:, : self.vocab]),
        )
