"""`in-context-markov`: each sequence is a Markov chain with its own table."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import option
from attnlab.generators.base import AbstractGenerator, Draw
from attnlab.generators.vocabulary import Vocabulary, first_letters, lines_latex

_PRIORS = {
    "dirichlet": "independent rows",
    "doubly-stochastic": "each row is the one above it, moved by one place, so that token counts "
    "are useless",
    "rows-equal": "all rows are equal, so that the last token is useless",
    "known-tables": "one of a fixed list of tables",
}
_FORMULAS = {
    "dirichlet": r"p(j \mid i) = \frac{n_{ij} + \alpha}{n_i + k \alpha}",
    "doubly-stochastic": r"p(i + s \mid i) = \frac{m_s + \alpha}{m + k \alpha} \pmod k",
    "rows-equal": r"p(j \mid i) = \frac{n_j + \alpha}{n + k \alpha}",
    "known-tables": r"p(j \mid i) = \sum_m p(m \mid \text{past})\, P^{(m)}_{ij}",
}


class TransitionCounts(NamedTuple):
    """How often each token followed each other token, and the last token; -1 before the first."""

    counts: Int[Array, "vocab vocab"]
    last: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class InContextMarkov(AbstractGenerator):
    """Each sequence draws a k × k table P from a prior and is a Markov chain with it.

    The first token is uniform, and independent of the table. With n_ij the number of times that j
    followed i, the exact prediction for independent Dirichlet(alpha) rows is
    (n_ij + alpha) / (n_i + k alpha). The row of a `doubly-stochastic` or `rows-equal` table is
    Dirichlet(alpha) too; a table of the first kind is circulant: P[i, (i + s) mod k] = q_s. The
    `known-tables` have independent rows. The latent variable is the table.

    The floor falls towards the mean entropy rate of the tables. For k = 2 and alpha = 1 that is
    0.4809 nats, less than the mean entropy ½ of a row: a chain stays longer in a state whose row is
    nearly certain to return to it, and such rows have little entropy.

    References:
        Edelman et al. (2024), "The evolution of statistical induction heads: in-context learning
        Markov chains".
    """

    name: ClassVar[str] = "in-context-markov"
    summary: ClassVar[str] = "Each sequence is a Markov chain with its own table of probabilities."
    source: ClassVar[str] = (
        "Edelman et al. (2024), “The evolution of statistical induction heads: in-context "
        "learning Markov chains”"
    )
    position_word: ClassVar[str] = "token"

    k: int = option(2, "Number of tokens.", low=2, high=8, label="tokens")
    alpha: float = option(
        1.0,
        "Dirichlet parameter of each row; small values give nearly certain rows.",
        low=0.1,
        high=10.0,
    )
    prior: str = option(
        "dirichlet",
        "Which tables are drawn. "
        + "; ".join(f"{name.replace('-', ' ')}: {text}" for name, text in _PRIORS.items())
        + ".",
        choices=tuple(_PRIORS),
    )
    table_count: int = option(8, "Number of known tables.", low=1, high=64, label="known tables")
    table_seed: int = option(0, "Seed of the known tables.", low=0, high=2**31 - 1)

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the first letters of the alphabet."""
        return first_letters(self.k)

    @property
    def formula(self) -> str:
        counts = r"n_{ij} = \text{times that } j \text{ followed } i"
        return lines_latex(_FORMULAS[self.prior], rf"{counts},\ k = {self.k}")

    def rule_in_words(self, length: int) -> str:
        return (
            "Each sequence draws its own table, so the next token must be predicted from "
            "what followed its last token earlier."
        )

    @property
    def known_tables(self) -> Float[np.ndarray, "tables vocab vocab"]:
        """Return the tables of the prior `known-tables`."""
        return _known_tables(self)

    def start(self) -> TransitionCounts:
        return TransitionCounts(jnp.zeros((self.k, self.k), jnp.int32), jnp.int32(-1))

    def log_probs(self, belief: TransitionCounts) -> Float[Array, " vocab"]:
        return self._row(belief, self.prior)

    def update(self, belief: TransitionCounts, token: Int[Array, ""]) -> TransitionCounts:
        counted = belief.counts.at[belief.last, token].add(jnp.int32(belief.last >= 0))
        return TransitionCounts(counted, jnp.int32(token))

    def _row(self, belief: TransitionCounts, prior: str) -> Float[Array, " vocab"]:
        """Return log p(next token) if tables came from this prior."""
        row = self._log_rows(belief.counts, prior)[belief.last]
        return jnp.where(belief.last < 0, -jnp.log(self.k), row)

    def _log_rows(self, counts: Int[Array, "vocab vocab"], prior: str) -> Float[Array, "a b"]:
        if prior == "known-tables":
            log_tables = jnp.log(jnp.asarray(self.known_tables))
            evidence = (counts[None] * log_tables).sum(axis=(1, 2))
            return jax.nn.logsumexp(jax.nn.log_softmax(evidence)[:, None, None] + log_tables, 0)
        if prior == "rows-equal":
            counts = jnp.broadcast_to(counts.sum(axis=0), counts.shape)
        if prior == "doubly-stochastic":
            moves = counts[jnp.arange(self.k)[:, None], _circulant(self.k)].sum(axis=0)
            counts = moves[_shifts(self.k)]
        return jnp.log((counts + self.alpha) / (counts + self.alpha).sum(axis=1, keepdims=True))

    def draw(self, start: TransitionCounts, key: Key[Array, ""], length: int) -> Draw:
        """Draw a table, which is the latent variable, and a chain with it."""
        table_key, first_key, key = jr.split(key, 3)
        table = self._draw_table(table_key)
        rows = jnp.cumsum(table, axis=1)
        first = jr.randint(first_key, (), 0, self.k)

        def step(last, uniform):
            token = (rows[last] <= uniform * rows[last, -1]).sum()
            return token, token

        _, rest = jax.lax.scan(step, first, jr.uniform(key, (length - 1,)))
        return Draw(jnp.append(first, rest), table)

    def _draw_table(self, key: Key[Array, ""]) -> Float[Array, "vocab vocab"]:
        if self.prior == "known-tables":
            number = jr.randint(key, (), 0, self.table_count)
            return jnp.asarray(self.known_tables, jnp.float32)[number]
        alphas = jnp.full(self.k, self.alpha)
        if self.prior == "dirichlet":
            return jr.dirichlet(key, alphas, (self.k,))
        row = jr.dirichlet(key, alphas)
        if self.prior == "rows-equal":
            return jnp.broadcast_to(row, (self.k, self.k))
        return row[_shifts(self.k)]

    def references(self, belief: TransitionCounts) -> Mapping[str, Float[Array, " vocab"]]:
        priors = {"unigram": "rows-equal", "bigram": "dirichlet"}
        return {
            f"in-context {name}": self._row(belief, prior)
            for name, prior in priors.items()
            if name != self.optimal_predictor
        }

    @property
    def optimal_predictor(self) -> str:
        names = {"rows-equal": "unigram", "dirichlet": "bigram", "known-tables": "known tables"}
        return names.get(self.prior, "")

    def log_probs_of_rule(
        self, latent: Float[Array, "vocab vocab"], belief: TransitionCounts
    ) -> Float[Array, " vocab"]:
        return jnp.where(belief.last < 0, -jnp.log(self.k), jnp.log(latent[belief.last]))

    def true_sources(self, tokens: Int[Array, " length"]) -> Bool[Array, "query key"]:
        """Return the positions whose tokens the prediction counts.

        For independent rows these are the tokens that followed earlier occurrences of the last one.
        """
        places = jnp.arange(tokens.size)
        past = places[None, :] <= places[:, None]
        if self.prior != "dirichlet":
            return past
        before = jnp.append(-1, tokens[:-1])
        return past & (before[None, :] == tokens[:, None])


def _shifts(k: int) -> Int[np.ndarray, "row column"]:
    """Return (column - row) mod k: which entry of the first row a circulant table has."""
    return (np.arange(k)[None, :] - np.arange(k)[:, None]) % k


def _circulant(k: int) -> Int[np.ndarray, "row shift"]:
    """Return (row + shift) mod k, the column that is `shift` places after the diagonal."""
    return (np.arange(k)[None, :] + np.arange(k)[:, None]) % k


@functools.lru_cache(maxsize=16)
def _known_tables(process: InContextMarkov) -> Float[np.ndarray, "tables vocab vocab"]:
    rng = np.random.default_rng(process.table_seed)
    size = process.table_count, process.k
    return rng.dirichlet(np.full(process.k, process.alpha), size=size)
