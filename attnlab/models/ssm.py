"""`ssm`: a linear state-space model."""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import option
from attnlab.generators import AbstractGenerator
from attnlab.models.base import TIME_SCALES
from attnlab.models.parts import (
    ACTIVATION_HELP,
    ACTIVATIONS,
    Projection,
    project,
    scaled_projection,
)
from attnlab.models.recurrent import AbstractRecurrent, AbstractRecurrentOptions, Carried
from attnlab.models.sites import Activations
from attnlab.optimum import Best
from attnlab.optimum.baselines import best_linear


@dataclasses.dataclass(frozen=True)
class SSMOptions(AbstractRecurrentOptions):
    """hₜ = a ⊙ hₜ₋₁ + √(1 - a²) ⊙ (x W + b) from h₀ = 0; logits of token t + 1 = m(hₜ) U + b′.

    x is the token's one-hot vector and m(h) = f(h W₁ + b₁), or h itself with `mlp_width` 0. The
    eigenvalues a = exp(-exp r) are between 0 and 1 for all trained r; component i decays by the
    factor e in exp(-rᵢ) tokens. Gu et al. (2022), "On the parameterization and initialization of
    diagonal state space models", section 3; Orvieto et al. (2023), "Resurrecting recurrent neural
    networks for long sequences", equations 6 and 7.
    """

    name: ClassVar[str] = "ssm"
    summary: ClassVar[str] = "Linear state space model: a state that fades; no attention."

    mlp_width: int = option(
        64,
        "Hidden width of the MLP on the state. With 0 the model is linear.",
        low=0,
        high=512,
        label="MLP width",
    )
    activation: str = option("gelu", ACTIVATION_HELP, choices=tuple(ACTIVATIONS))

    def reachable(self, generator: AbstractGenerator, length: int, position: int) -> Best | None:
        if self.mlp_width or position < length - 1:
            return super().reachable(generator, length, position)
        return best_linear(generator, length)

    def parameter_formulas(self) -> Mapping[str, str]:
        width = "mlp_width" if self.mlp_width else "hidden_size"
        return {
            "log_rates": "hidden_size",
            "inputs": "(vocab + 1) × hidden_size",
            **({"mlp": "(hidden_size + 1) × mlp_width"} if self.mlp_width else {}),
            "unembedding": f"({width} + 1) × vocab",
        }

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "SSM":
        rate_key, input_key, mlp_key, unembedding_key = jr.split(key, 4)
        size, width = self.hidden_size, self.mlp_width or self.hidden_size
        # Time scales are evenly spaced in their logarithm, from one token to the whole sequence.
        scales = jr.uniform(rate_key, (size,), maxval=jnp.log(max(length, 2)))

        return SSM(
            vocab=vocab,
            activation=self.activation,
            log_rates=-scales,
            inputs=scaled_projection(input_key, vocab, size),
            mlp=scaled_projection(mlp_key, size, width) if self.mlp_width else None,
            unembedding=scaled_projection(unembedding_key, width, vocab),
        )


class SSM(AbstractRecurrent):
    """The state space model that `SSMOptions` describes, with its weights."""

    vocab: int = eqx.field(static=True)
    activation: str = eqx.field(static=True)
    log_rates: Float[Array, " size"]
    inputs: Projection
    mlp: Projection | None
    unembedding: Projection

    def start(self) -> Carried:
        return (jnp.zeros(self.log_rates.size),)

    def after(self, carried: Carried, token: Float[Array, " vocab"]) -> Carried:
        (state,) = carried
        rates = jnp.exp(self.log_rates)
        # 1 - a², without cancellation where a is near 1.
        gain = jnp.sqrt(-jnp.expm1(-2 * rates))
        return (jnp.exp(-rates) * state + gain * (token @ self.inputs.weight + self.inputs.bias),)

    def read_out(
        self,
        states: Float[Array, "length size"],
        queries: Int[Array, " query"],
        inner: Activations,
    ) -> Float[Array, "query width"]:
        if self.mlp is None:
            return states[queries]
        # A site has all positions.
        if inner.active:
            rows = ACTIVATIONS[self.activation](project(self.mlp, states))
            return inner.at("mlp.0", rows)[queries]
        return ACTIVATIONS[self.activation](project(self.mlp, states[queries]))

    @property
    def sites(self) -> tuple[str, ...]:
        return ("state",) if self.mlp is None else ("state", "mlp.0")

    def inside(self) -> Mapping[str, Array]:
        return {TIME_SCALES: jnp.exp(-self.log_rates)}
