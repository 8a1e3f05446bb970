"""`bijection`: each sequence draws a permutation, and pairs inputs with outputs by it."""

import dataclasses
import math
import string
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import option
from attnlab.generators.base import AbstractGenerator, Draw
from attnlab.generators.display import lines_latex
from attnlab.generators.vocabulary import Vocabulary


class PartOfBijection(NamedTuple):
    """The output of each input, -1 before it is seen; the inputs of this round; the last token."""

    outputs: Int[Array, " inputs"]
    used: Bool[Array, " inputs"]
    last: Int[Array, ""]
    seen: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class Bijection(AbstractGenerator):
    """Pairs (x, π(x)) of a random permutation π, which is the latent variable.

    Inputs are drawn without replacement, in rounds: once all are used, a new round begins. In the
    first round, inputs - k + 1 outputs are left for pair k, so its lowest loss is ln(inputs - k +
    1); later it is known. Only outputs count in the loss.

    References:
        Agarwal et al. (2025), "The Bayesian geometry of transformer attention".
    """

    name: ClassVar[str] = "bijection"
    summary: ClassVar[str] = (
        "Letters and their images under a permutation that each sequence draws."
    )
    source: ClassVar[str] = (
        "Agarwal et al. (2025), “The Bayesian geometry of transformer attention”"
    )
    position_word: ClassVar[str] = "token"

    inputs: int = option(
        8, "Number of inputs, and of outputs.", low=2, high=26, label="inputs and outputs"
    )

    visible: int = dataclasses.field(default=256)

    def at_length(self, length: int) -> "Bijection":
        return dataclasses.replace(self, visible=length)

    @property
    def vocabulary(self) -> Vocabulary:
        """Return capital letters for inputs, and small ones for outputs."""
        inputs, outputs = (
            string.ascii_uppercase[: self.inputs],
            string.ascii_lowercase[: self.inputs],
        )
        return Vocabulary((*inputs, *outputs), (*inputs, *outputs))

    @property
    def formula(self) -> str:
        return lines_latex(
            r"x_1\ \pi(x_1)\ \ x_2\ \pi(x_2)\ \ldots",
            rf"\pi = \text{{a random permutation of }} {self.inputs}",
        )

    def rule_in_words(self, length: int) -> str:
        return (
            "Each input is followed by its output. No two inputs share an output, so each pair "
            "rules one out."
        )

    def loss_mask(self, tokens: Int[Array, " positions"]) -> Bool[Array, " positions"]:
        return jnp.arange(tokens.size) % 2 == 1

    def next_laws(self) -> Float[np.ndarray, "positions vocab"]:
        places, size = np.arange(self.visible + 1), self.inputs
        left = size - places // 2 % size
        left[(places % 2 == 1) & (places >= 2 * size)] = 1
        return (np.arange(2 * size)[None, :] < left[:, None]) / left[:, None]

    def start(self) -> PartOfBijection:
        none = jnp.full(self.inputs, -1, jnp.int32)
        return PartOfBijection(none, none >= 0, jnp.int32(-1), jnp.int32(0))

    def log_probs(self, belief: PartOfBijection) -> Float[Array, " vocab"]:
        outputs, used, last, seen = belief
        names = jnp.arange(self.inputs)
        known = outputs[jnp.clip(last, 0, self.inputs - 1)]
        taken = (outputs[:, None] == names[None, :]).any(axis=0)
        output = jnp.where(known < 0, ~taken, names == known)
        is_output = seen % 2 == 1
        possible = jnp.append(~used & ~is_output, output & is_output)
        return jnp.log(possible / possible.sum())

    def update(self, belief: PartOfBijection, token: Int[Array, ""]) -> PartOfBijection:
        outputs, used, last, seen = belief
        names, is_output = jnp.arange(self.inputs), seen % 2 == 1
        used = used | (~is_output & (names == token))
        return PartOfBijection(
            jnp.where(is_output & (names == last), token - self.inputs, outputs).astype(jnp.int32),
            used & ~(is_output & used.all()),
            jnp.int32(token),
            seen + 1,
        )

    def draw(self, start: PartOfBijection, key: Key[Array, ""], length: int) -> Draw:
        """Draw a permutation, and the inputs of every round."""
        rule_key, key = jr.split(key)
        outputs = jr.permutation(rule_key, self.inputs)
        rounds = jr.split(key, math.ceil(length / (2 * self.inputs)))
        inputs = jnp.concatenate([jr.permutation(each, self.inputs) for each in rounds])
        tokens = jnp.stack([inputs, self.inputs + outputs[inputs]], axis=1)
        return Draw(tokens.ravel()[:length], outputs)

    def references(self, belief: PartOfBijection) -> Mapping[str, Float[Array, " vocab"]]:
        is_output = jnp.arange(2 * self.inputs) >= self.inputs
        return {"any output": jnp.log((is_output == (belief.seen % 2 == 1)) / self.inputs)}

    def log_probs_of_rule(
        self, latent: Int[Array, " inputs"], belief: PartOfBijection
    ) -> Float[Array, " vocab"]:
        output = self.inputs + latent[jnp.clip(belief.last, 0, self.inputs - 1)]
        known = jnp.log(jnp.arange(2 * self.inputs) == output)
        return jnp.where(belief.seen % 2 == 1, known, self.log_probs(belief))

    def true_sources(self, tokens: Int[Array, " length"]) -> Bool[Array, "query key"]:
        """Return where an input's output was or, for a new input, all outputs so far."""
        places = jnp.arange(tokens.size)
        before = jnp.append(-1, tokens[:-1])
        is_output = (places % 2 == 1)[None, :] & (places[None, :] < places[:, None])
        same = is_output & (before[None, :] == tokens[:, None])
        sources = jnp.where(same.any(axis=1, keepdims=True), same, is_output)
        return sources & (places % 2 == 0)[:, None]
