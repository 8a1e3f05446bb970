"""Hidden Markov processes of the literature, by their names there, and products of them."""

import abc
import dataclasses
import itertools
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from attnlab.configuration.options import option
from attnlab.generators.hidden_chain import AbstractHiddenChain, Transitions, paired_transitions
from attnlab.generators.vocabulary import Vocabulary

_LETTERS = Vocabulary(symbols=("A", "B", "C"), names=("A", "B", "C"))
_BITS = Vocabulary(symbols=("0", "1"), names=("zero", "one"))
_BRACKETS = Vocabulary(symbols=("(", ")"), names=("open", "close"))

_SHAI = (
    "Shai et al. (2024), “Transformers represent belief state geometry in their residual stream”"
)
_CRUTCHFIELD_FELDMAN = "Crutchfield and Feldman (2003), “Regularities unseen, randomness observed”"


def _probability(default: float, help: str) -> Any:
    return option(default, help, low=0.0, high=1.0)


@dataclasses.dataclass(frozen=True)
class Mess3(AbstractHiddenChain):
    """Three states; a state moves to each of the others with probability x, then emits a letter.

    The new state emits its own letter with probability a, each other letter with (1 - a) / 2.

    References:
        Marzen and Crutchfield (2017), "Nearly maximally predictive features and their dimensions".
        Shai et al. (2024), "Transformers represent belief state geometry in their residual stream".
    """

    name: ClassVar[str] = "mess3"
    summary: ClassVar[str] = (
        "Three hidden states that persist; each shows its own letter most of the time."
    )
    source: ClassVar[str] = (
        "Marzen and Crutchfield (2017), “Nearly maximally predictive features and their dimensions”"
    )
    vocabulary: ClassVar[Vocabulary] = _LETTERS
    # The tokens are A, B and C.
    hidden_states: ClassVar[tuple[str, ...]] = ("state A", "state B", "state C")

    x: float = option(
        0.05, "Probability of a move to each of the other two states.", low=0.0, high=0.5
    )
    a: float = _probability(0.85, "Probability that a state emits its own letter.")

    @property
    def transitions(self) -> Transitions:
        moves = np.where(np.eye(3, dtype=bool), 1 - 2 * self.x, self.x)
        emits = np.where(np.eye(3, dtype=bool), self.a, (1 - self.a) / 2)
        return moves * emits.T[:, None, :]


class _Edges(AbstractHiddenChain):
    """A process that is declared by its edges: (state, token, next state, probability)."""

    @abc.abstractmethod
    def edges(self) -> tuple[tuple[str, int, str, float], ...]:
        """Return the edges; those of one state have probabilities that sum to 1."""

    @property
    def transitions(self) -> Transitions:
        number = {name: place for place, name in enumerate(self.hidden_states)}
        table = np.zeros((self.vocabulary.size, len(number), len(number)))
        for state, token, following, probability in self.edges():
            table[token, number[state], number[following]] += probability
        return table


@dataclasses.dataclass(frozen=True)
class RandomRandomXor(_Edges):
    """Two random bits, then their exclusive or, and so on.

    References:
        Shai et al. (2024), "Transformers represent belief state geometry in their residual stream".
    """

    name: ClassVar[str] = "rrxor"
    summary: ClassVar[str] = "Two random bits, then their exclusive or, again and again."
    source: ClassVar[str] = _SHAI
    vocabulary: ClassVar[Vocabulary] = _BITS
    hidden_states: ClassVar[tuple[str, ...]] = ("start", "saw 0", "saw 1", "owes 1", "owes 0")

    p1: float = _probability(0.5, "Probability that the first bit is 0.")
    p2: float = _probability(0.5, "Probability that the second bit is 0.")

    def edges(self):
        first, second = self.p1, self.p2
        return (
            ("start", 0, "saw 0", first),
            ("start", 1, "saw 1", 1 - first),
            ("saw 0", 0, "owes 0", second),
            ("saw 0", 1, "owes 1", 1 - second),
            ("saw 1", 0, "owes 1", second),
            ("saw 1", 1, "owes 0", 1 - second),
            ("owes 1", 1, "start", 1.0),
            ("owes 0", 0, "start", 1.0),
        )


@dataclasses.dataclass(frozen=True)
class LeakyRandomRandomXor(RandomRandomXor):
    """`rrxor` in which any bit may come, and any state follow: (1 - epsilon) T + epsilon / 10."""

    name: ClassVar[str] = "leaky-rrxor"
    summary: ClassVar[str] = (
        "Like `rrxor`, but sometimes the bit and the next hidden state are random."
    )

    epsilon: float = _probability(0.1, "Probability of any bit and any next state.")

    @property
    def transitions(self) -> Transitions:
        exact = super().transitions
        return (1 - self.epsilon) * exact + self.epsilon / exact[:, 0].size


@dataclasses.dataclass(frozen=True)
class ZeroOneRandom(_Edges):
    """A zero, a one, a random bit, and so on.

    References:
        Shai et al. (2024), "Transformers represent belief state geometry in their residual stream".
    """

    name: ClassVar[str] = "z1r"
    summary: ClassVar[str] = "A zero, a one, a random bit, again and again."
    source: ClassVar[str] = _SHAI
    vocabulary: ClassVar[Vocabulary] = _BITS
    hidden_states: ClassVar[tuple[str, ...]] = ("zero next", "one next", "random next")

    p: float = _probability(0.5, "Probability that the random bit is 1.")

    def edges(self):
        return (
            ("zero next", 0, "one next", 1.0),
            ("one next", 1, "random next", 1.0),
            ("random next", 0, "zero next", 1 - self.p),
            ("random next", 1, "zero next", self.p),
        )


@dataclasses.dataclass(frozen=True)
class GoldenMean(_Edges):
    """Zeros and ones without two zeros in a row.

    References:
        Crutchfield and Feldman (2003), "Regularities unseen, randomness observed".
    """

    name: ClassVar[str] = "golden-mean"
    summary: ClassVar[str] = "Random bits without two zeros in a row."
    source: ClassVar[str] = _CRUTCHFIELD_FELDMAN
    vocabulary: ClassVar[Vocabulary] = _BITS
    hidden_states: ClassVar[tuple[str, ...]] = ("any bit", "one next")

    p: float = _probability(0.5, "Probability of a 0 where it is allowed.")

    def edges(self):
        return (
            ("any bit", 1, "any bit", 1 - self.p),
            ("any bit", 0, "one next", self.p),
            ("one next", 1, "any bit", 1.0),
        )


@dataclasses.dataclass(frozen=True)
class Even(_Edges):
    """Blocks of ones between zeros have even length, so no finite past decides the state.

    References:
        Crutchfield and Feldman (2003), "Regularities unseen, randomness observed".
    """

    name: ClassVar[str] = "even"
    summary: ClassVar[str] = "Bits in which every block of ones between zeros has even length."
    source: ClassVar[str] = _CRUTCHFIELD_FELDMAN
    vocabulary: ClassVar[Vocabulary] = _BITS
    hidden_states: ClassVar[tuple[str, ...]] = ("even", "odd")

    p: float = _probability(0.5, "Probability that a pair of ones begins.")

    def edges(self):
        return (
            ("even", 0, "even", 1 - self.p),
            ("even", 1, "odd", self.p),
            ("odd", 1, "even", 1.0),
        )


@dataclasses.dataclass(frozen=True)
class SimpleNonunifilar(_Edges):
    """Two states in which a zero may or may not change the state.

    References:
        Crutchfield (1994), "The calculi of emergence".
    """

    name: ClassVar[str] = "sns"
    summary: ClassVar[str] = (
        "Two hidden states; after a zero the state may or may not have changed."
    )
    source: ClassVar[str] = "Crutchfield (1994), “The calculi of emergence”"
    vocabulary: ClassVar[Vocabulary] = _BITS
    hidden_states: ClassVar[tuple[str, ...]] = ("A", "B")

    p: float = _probability(0.5, "Probability of leaving state A.")
    q: float = _probability(0.5, "Probability of leaving state B, with a 1.")

    def edges(self):
        return (
            ("A", 0, "A", 1 - self.p),
            ("A", 0, "B", self.p),
            ("B", 0, "B", 1 - self.q),
            ("B", 1, "A", self.q),
        )


@dataclasses.dataclass(frozen=True)
class Parentheses(AbstractHiddenChain):
    """Matching parentheses up to a depth: open at depth 0, close at the greatest depth.

    References:
        Hewitt et al. (2020), "RNNs can generate bounded hierarchical languages with optimal
        memory".
    """

    name: ClassVar[str] = "parentheses"
    summary: ClassVar[str] = "Matching parentheses: the hidden state is how many are open."
    source: ClassVar[str] = (
        "Hewitt et al. (2020), “RNNs can generate bounded hierarchical languages with optimal "
        "memory”"
    )
    vocabulary: ClassVar[Vocabulary] = _BRACKETS

    depth: int = option(4, "Maximum number of open parentheses.", low=1, high=4)
    opening: float = _probability(
        0.5, "Probability of opening one more, if closing is possible too."
    )

    @property
    def hidden_states(self) -> tuple[str, ...]:
        return tuple(f"{number} open" for number in range(self.depth + 1))

    @property
    def transitions(self) -> Transitions:
        opens: Float[np.ndarray, " depths"] = np.full(self.depth + 1, self.opening)
        opens[0], opens[-1] = 1, 0
        return np.stack([np.diag(opens[:-1], 1), np.diag(1 - opens[1:], -1)])


NAMED = (
    Mess3,
    RandomRandomXor,
    LeakyRandomRandomXor,
    ZeroOneRandom,
    GoldenMean,
    Even,
    SimpleNonunifilar,
    Parentheses,
)
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
