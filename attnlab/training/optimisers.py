"""Optimisers, and learning-rate schedules."""

import abc
import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from attnlab.configuration.options import Options, option
from attnlab.configuration.registry import Registry


class AbstractOptimiser(Options, abc.ABC):
    """A frozen dataclass whose fields are the options of an optax optimiser."""

    name: ClassVar[str]
    summary: ClassVar[str]

    @abc.abstractmethod
    def build(self, learning_rate: float | Float[Array, ""]) -> optax.GradientTransformation:
        """Return the optax optimiser; its state must not depend on the learning rate."""


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
        "Weight decay: each step shrinks a weight by this fraction times the learning rate.",
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


OPTIMISERS = Registry((Adam, AdamW, Sgd))


class AbstractSchedule(Options, abc.ABC):
    """A learning-rate schedule: a frozen dataclass whose fields are its options.

    It is a function of the share of the run that is done, not of the step number, so that a run may
    be resumed with another number of steps by the same compiled program.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    @abc.abstractmethod
    def share(self, done: Float[Array, ""]) -> float | Float[Array, ""]:
        """Return the factor on the learning rate when a share `done` of all steps is made.

        Args:
            done: (step + 1) / (steps + 1), above 0 and below 1.

        """


@dataclasses.dataclass(frozen=True)
class Constant(AbstractSchedule):
    """The learning rate itself, at every step."""

    name: ClassVar[str] = "constant"
    summary: ClassVar[str] = "The same at every step."

    def share(self, done: Float[Array, ""]) -> float:
        return 1.0


def _warm_up_option() -> Any:
    return option(0.1, "Fraction of the steps used for the warm-up.", low=0.01, high=0.9)


@dataclasses.dataclass(frozen=True)
class WarmUpCosine(AbstractSchedule):
    """Linear from 0 to 1 over the warm-up, then half a cosine to 0.

    References:
        Loshchilov and Hutter (2017), "SGDR", equation 5, without restarts.

    """

    name: ClassVar[str] = "warm-up-cosine"
    summary: ClassVar[str] = "Linear warm-up from 0, then cosine decay to 0."

    warm_up: float = _warm_up_option()

    def share(self, done: Float[Array, ""]) -> Float[Array, ""]:
        # A share of all steps for a number of them.
        steps: Any = (self.warm_up, 1.0)
        return jnp.asarray(optax.warmup_cosine_decay_schedule(0.0, 1.0, *steps)(done))


@dataclasses.dataclass(frozen=True)
class InverseSquareRoot(AbstractSchedule):
    """min(t / w, √(w / t)) for the share t of the run and the warm-up w, at whose end it is 1.

    References:
        Vaswani et al. (2017), "Attention is all you need", equation 3, divided by its value
        at the end of the warm-up.

    """

    name: ClassVar[str] = "inverse-square-root"
    summary: ClassVar[str] = (
        "Linear warm-up from 0, then decay with the inverse square root of the steps."
    )

    warm_up: float = _warm_up_option()

    def share(self, done: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.minimum(done / self.warm_up, jnp.sqrt(self.warm_up / done))


SCHEDULES = Registry((Constant, WarmUpCosine, InverseSquareRoot))
