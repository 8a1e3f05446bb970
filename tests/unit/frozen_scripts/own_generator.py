"""A generator of one's own, as the guide of version 0.1.0 had it."""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp

from attnlab.configuration.options import check_options, option
from attnlab.generators.base import AbstractGenerator
from attnlab.generators.vocabulary import WEATHER, Vocabulary


@dataclasses.dataclass(frozen=True)
class Turns(AbstractGenerator):
    """Day t is weather t mod 3 with probability 1 - noise, and each other with noise / 2."""

    name: ClassVar[str] = "turns"
    summary: ClassVar[str] = "The weathers take turns."
    vocabulary: ClassVar[Vocabulary] = WEATHER

    noise: float = option(0.1, "Probability that a day is out of turn.", low=0.01, high=0.6)

    def __post_init__(self):
        check_options(self)

    def at_length(self, length):
        return self

    def start(self):
        return jnp.int32(0)

    def log_probs(self, belief):
        in_turn = jnp.arange(3) == belief % 3
        return jnp.log(jnp.where(in_turn, 1 - self.noise, self.noise / 2))

    def update(self, belief, token):
        return belief + 1
