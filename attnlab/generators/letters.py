"""`copy`, `reverse`, `shift`, `sort` and `translate`: tasks on independent uniform letters."""

import dataclasses
import functools
import math
from typing import ClassVar

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import OptionError, option
from attnlab.generators.display import lines_latex
from attnlab.generators.tasks import AbstractTask, TaskBelief, noise_option
from attnlab.generators.vocabulary import Vocabulary, first_letters


@dataclasses.dataclass(frozen=True)
class AbstractLetters(AbstractTask):
    """A task on independent, equally likely source letters, which may repeat."""

    token_name: ClassVar[str] = "letter"
    may_repeat: ClassVar[bool] = True

    source_length: int = option(
        10, "Number of letters of the source, and of the target.", low=2, high=32
    )
    letters: int = option(8, "Number of different letters.", low=2, high=26)
    noise: float = noise_option()

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the first letters of the alphabet."""
        return first_letters(self.letters)

    @property
    def spelling(self) -> str:
        return f"the letters {self.vocabulary.symbols[0]} to {self.vocabulary.symbols[-1]}"

    def in_symbols(self, typed: str) -> str:
        return typed.lower()

    def sources(self) -> int:
        return self.letters**self.source_length

    def targets(self) -> int:
        return self.sources()

    def possible_next(self) -> tuple[int, ...]:
        return (self.letters,) * self.source_length

    def source_log_probs(self, belief: TaskBelief) -> Float[Array, " vocab"]:
        return jnp.full(self.letters, -math.log(self.letters))

    def taken_from(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        """Return the place in the source that each target token is taken from."""
        return jnp.arange(source.size)

    def target_of(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        return source[self.taken_from(source)]

    def true_alignment(self, source: Int[Array, " source"]) -> Bool[Array, "target source"]:
        return self.taken_from(source)[:, None] == jnp.arange(source.size)[None]

    def draw_source(self, key: Key[Array, ""]) -> Int[Array, " source"]:
        return jr.randint(key, (self.source_length,), 0, self.letters)


@dataclasses.dataclass(frozen=True)
class Copy(AbstractLetters):
    """yⱼ = xⱼ: the target y repeats the source x."""

    name: ClassVar[str] = "copy"
    summary: ClassVar[str] = "Task: letters, then the same letters again."
    formula: ClassVar[str] = "y_j = x_j"

    def rule_in_words(self, length: int) -> str:
        return f"Write the {self.source_length} letters again, in the same order."


@dataclasses.dataclass(frozen=True)
class Reverse(AbstractLetters):
    """yⱼ = xₙ₊₁₋ⱼ: the target y is the source x backwards."""

    name: ClassVar[str] = "reverse"
    summary: ClassVar[str] = "Task: letters, then the same letters backwards."

    @property
    def formula(self) -> str:
        return rf"y_j = x_{{{self.source_length + 1} - j}}"

    def rule_in_words(self, length: int) -> str:
        return f"Write the {self.source_length} letters backwards."

    def taken_from(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        return jnp.arange(source.size)[::-1]


@dataclasses.dataclass(frozen=True)
class Shift(AbstractLetters):
    """yⱼ = xᵢ with i = j - places, cyclically: the target y is the source x moved by `places`.

    `places` must be less than `source_length`.
    """

    name: ClassVar[str] = "shift"
    summary: ClassVar[str] = "Task: letters, then the same letters shifted cyclically."

    places: int = option(
        1,
        "How many places each letter moves to the right; the last letters wrap around.",
        low=1,
        high=31,
    )

    def __post_init__(self):
        super().__post_init__()
        if self.places >= self.source_length:
            problem = f"the source has {self.source_length} letters"
            remedy = f"Choose at most {self.source_length - 1}, or a longer source"
            raise OptionError("places", self.places, problem, remedy)

    @property
    def formula(self) -> str:
        return lines_latex(
            rf"y_j = x_{{j - {self.places}}}", rf"x_{{i}} = x_{{i + {self.source_length}}}"
        )

    def rule_in_words(self, length: int) -> str:
        last = "the last one comes" if self.places == 1 else f"the last {self.places} come"
        return f"Write the {self.source_length} letters again, but {last} first."

    def taken_from(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        return jnp.roll(jnp.arange(source.size), self.places)


@dataclasses.dataclass(frozen=True)
class Sort(AbstractLetters):
    """y₁ ≤ y₂ ≤ … are the letters of the source; each aligns with all equal source letters."""

    name: ClassVar[str] = "sort"
    summary: ClassVar[str] = "Task: letters, then the same letters in order."

    @property
    def formula(self) -> str:
        return rf"y_1 \le \dots \le y_{{{self.source_length}}}, \quad \{{y_j\}} = \{{x_i\}}"

    def targets(self) -> int:
        return math.comb(self.letters + self.source_length - 1, self.source_length)

    def rule_in_words(self, length: int) -> str:
        return f"Write the {self.source_length} letters in alphabetical order."

    def target_of(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        return jnp.sort(source)

    def true_alignment(self, source: Int[Array, " source"]) -> Bool[Array, "target source"]:
        return jnp.sort(source)[:, None] == source[None, :]


@dataclasses.dataclass(frozen=True)
class Translate(AbstractLetters):
    """Target yⱼ = π(xᵢ); π is a permutation of the letters, drawn with the seed `table_seed`.

    The source is read in pairs. A pair whose first letter is in the second half of the alphabet is
    swapped, as an adjective and its noun may be; every other letter keeps its place, i = j. So a
    target token of a pair comes from one source token, but also depends on the first token of the
    pair.
    """

    name: ClassVar[str] = "translate"
    summary: ClassVar[str] = "Task: letters, then their translations, with some pairs swapped."

    table_seed: int = option(
        0, "Seed of the translation table.", low=0, high=2**31 - 1, label="table seed"
    )

    @property
    def formula(self) -> str:
        return lines_latex(
            r"(y_{2k-1}, y_{2k}) = (\pi(x_{2k}), \pi(x_{2k-1})) \text{ if } "
            rf"x_{{2k-1}} > {self.letters // 2}",
            r"(y_{2k-1}, y_{2k}) = (\pi(x_{2k-1}), \pi(x_{2k})) \text{ otherwise}",
        )

    def targets(self) -> int:
        # Before π, a pair ends in the alphabet's second half, or begins in its first half, or both.
        first = self.letters // 2
        second = self.letters - first
        pairs = self.letters**2 - first * second
        return pairs ** (self.source_length // 2) * self.letters ** (self.source_length % 2)

    def rule_in_words(self, length: int) -> str:
        return "Replace each letter by its translation, and swap the two letters of some pairs."

    def target_of(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        table = jnp.asarray(_table(self.letters, self.table_seed))
        return table[source[self.taken_from(source)]]

    def taken_from(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        place = jnp.arange(source.size)
        first = place // 2 * 2
        is_whole = first + 1 < source.size
        swapped = is_whole & (source[first] >= self.letters // 2)
        return jnp.where(swapped, first + (first + 1 - place), place)


@functools.lru_cache(maxsize=32)
def _table(letters: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(letters).astype(np.int32)
