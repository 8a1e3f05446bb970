"""A process that draws something hidden for each sequence: which of several tables it follows."""

import dataclasses
import functools
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import option
from attnlab.generators import AbstractGenerator, Draw
from attnlab.generators.vocabulary import Vocabulary

LETTERS = Vocabulary(symbols=("a", "b"), names=("a", "b"))


class TableBelief(NamedTuple):
    """log p(table | tokens seen), and the last token; -1 before the first."""

    log_tables: Float[Array, " tables"]
    last: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class TablePerSequence(AbstractGenerator):
    """Each sequence follows one of the tables, each equally likely, by its last token.

    The first token is uniform. The belief is Bayes' rule over the tables.
    """

    name: ClassVar[str] = "table-per-sequence"
    summary: ClassVar[str] = "One of several tables for each sequence."
    vocabulary: ClassVar[Vocabulary] = LETTERS

    # A row for every table and last token.
    rows: tuple[tuple[float, ...], ...] = option(
        ((0.9, 0.1), (0.1, 0.9), (0.2, 0.8), (1.0, 0.0)), "The tables, one below the other."
    )

    @property
    def tables(self):
        """None for the page, since a row has no name of its own."""
        return ()

    def by_table(self) -> np.ndarray:
        return np.array(self.rows).reshape(-1, 2, 2)

    def start(self):
        count = len(self.rows) // 2
        return TableBelief(jnp.full(count, -jnp.log(count)), jnp.int32(-1))

    def _of_next(self, belief):
        rows = jnp.log(jnp.asarray(self.by_table(), jnp.float32))[:, belief.last]
        return jnp.where(belief.last < 0, jnp.log(0.5), rows)

    def log_probs(self, belief):
        return jax.nn.logsumexp(belief.log_tables[:, None] + self._of_next(belief), axis=0)

    def update(self, belief, token):
        log_tables = belief.log_tables + self._of_next(belief)[:, token]
        return TableBelief(log_tables - jax.nn.logsumexp(log_tables), jnp.int32(token))

    def draw(self, start, key, length):
        table_key, first_key, key = jr.split(key, 3)
        table = jr.randint(table_key, (), 0, len(self.rows) // 2)
        rows = jnp.asarray(self.by_table(), jnp.float32)[table]

        def step(last, uniform):
            token = (uniform >= rows[last, 0]).astype(jnp.int32)
            return token, token

        first = jr.randint(first_key, (), 0, 2)
        _, rest = jax.lax.scan(step, first, jr.uniform(key, (length - 1,)))
        return Draw(jnp.concatenate([first[None], rest]), table)


@functools.cache
def joint_with_tables(generator, length):
    """p(table, tokens) in float64, by multiplication along every sequence."""
    tables = generator.by_table()
    joint = np.zeros((len(tables), *(2,) * length))
    for place in np.ndindex(joint.shape):
        number, first, *rest = place
        p, last = 0.5 / len(tables), first
        for token in rest:
            p, last = p * tables[number, last, token], token
        joint[place] = p
    return joint
