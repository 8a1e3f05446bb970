"""`hmm`: a hidden Markov model, whose hidden state emits one token each day."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import option
from attnlab.generators.base import AbstractGenerator
from attnlab.generators.chain import (
    check_first_states,
    check_table,
    is_stationary_chain,
    normalise,
    numbered_states,
)
from attnlab.generators.display import Outline, RuleTable, lines_latex, matrix_latex, vector_latex
from attnlab.generators.vocabulary import Vocabulary

_MOODS = Vocabulary(symbols=("😊", "😐", "😢"), names=("glad", "calm", "sad"))
_MOST_STATES = 6


@dataclasses.dataclass(frozen=True)
class HiddenMarkov(AbstractGenerator):
    """state 1 ~ initial; next state ~ moving[state]; the token of a day ~ showing[state].

    The belief is log p(state of the next token | past), by the forward filter of Rabiner (1989),
    equations 19-21, normalised after each token; after an impossible one all states
    have -inf. By default a person's mood follows hidden good and bad spells.

    Raises `OptionError` for rows that are not probabilities, more than six states, and tables of
    different sizes.
    """

    name: ClassVar[str] = "hmm"
    summary: ClassVar[str] = (
        "Hidden Markov model: a hidden state persists for days, and each day's token is "
        "emitted from it."
    )
    vocabulary: ClassVar[Vocabulary] = _MOODS

    initial: tuple[float, ...] = option(
        (0.5, 0.5), "Probabilities of the hidden states on day 1.", label="hidden state on day 1"
    )
    moving: tuple[tuple[float, ...], ...] = option(
        ((0.9, 0.1), (0.2, 0.8)),
        "Row: hidden state; columns: probabilities of the hidden state on the next day.",
    )
    showing: tuple[tuple[float, ...], ...] = option(
        ((0.7, 0.2, 0.1), (0.1, 0.3, 0.6)),
        "Row: hidden state; columns: probabilities of the emitted token.",
    )

    def __post_init__(self):
        super().__post_init__()
        states = check_first_states(self.initial, _MOST_STATES)
        check_table("moving", self.moving, states, states)
        check_table("showing", self.showing, states, self.vocabulary.size)

    @classmethod
    def outline(cls, name: str, values: Mapping[str, Any]) -> Outline:
        states = numbered_states(len(values.get("initial", cls.initial)))
        if name == "initial":
            return Outline("", ("day 1",), "hidden states", states, "states", _MOST_STATES)
        if name == "moving":
            return Outline("hidden state", states, "next hidden state", states, "states")
        shown = cls.vocabulary.symbols
        return Outline("hidden state", states, "emitted token", shown, "states")

    @property
    def hidden_states(self) -> tuple[str, ...]:
        return numbered_states(len(self.initial))

    @property
    def formula(self) -> str:
        return lines_latex(
            rf"p(s_1) = {vector_latex(self.initial)}",
            r"p(s_{t+1} = j \mid s_t = i) = A_{ij}",
            r"p(\text{day } t = w \mid s_t = i) = B_{iw}",
            rf"A = {matrix_latex(self.moving)}",
            rf"B = {matrix_latex(self.showing)}",
        )

    @property
    def tables(self) -> tuple[RuleTable, ...]:
        values = {"initial": self.initial}
        return tuple(
            RuleTable(name, self.outline(name, values), getattr(self, name))
            for name in ("moving", "showing")
        )

    def rule_in_words(self, length: int) -> str:
        return "A hidden state decides each day's mood; all past moods together hint at the next."

    def is_stationary(self) -> bool:
        moving, showing = np.array(self.moving), np.array(self.showing)
        return is_stationary_chain(np.array(self.initial), showing.T[:, :, None] * moving)

    def start(self) -> Float[Array, " states"]:
        return jnp.log(jnp.array(self.initial))

    def log_probs(self, belief: Float[Array, " states"]) -> Float[Array, " vocab"]:
        return jax.nn.logsumexp(belief[:, None] + jnp.log(jnp.array(self.showing)), axis=0)

    def update(
        self, belief: Float[Array, " states"], token: Int[Array, ""]
    ) -> Float[Array, " states"]:
        seen = belief + jnp.log(jnp.array(self.showing))[:, token]
        return normalise(jax.nn.logsumexp(seen[:, None] + jnp.log(jnp.array(self.moving)), axis=0))
