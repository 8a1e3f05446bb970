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

from attnlab.configuration.options import OptionError, option
from attnlab.generators.base import AbstractGenerator, Draw
from attnlab.generators.display import lines_latex
from attnlab.generators.vocabulary import Vocabulary, first_letters

_PRIORS = {
    "dirichlet": "independent rows",
    "doubly-stochastic": "each row is the one above, shifted by one place, so that token counts "
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
_STATIONARY_FORMULAS = {
    "dirichlet": r"p(j \mid i) \propto "
    r"\int \pi_{x_1}\, P_{ij} \prod_{ab} P_{ab}^{n_{ab} + \alpha - 1}\, dP",
    "rows-equal": r"p(j \mid i) = \frac{n_j + [x_1 = j] + \alpha}{n + 1 + k \alpha}",
}
# Nodes for each row of two tokens. From the least alpha on, predictions then have errors below
# 0.00001 after 256 tokens.
_NODES, _LEAST_ALPHA = 192, 0.3
# Smaller float32 numbers may become 0, whose logarithm times no count is NaN.
_LEAST = np.finfo(np.float32).tiny


class TransitionCounts(NamedTuple):
    """How often each token followed each other token, and the last token; -1 before the first."""

    counts: Int[Array, "vocab vocab"]
    last: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class InContextMarkov(AbstractGenerator):
    """Each sequence draws a k × k table P from a prior and is a Markov chain with it.

    A uniform first token is independent of the table. With n_ij the number of times that j followed
    i, the exact prediction for independent Dirichlet(alpha) rows is then
    (n_ij + alpha) / (n_i + k alpha). A stationary first token has the stationary distribution of
    the table, and is evidence about it. The prediction is then an integral over the rows, which is
    computed for two tokens by quadrature. The row of a `doubly-stochastic` or `rows-equal` table is
    Dirichlet(alpha) too; a table of the first kind is circulant: P[i, (i + s) mod k] = q_s. The
    `known-tables` have independent rows. The latent variable is the table.

    Raises `OptionError` for a stationary first token if independent rows have more than two tokens
    or an alpha below 0.3: no exact prediction is known.

    The floor falls towards the mean entropy rate of the tables. For k = 2 and alpha = 1 that is
    0.4809 nats, less than the mean entropy ½ of a row: a chain stays longer in a state whose row is
    nearly certain to return to it, and such rows have little entropy.

    References:
        Edelman et al. (2024), "The evolution of statistical induction heads: in-context learning
        Markov chains". Grassmann, Taksar and Heyman (1985), "Regenerative analysis and steady state
        distributions for Markov chains".
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
    first_token: str = option(
        "uniform",
        "Distribution of the first token: uniform, or the stationary distribution of the table, "
        "which makes the first token evidence about the table.",
        choices=("uniform", "stationary"),
    )

    def __post_init__(self):
        super().__post_init__()
        if self.first_token == "uniform" or self.prior != "dirichlet":
            return
        if self.k > 2:
            problem = f"no exact prediction is known for {self.k} tokens and independent rows"
            remedy = "Choose `uniform`, `k` 2, or another `prior`"
            raise OptionError("first_token", self.first_token, problem, remedy)
        if self.alpha < _LEAST_ALPHA:
            problem = "too small for exact predictions after a stationary first token"
            remedy = f"Choose at least {_LEAST_ALPHA}, or the `first_token` uniform"
            raise OptionError("alpha", self.alpha, problem, remedy)

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the first letters of the alphabet."""
        return first_letters(self.k)

    @property
    def formula(self) -> str:
        counts = r"n_{ij} = \text{times that } j \text{ followed } i"
        formulas = _FORMULAS
        if self.first_token == "stationary":
            formulas = _FORMULAS | _STATIONARY_FORMULAS
        return lines_latex(formulas[self.prior], rf"{counts},\ k = {self.k}")

    def rule_in_words(self, length: int) -> str:
        return (
            "Each sequence draws its own table, so the next token must be predicted from what "
            "followed earlier copies of the last token."
        )

    @property
    def known_tables(self) -> Float[np.ndarray, "tables vocab vocab"]:
        """Return the tables of the prior `known-tables`; their entries are float32 numbers."""
        return _known_tables(self)

    def is_stationary(self) -> bool:
        # The rows of a doubly stochastic table leave a uniform distribution as it is.
        return self.first_token == "stationary" or self.prior == "doubly-stochastic"

    def start(self) -> TransitionCounts:
        return TransitionCounts(jnp.zeros((self.k, self.k), jnp.int32), jnp.int32(-1))

    def log_probs(self, belief: TransitionCounts) -> Float[Array, " vocab"]:
        if self.first_token == "uniform":
            return self._row(belief, self.prior)
        first = jnp.full(self.k, -jnp.log(self.k))
        if self.prior == "known-tables":
            first = jnp.log(self._stationary_probs.mean(axis=0))
        return jnp.where(belief.last < 0, first, self._row_after_stationary(belief))

    def update(self, belief: TransitionCounts, token: Int[Array, ""]) -> TransitionCounts:
        counted = belief.counts.at[belief.last, token].add(jnp.int32(belief.last >= 0))
        return TransitionCounts(counted, jnp.int32(token))

    def _row(self, belief: TransitionCounts, prior: str) -> Float[Array, " vocab"]:
        """Return log p(next token) if tables came from this prior."""
        row = self._log_rows(belief.counts, prior)[belief.last]
        return jnp.where(belief.last < 0, -jnp.log(self.k), row)

    @property
    def _stationary_probs(self) -> Float[Array, "tables vocab"]:
        return jax.vmap(_stationary)(jnp.asarray(self.known_tables))

    def _row_after_stationary(self, belief: TransitionCounts) -> Float[Array, " vocab"]:
        """Return log p(next token) if the first token, too, is evidence about the table."""
        counts, last = belief
        # Every token but the first follows another one, and every token but the last is followed.
        followed = counts.sum(axis=1) + (jnp.arange(self.k) == last)
        first = (followed - counts.sum(axis=0)).argmax()
        if self.prior == "dirichlet":
            return _row_of_two(self.alpha, counts, first, last)
        if self.prior == "rows-equal":
            counts = counts.at[last, first].add(1)
        evidence = 0.0
        if self.prior == "known-tables":
            evidence = jnp.log(self._stationary_probs[:, first])
        return self._log_rows(counts, self.prior, evidence)[last]

    def _log_rows(
        self, counts: Int[Array, "vocab vocab"], prior: str, evidence: Array | float = 0.0
    ) -> Float[Array, "a b"]:
        if prior == "known-tables":
            log_tables = jnp.log(jnp.asarray(self.known_tables))
            evidence = evidence + (counts[None] * log_tables).sum(axis=(1, 2))
            return jax.nn.logsumexp(jax.nn.log_softmax(evidence)[:, None, None] + log_tables, 0)
        if prior == "rows-equal":
            counts = jnp.broadcast_to(counts.sum(axis=0), counts.shape)
        if prior == "doubly-stochastic":
            rows = np.arange(self.k)[:, None]
            # Row i has its shift s in column i + s.
            moves = counts[rows, (rows.T + rows) % self.k].sum(axis=0)
            counts = moves[_shifts(self.k)]
        return jnp.log((counts + self.alpha) / (counts + self.alpha).sum(axis=1, keepdims=True))

    def draw(self, start: TransitionCounts, key: Key[Array, ""], length: int) -> Draw:
        """Draw a table, which is the latent variable, and a chain with it."""
        table_key, first_key, key = jr.split(key, 3)
        table = self._draw_table(table_key)
        rows = jnp.cumsum(table, axis=1)
        if self.first_token == "uniform":
            first = jr.randint(first_key, (), 0, self.k)
        else:
            first = jr.categorical(first_key, jnp.log(_stationary(table)))

        def step(last, uniform):
            token = (rows[last] <= uniform * rows[last, -1]).sum()
            return token, token

        _, rest = jax.lax.scan(step, first, jr.uniform(key, (length - 1,)))
        return Draw(jnp.append(first, rest), table)

    def _draw_table(self, key: Key[Array, ""]) -> Float[Array, "vocab vocab"]:
        if self.prior == "known-tables":
            number = jr.randint(key, (), 0, self.table_count)
            return jnp.asarray(self.known_tables)[number]
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
        names = {"known-tables": "known tables"}
        if self.first_token == "uniform":
            names |= {"rows-equal": "unigram", "dirichlet": "bigram"}
        return names.get(self.prior, "")

    def log_probs_of_rule(
        self, latent: Float[Array, "vocab vocab"], belief: TransitionCounts
    ) -> Float[Array, " vocab"]:
        first = jnp.full(self.k, 1 / self.k)
        if self.first_token == "stationary":
            first = _stationary(latent)
        return jnp.log(jnp.where(belief.last < 0, first, latent[belief.last]))

    def true_sources(self, tokens: Int[Array, " length"]) -> Bool[Array, "query key"]:
        """Return the positions whose tokens the prediction counts.

        For independent rows these are the tokens that followed earlier occurrences of the last one.
        After a stationary first token all rows are evidence about each other.
        """
        places = jnp.arange(tokens.size)
        past = places[None, :] <= places[:, None]
        if self.prior != "dirichlet" or self.first_token == "stationary":
            return past
        before = jnp.append(-1, tokens[:-1])
        return past & (before[None, :] == tokens[:, None])


def _shifts(k: int) -> Int[np.ndarray, "row column"]:
    """Return (column - row) mod k: which entry of the first row a circulant table has."""
    return (np.arange(k)[None, :] - np.arange(k)[:, None]) % k


@functools.lru_cache(maxsize=16)
def _known_tables(process: InContextMarkov) -> Float[np.ndarray, "tables vocab vocab"]:
    rng = np.random.default_rng(process.table_seed)
    size = process.table_count, process.k
    tables = rng.dirichlet(np.full(process.k, process.alpha), size=size)
    return np.maximum(tables.astype(np.float32), _LEAST).astype(np.float64)


def _stationary(table: Float[Array, "vocab vocab"]) -> Float[Array, " vocab"]:
    """Return the stationary distribution, by the elimination of Grassmann, Taksar and Heyman.

    It has no subtractions, so that tables with very small probabilities lose no precision.
    """
    # With a 0, states may not reach each other.
    table = jnp.maximum(table, _LEAST)
    for state in range(len(table) - 1, 0, -1):
        into = table[:state, state] / table[state, :state].sum()
        table = table.at[:state, state].set(into)
        table = table.at[:state, :state].add(jnp.outer(into, table[state, :state]))
    probs = jnp.ones(1)
    for state in range(1, len(table)):
        probs = jnp.append(probs, probs @ table[:state, state])
    return jnp.maximum(probs / probs.sum(), _LEAST)


def _row_of_two(
    alpha: float, counts: Int[Array, "2 2"], first: Int[Array, ""], last: Int[Array, ""]
) -> Float[Array, " 2"]:
    """Return log p(next token) for two tokens, independent rows and a stationary first token.

    With p_i the probability to leave state i, the stationary probability of the first token is
    p_j / (p_i + p_j), where j is the other token.
    """
    log_stay_or_leave, log_weight, inverse_sums = map(jnp.asarray, _quadrature(alpha))
    states = jnp.arange(2)
    times = jnp.stack([counts[states, states], counts[states, 1 - states] + (states != first)], 1)
    log_posterior = jnp.tile(log_weight, (2, 1)) + times @ log_stay_or_leave
    posterior = jnp.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    weight = posterior[last] * (inverse_sums @ posterior[1 - last])
    row = jnp.exp(log_stay_or_leave) @ weight
    return jnp.log(row / row.sum())[jnp.int32(states != last)]


@functools.lru_cache(maxsize=16)
def _quadrature(
    alpha: float,
) -> tuple[
    Float[np.ndarray, "stay_or_leave node"],
    Float[np.ndarray, " node"],
    Float[np.ndarray, "node other_node"],
]:
    """Return Gauss-Jacobi quadrature of Beta(alpha, alpha).

    Returns:
        log(1 - p) and log(p) at the nodes p, the logarithms of their weights, and 1 / (p + q) for
        two nodes p and q.
    """
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(_NODES, alpha - 1, alpha - 1)
    leave = (1 + nodes) / 2
    # Nodes are symmetric; the difference 1 - p would be less precise.
    found = np.log([leave[::-1], leave]), np.log(weights), 1 / np.add.outer(leave, leave)
    return found[0].astype("f4"), found[1].astype("f4"), found[2].astype("f4")
