"""`hidden-chain`: a hidden Markov process whose every move between hidden states emits a token."""

import abc
import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import Finding, option
from attnlab.generators.base import AbstractGenerator, Draw
from attnlab.generators.chain import (
    check_first_states,
    check_table,
    closed_classes,
    is_stationary_chain,
    long_run_distribution,
    normalise,
    numbered_states,
)
from attnlab.generators.display import Outline, RuleTable, lines_latex, matrix_latex
from attnlab.generators.vocabulary import Vocabulary, read_symbols

MOST_STATES, MOST_SYMBOLS = 12, 12
# A larger matrix is not readable in a formula.
_MOST_IN_FORMULA = 5
# Wider tables are not readable on a page.
_MOST_COLUMNS = 10

Transitions = Float[np.ndarray, "vocab states states"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbstractHiddenChain(AbstractGenerator):
    """T[x, i, j] = p(emit x, go to j | state i), an edge-emitting hidden Markov process.

    Then, with probability `noise`, a uniform token replaces the emitted one.

    The belief is log p(current state | past), by the forward filter: after token x it is
    proportional to Σᵢ bᵢ T'[x, i, j], with the noisy T'. After an impossible token all
    states have -inf.

    References:
        Shai et al. (2024), "Transformers represent belief state geometry in their residual stream".
    """

    position_word: ClassVar[str] = "token"

    noise: float = option(
        0.0,
        "Probability that a uniformly random token replaces the emitted one.",
        low=0.0,
        high=1.0,
    )

    @property
    @abc.abstractmethod
    def transitions(self) -> Transitions:
        """Return T[x, i, j] = p(emit x, go to j | in i) in float64; sums over x and j are 1."""

    @property
    def noisy_transitions(self) -> Transitions:
        """Return T'[x, i, j] = (1 - noise) T[x, i, j] + noise / |vocab| Σ_y T[y, i, j]."""
        return _with_noise(self.transitions, self.noise)

    @property
    def stationary_probs(self) -> Float[np.ndarray, " states"]:
        """Return the stationary distribution of the hidden states.

        If there are several, it is the long-run distribution of a chain whose first state is
        uniform.
        """
        moves, count = self.transitions.sum(axis=0), len(self.hidden_states)
        return long_run_distribution(moves, np.full(count, 1 / count))

    @property
    def first_probs(self) -> Float[np.ndarray, " states"]:
        """Return p(state before the first token), by default the stationary distribution."""
        return self.stationary_probs

    @property
    def formula(self) -> str:
        rule = r"p(\text{emit } x,\ \text{go to } j \mid \text{in } i) = T^{(x)}_{ij}"
        if len(self.hidden_states) > _MOST_IN_FORMULA:
            return rule
        symbols = zip(self.vocabulary.symbols, self.noisy_transitions, strict=True)
        matrices = (
            rf"T^{{(\text{{{name}}})}} = {matrix_latex(rows.tolist())}" for name, rows in symbols
        )
        return lines_latex(rule, *matrices)

    @property
    def tables(self) -> tuple[RuleTable, ...]:
        if len(self.hidden_states) * self.vocabulary.size > _MOST_COLUMNS:
            return ()
        rows = tuple(map(tuple, np.hstack([*self.noisy_transitions]).tolist()))
        outline = _outline(self.hidden_states, self.vocabulary.symbols)
        return (RuleTable("transitions", outline, rows),)

    def rule_in_words(self, length: int) -> str:
        rule = f"{self.summary} All past tokens together hint at the hidden state."
        if not self.noise:
            return rule
        return f"{rule} With probability {self.noise:g} a random token replaces the emitted one."

    def is_stationary(self) -> bool:
        return is_stationary_chain(self.first_probs, self.noisy_transitions)

    def draw(self, start: Float[Array, " states"], key: Key[Array, ""], length: int) -> Draw:
        """Draw hidden states, and the token that each move emits.

        The latent variable is the state after each token, as a number from 0.
        """
        moves = self.noisy_transitions.swapaxes(0, 1)
        rows = jnp.asarray(moves.reshape(len(moves), -1).cumsum(axis=1), dtype=start.dtype)
        first, steps = jr.split(key)
        began = jr.categorical(first, start)

        def step(state, uniform):
            # The first pair of token and state whose cumulative probability exceeds the uniform
            # share of the total, so that an impossible pair is never drawn.
            pair = (rows[state] <= uniform * rows[state, -1]).sum()
            after = pair % len(moves)
            return after, (pair // len(moves), after)

        _, (tokens, states) = jax.lax.scan(step, began, jr.uniform(steps, (length,)))
        return Draw(tokens, states)

    def start(self) -> Float[Array, " states"]:
        return jnp.log(jnp.asarray(self.first_probs))

    def log_probs(self, belief: Float[Array, " states"]) -> Float[Array, " vocab"]:
        emitted = jnp.log(jnp.asarray(self.noisy_transitions.sum(axis=2)))
        return jax.nn.logsumexp(belief[None] + emitted, axis=1)

    def update(
        self, belief: Float[Array, " states"], token: Int[Array, ""]
    ) -> Float[Array, " states"]:
        moves = jnp.log(jnp.asarray(self.noisy_transitions))[token]
        return normalise(jax.nn.logsumexp(belief[:, None] + moves, axis=0))


def _with_noise(transitions: Transitions, noise: float) -> Transitions:
    return (1 - noise) * transitions + noise * transitions.mean(axis=0)


def _outline(states: tuple[str, ...], symbols: tuple[str, ...]) -> Outline:
    columns = tuple(f"{symbol} → {state}" for symbol, state in itertools.product(symbols, states))
    return Outline(
        "state",
        states,
        "emitted token → next state",
        columns,
        "symbols and states",
        parts=tuple(f"emits {symbol}" for symbol in symbols),
    )


@dataclasses.dataclass(frozen=True)
class HiddenChain(AbstractHiddenChain):
    """A hidden Markov process with your own table.

    Row i of `table` has the probabilities T[x, i, j], ordered by symbol x and then by next state j.

    Raises `OptionError` for rows that are not probabilities, fewer than two or more than twelve
    symbols, more than twelve states, and a table of another size.
    """

    name: ClassVar[str] = "hidden-chain"
    summary: ClassVar[str] = "Your own hidden states: each move between them emits a symbol."

    symbols: str = option("🌕 🌑", "Two to twelve symbols, separated by spaces.")
    first_state: str = option(
        "stationary",
        "Whether the state before the first token has the stationary distribution, or the "
        "probabilities below.",
        choices=("stationary", "given"),
    )
    initial: tuple[float, ...] = option(
        (0.5, 0.5),
        "Probabilities of the hidden states before the first token, if they are given.",
        label="first hidden state",
    )
    table: tuple[tuple[float, ...], ...] = option(
        ((0.5, 0.0, 0.0, 0.5), (1.0, 0.0, 0.0, 0.0)),
        "Row: hidden state; columns: probabilities of the emitted symbol and the next state.",
        label="transitions",
    )

    def __post_init__(self):
        super().__post_init__()
        size = read_symbols(self.symbols, MOST_SYMBOLS).size
        states = check_first_states(self.initial, MOST_STATES)
        check_table("table", self.table, states, size * states)

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the user's symbols, which are their own names."""
        return read_symbols(self.symbols, MOST_SYMBOLS)

    @classmethod
    def outline(cls, name: str, values: Mapping[str, Any]) -> Outline:
        states = numbered_states(len(values.get("initial", cls.initial)))
        if name == "initial":
            return Outline("position", ("start",), "hidden states", states, "states", MOST_STATES)
        return _outline(states, read_symbols(values["symbols"], MOST_SYMBOLS).symbols)

    @property
    def hidden_states(self) -> tuple[str, ...]:
        return numbered_states(len(self.initial))

    @property
    def transitions(self) -> Transitions:
        table = np.array(self.table, dtype=np.float64)
        # Rows typed with few decimals sum only nearly to 1.
        table = table / table.sum(axis=1, keepdims=True)
        count = len(self.initial)
        return table.reshape(count, -1, count).swapaxes(0, 1)

    @property
    def first_probs(self) -> Float[np.ndarray, " states"]:
        if self.first_state == "stationary":
            return self.stationary_probs
        given = np.array(self.initial, dtype=np.float64)
        return given / given.sum()

    def findings(self, length: int) -> Iterator[Finding]:
        moves = self.transitions.sum(axis=0)
        classes = closed_classes(moves)
        if self.first_state == "stationary" and len(classes) > 1:
            yield Finding(
                "table",
                f"There are {len(classes)} stationary distributions. The one that a uniform "
                f"first state leads to is used.",
            )
        reached = self.first_probs > 0
        for _ in self.hidden_states:
            reached = reached | (reached @ (moves > 0))
        if not reached.all():
            names = ", ".join(self.hidden_states[state] for state in np.flatnonzero(~reached))
            yield Finding("table", f"Never reached from the first state: {names}.")


def as_hidden_chain(chain: AbstractHiddenChain) -> HiddenChain:
    """Return the same process with all its probabilities in a table, to be edited."""
    return _chain_of(chain.vocabulary.symbols, chain.first_probs, chain.noisy_transitions)


def noisy(chain: AbstractHiddenChain, noise: float) -> HiddenChain:
    """Return the process with each token replaced, with probability `noise`, by a uniform one.

    The noise is part of the table, and adds to that of the process.

    Args:
        chain: The process.
        noise: A probability.
    """
    mixed = _with_noise(chain.noisy_transitions, noise)
    return _chain_of(chain.vocabulary.symbols, chain.first_probs, mixed)


def paired_transitions(one: AbstractHiddenChain, other: AbstractHiddenChain) -> Transitions:
    """Return T of two independent processes side by side, over pairs of tokens and of states."""
    pairs = itertools.product(one.noisy_transitions, other.noisy_transitions)
    return np.array([np.kron(first, second) for first, second in pairs])


def product(one: AbstractHiddenChain, other: AbstractHiddenChain) -> HiddenChain:
    """Return two independent processes side by side, with one symbol for each pair of tokens.

    Raises:
        OptionError: If there are more than twelve pairs of symbols or of states.
    """
    pairs = itertools.product(one.vocabulary.symbols, other.vocabulary.symbols)
    return _chain_of(
        tuple("".join(pair) for pair in pairs),
        np.kron(one.first_probs, other.first_probs),
        paired_transitions(one, other),
    )


def _chain_of(
    symbols: tuple[str, ...], first_probs: Float[np.ndarray, " states"], transitions: Transitions
) -> HiddenChain:
    return HiddenChain(
        symbols=" ".join(symbols),
        first_state="given",
        initial=tuple(first_probs.tolist()),
        table=tuple(map(tuple, np.hstack([*transitions]).tolist())),
    )
