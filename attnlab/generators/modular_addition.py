"""`modular-addition`: two random numbers, an equals sign, and their sum modulo p."""

import dataclasses
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import option
from attnlab.generators.base import AbstractGenerator
from attnlab.generators.display import lines_latex
from attnlab.generators.vocabulary import Vocabulary

# The tokens of an equation: a, b, =, c.
_EQUATION = 4


class PartOfEquation(NamedTuple):
    """The sum, modulo p, of the numbers of this equation so far, and how many tokens it has."""

    total: Int[Array, ""]
    seen: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class ModularAddition(AbstractGenerator):
    """Equations a b = c with c = (a + b) mod p, for uniform a and b.

    The three tokens before c are visible, so there are p² different sequences. The sum is certain:
    the floor is 0 nats, and the accuracy of the best prediction is 1. Without the two numbers the
    best loss is log p. With the test set `distinct`, `train_size` pairs are trained, and
    `test_size` others are tested.

    References:
        Power et al. (2022), "Grokking: generalization beyond overfitting on small algorithmic
        datasets".
        Nanda et al. (2023), "Progress measures for grokking via mechanistic interpretability".
    """

    name: ClassVar[str] = "modular-addition"
    summary: ClassVar[str] = "The sum of two numbers modulo p."
    position_word: ClassVar[str] = "token"
    size_option: ClassVar[str] = "p"

    p: int = option(37, "The modulus: numbers are 0 to p - 1.", low=2, high=64, label="modulus p")

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the numbers, and the equals sign."""
        numbers = tuple(map(str, range(self.p)))
        return Vocabulary((*numbers, "="), (*numbers, "equals"))

    @property
    def formula(self) -> str:
        return lines_latex(r"a\ \ b\ \ =\ \ c", rf"c = (a + b) \bmod {self.p}")

    def rule_in_words(self, length: int) -> str:
        return (
            f"After = comes the sum of the two numbers, minus {self.p} if it is {self.p} or more."
        )

    def own_length(self) -> int:
        return _EQUATION - 1

    def start(self) -> PartOfEquation:
        return PartOfEquation(jnp.int32(0), jnp.int32(0))

    def log_probs(self, belief: PartOfEquation) -> Float[Array, " vocab"]:
        tokens, place = jnp.arange(self.p + 1), belief.seen
        certain = jnp.where(place == _EQUATION - 1, belief.total, self.p)
        is_number = place < _EQUATION - 2
        return jnp.log(jnp.where(is_number, (tokens < self.p) / self.p, tokens == certain))

    def update(self, belief: PartOfEquation, token: Int[Array, ""]) -> PartOfEquation:
        total, seen = belief
        is_number, is_last = seen < _EQUATION - 2, seen == _EQUATION - 1
        total = jnp.where(is_number, (total + token) % self.p, jnp.where(is_last, 0, total))
        return PartOfEquation(total.astype(jnp.int32), (seen + 1) % _EQUATION)
