"""How weights are moved along a gradient: optimisers, and how their rate goes over a run."""

import abc
import dataclasses
from types import MappingProxyType
from typing import ClassVar

import optax
from jaxtyping import Array, Float

from attnlab.configuration.options import Options, option


class AbstractOptimiser(Options, abc.ABC):
    """A frozen dataclass whose fields are the options of one of optax's optimisers."""

    name: ClassVar[str]
    summary: ClassVar[str]

    @abc.abstractmethod
    def build(self, learning_rate: float | Float[Array, ""]) -> optax.GradientTransformation:
        """The optimiser at that rate, which its state does not depend on."""


@dataclasses.dataclass(frozen=True)
class Adam(AbstractOptimiser):
    """Adam (Kingma and Ba 2015, algorithm 1)."""

    name: ClassVar[str] = "adam"
    summary: ClassVar[str] = (
        "Adaptive step sizes, from running means of each weight's gradient and its square."
    )

    def build(self, learning_rate: float | Float[Array, ""]) -> optax.GradientTransformation:
        return optax.adam(learning_rate)


@dataclasses.dataclass(frozen=True)
class AdamW(AbstractOptimiser):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2)."""

    name: ClassVar[str] = "adamw"
    summary: ClassVar[str] = "Adam with decoupled weight decay."

    weight_decay: float = option(
        0.01,
        (
            "Weight decay: times the learning rate, the fraction subtracted from a weight at "
            "each step."
        ),
        low=0.0,
        high=10.0,
    )

    def build(self, learning_rate: float | Float[Array, ""]) -> optax.GradientTransformation:
        return optax.adamw(learning_rate, weight_decay=self.weight_decay)


@dataclasses.dataclass(frozen=True)
class Sgd(AbstractOptimiser):
    """Gradient descent with momentum m: v ← g + m v, weights ← weights - rate v."""

    name: ClassVar[str] = "sgd"
    summary: ClassVar[str] = "Plain gradient descent, with momentum."

    momentum: float = option(
        0.9, "Momentum: the fraction of the previous update that is kept.", low=0.0, high=0.999
    )

    def build(self, learning_rate: float | Float[Array, ""]) -> optax.GradientTransformation:
        return optax.sgd(learning_rate, momentum=self.momentum)


OPTIMISERS = MappingProxyType({kind.name: kind for kind in (Adam, AdamW, Sgd)})

SCHEDULES = MappingProxyType(
    {
        "constant": "the same at every step",
        "warm-up-cosine": "linear warm-up from 0, then cosine decay to 0",
    }
)


def rate_share(name: str, warm_up: float, done: Float[Array, ""]) -> float | Float[Array, ""]:
    """The share of the learning rate that a schedule of `SCHEDULES` gives at a moment of a run.

    `done` is the share of its steps that are made, and `warm_up` the share that is warm-up.
    """
    if name == "constant":
        return 1.0
    # In shares of a run rather than steps, whose number may change while the program stays.
    return optax.warmup_cosine_decay_schedule(0.0, 1.0, warm_up, 1.0)(done)
