"""`product`: two hidden Markov processes side by side."""

import dataclasses
import itertools
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from attnlab.configuration.options import option
from attnlab.generators.hidden_chain import AbstractHiddenChain, Transitions, paired_transitions
from attnlab.generators.named_chains import NAMED
from attnlab.generators.vocabulary import Vocabulary

_BY_NAME = {kind.name: kind for kind in NAMED}


@dataclasses.dataclass(frozen=True)
class ProductChain(AbstractHiddenChain):
    """Two independent hidden Markov processes, each with its default probabilities.

    There is one symbol for each pair of tokens, and one hidden state for each pair of states. The
    function `product` makes one of any two processes.
    """

    name: ClassVar[str] = "product"
    summary: ClassVar[str] = (
        "Two independent hidden Markov processes side by side: each symbol is a pair of tokens."
    )

    first: str = option(
        "golden-mean", "Process of the first token of each pair.", choices=tuple(_BY_NAME)
    )
    second: str = option(
        "even", "Process of the second token of each pair.", choices=tuple(_BY_NAME)
    )

    @property
    def _pair(self) -> tuple[AbstractHiddenChain, AbstractHiddenChain]:
        return _BY_NAME[self.first](), _BY_NAME[self.second]()

    @property
    def vocabulary(self) -> Vocabulary:
        """Return one symbol for each pair of tokens."""
        one, other = (chain.vocabulary for chain in self._pair)
        return Vocabulary(
            symbols=tuple(map("".join, itertools.product(one.symbols, other.symbols))),
            names=tuple(map(" ".join, itertools.product(one.names, other.names))),
        )

    @property
    def hidden_states(self) -> tuple[str, ...]:
        one, other = (chain.hidden_states for chain in self._pair)
        return tuple(map(" · ".join, itertools.product(one, other)))

    @property
    def transitions(self) -> Transitions:
        return paired_transitions(*self._pair)

    @property
    def stationary_probs(self) -> Float[np.ndarray, " states"]:
        # Two periodic processes have several, and in only one of them are they independent.
        one, other = (chain.stationary_probs for chain in self._pair)
        return np.kron(one, other)
