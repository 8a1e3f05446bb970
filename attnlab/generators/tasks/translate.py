"""`translate`: every letter has another for it, and some pairs change places."""

import dataclasses
import functools
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from attnlab.configuration.options import option
from attnlab.generators.rule_table import lines_latex
from attnlab.generators.tasks.letters import AbstractLetters


@dataclasses.dataclass(frozen=True)
class Translate(AbstractLetters):
    """yⱼ = π(xᵢ), where π is a permutation of the letters that the option `table_seed` draws.

    The source is read in pairs. A pair whose first letter is of the second half of the alphabet
    changes places, as an adjective and its noun may; every other letter keeps its place, i = j.
    So a target token of a pair is taken from one source token and, the first of the pair apart
    from itself, depends on the first of the pair as well.
    """

    name: ClassVar[str] = "translate"
    summary: ClassVar[str] = "Task: letters, then others for them, with pairs that change places."

    table_seed: int = option(
        0, "Draws which letter stands for which.", low=0, high=2**31 - 1, label="table seed"
    )

    @property
    def formula(self) -> str:
        return lines_latex(
            r"(y_{2k-1}, y_{2k}) = (\pi(x_{2k}), \pi(x_{2k-1})) \text{ if } "
            rf"x_{{2k-1}} > {self.letters // 2}",
            r"(y_{2k-1}, y_{2k}) = (\pi(x_{2k-1}), \pi(x_{2k})) \text{ otherwise}",
        )

    def targets(self) -> int:
        # A pair ends with a letter of the second half, or begins with one of the first, or both.
        first = self.letters // 2
        second = self.letters - first
        pairs = self.letters**2 - first * second
        return pairs ** (self.source_length // 2) * self.letters ** (self.source_length % 2)

    def target_of(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        table = jnp.asarray(_table(self.letters, self.table_seed))
        return table[source[self._taken_from(source)]]

    def true_alignment(self, source: Int[Array, " source"]) -> Bool[Array, "target source"]:
        return self._taken_from(source)[:, None] == jnp.arange(source.size)[None]

    def _taken_from(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        place = jnp.arange(source.size)
        first = place // 2 * 2
        is_whole = first + 1 < source.size
        swapped = is_whole & (source[first] >= self.letters // 2)
        return jnp.where(swapped, first + (first + 1 - place), place)


@functools.lru_cache(maxsize=32)
def _table(letters: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(letters).astype(np.int32)
