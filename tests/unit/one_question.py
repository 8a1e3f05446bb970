"""A process of which one token a sequence counts, at a place that the sequence itself tells."""

import dataclasses
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from attnlab.configuration.options import OptionError, option
from attnlab.generators import AbstractGenerator
from attnlab.generators.vocabulary import Vocabulary

SYMBOLS = Vocabulary(symbols=("a", "b", "?"), names=("a", "b", "question"))
MARK = 2


class Asking(NamedTuple):
    """How many tokens were seen, the first one, and where the mark was; -1 before it."""

    seen: Int[Array, ""]
    first: Int[Array, ""]
    marked: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class OneQuestion(AbstractGenerator):
    """Random letters with one mark, after which the first letter comes again.

    The mark is at position 1, …, `places`, each equally likely. The token after it, which alone is
    asked for, is the first letter with probability `right`. All other letters are a fair coin's.
    """

    name: ClassVar[str] = "one-question"
    summary: ClassVar[str] = "The first letter is asked for after a mark."
    vocabulary: ClassVar[Vocabulary] = SYMBOLS

    places: int = option(3, "How many places the mark can have.", low=1, high=20)
    right: float = option(0.9, "Probability of the first letter.", low=0.5, high=0.99)

    def at_length(self, length):
        if length < self.places + 1:
            raise OptionError("length", length, "no room for the answer", "Choose more")
        return self

    def loss_mask(self, tokens):
        return jnp.append(False, jnp.asarray(tokens)[:-1] == MARK)

    def start(self):
        return Asking(jnp.int32(0), jnp.int32(0), jnp.int32(-1))

    def log_probs(self, belief):
        left = self.places - belief.seen + 1
        mark = jnp.where((belief.seen > 0) & (belief.marked < 0), 1 / jnp.maximum(left, 1), 0.0)
        letters = (1 - mark) * jnp.array([0.5, 0.5])
        answer = jnp.where(jnp.arange(2) == belief.first, self.right, 1 - self.right)
        is_asked = (belief.marked >= 0) & (belief.seen == belief.marked + 1)
        return jnp.log(jnp.append(jnp.where(is_asked, answer, letters), mark))

    def update(self, belief, token):
        return Asking(
            belief.seen + 1,
            jnp.where(belief.seen == 0, token, belief.first).astype(jnp.int32),
            jnp.where(token == MARK, belief.seen, belief.marked),
        )


def joint_of_one_question(process, length):
    """p(tokens) in float64, by summing over the places of the mark."""
    law = np.zeros((3,) * length)
    for tokens in np.ndindex(law.shape):
        marks = [t for t, token in enumerate(tokens) if token == MARK]
        if len(marks) == 1 and 1 <= marks[0] <= process.places:
            p = 0.5 ** (length - 1) / process.places
            answer = marks[0] + 1
            if answer < length:
                same = tokens[answer] == tokens[0]
                p *= 2 * (process.right if same else 1 - process.right)
            law[tokens] = p
    return law
