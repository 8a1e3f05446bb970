"""`maximum`: items with a value and a label, then the label of the item of the largest value."""

import dataclasses
import itertools
import string
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import option
from attnlab.generators.base import AbstractGenerator, Draw
from attnlab.generators.display import lines_latex
from attnlab.generators.vocabulary import Vocabulary

_QUESTION = "?"


class Largest(NamedTuple):
    """The largest value, -1 before any; its label; whether it came once; tokens seen."""

    value: Int[Array, ""]
    label: Int[Array, ""]
    is_single: Bool[Array, ""]
    seen: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class Maximum(AbstractGenerator):
    """n items (value, label), a question, and the label of the item of the largest value M.

    M is uniform on 1 … `values` - 1, and so is the position of its only item. The other values are
    uniform on 0 … M - 1, and all labels are uniform. Only the last token counts in the loss: its
    floor is 0. The number of items is the length minus 1.

    References:
        Veličković et al. (2025), "Softmax is not enough (for sharp size generalisation)". There
        values are real numbers.
    """

    name: ClassVar[str] = "maximum"
    summary: ClassVar[str] = "Items with a value and a label; the label of the largest is asked."
    source: ClassVar[str] = (
        "Veličković et al. (2025), “Softmax is not enough (for sharp size generalisation)”"
    )
    position_word: ClassVar[str] = "token"

    values: int = option(8, "Number of different values.", low=2, high=10)
    labels: int = option(4, "Number of different labels.", low=2, high=26)

    visible: int = dataclasses.field(default=256)

    def at_length(self, length: int) -> "Maximum":
        return dataclasses.replace(self, visible=length)

    def shortest_length(self) -> int:
        return 2

    @property
    def items(self) -> int:
        """Return the number n of items."""
        return self.visible - 1

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the items, by value and then by label; the question; and the labels."""
        labels = string.ascii_lowercase[: self.labels]
        items = map("".join, itertools.product(string.digits[: self.values], labels))
        symbols = (*items, _QUESTION, *labels)
        return Vocabulary(symbols, symbols)

    @property
    def formula(self) -> str:
        return lines_latex(
            r"(v_1, c_1)\ \ldots\ (v_n, c_n)\ ?\ c_m", r"m = \operatorname{argmax}_i v_i"
        )

    def rule_in_words(self, length: int) -> str:
        return "After the question comes the label of the item with the largest value."

    def loss_mask(self, tokens: Int[Array, " positions"]) -> Bool[Array, " positions"]:
        return jnp.arange(tokens.size) == self.visible

    def start(self) -> Largest:
        return Largest(jnp.int32(-1), jnp.int32(0), jnp.bool_(False), jnp.int32(0))

    def log_probs(self, belief: Largest) -> Float[Array, " vocab"]:
        in_items, is_label = belief.seen < self.items, belief.seen == self.visible
        item = jnp.repeat(self._value_probs(belief), self.labels) / self.labels
        label = (jnp.arange(self.labels) == belief.label) & is_label
        question = ~in_items & ~is_label
        parts = [jnp.where(in_items, item, 0.0), question[None], label]
        return jnp.log(jnp.concatenate([part.astype(item.dtype) for part in parts]))

    def _value_probs(self, belief: Largest) -> Float[Array, " values"]:
        """Return the probability of each value of the next item.

        Row 0 of the hypotheses is that the largest item has come; row M, that M is still to come.
        """
        maxima, seen = jnp.arange(self.values), belief.seen
        left, value = jnp.maximum(self.items - seen, 1), jnp.maximum(belief.value, 1)
        to_come = jnp.log(left) - seen * jnp.log(jnp.maximum(maxima, 1))
        log_weight = to_come.at[0].set(-(seen - 1) * jnp.log(value))
        is_possible = (maxima > belief.value).at[0].set(belief.is_single & (belief.value > 0))
        # After an impossible past, the largest item counts as seen.
        is_possible = is_possible.at[0].set(is_possible[0] | ~is_possible.any())
        largest = maxima.at[0].set(value)
        is_next = jnp.where(maxima > 0, 1 / left, 0.0)[:, None]
        smaller = (maxima[None] < largest[:, None]) / largest[:, None]
        rows = (1 - is_next) * smaller + is_next * jnp.eye(self.values)
        return jax.nn.softmax(jnp.where(is_possible, log_weight, -jnp.inf)) @ rows

    def update(self, belief: Largest, token: Int[Array, ""]) -> Largest:
        value, label = token // self.labels, token % self.labels
        is_item = token < self.values * self.labels
        is_larger = is_item & (value > belief.value)
        is_again = is_item & (value == belief.value)
        return Largest(
            jnp.where(is_larger, value, belief.value).astype(jnp.int32),
            jnp.where(is_larger, label, belief.label).astype(jnp.int32),
            is_larger | (belief.is_single & ~is_again),
            belief.seen + 1,
        )

    def draw(self, start: Largest, key: Key[Array, ""], length: int) -> Draw:
        """Draw the largest value and its position, then the other items."""
        largest_key, place_key, value_key, label_key = jr.split(key, 4)
        largest = jr.randint(largest_key, (), 1, self.values)
        place = jr.randint(place_key, (), 0, self.items)
        values = jr.randint(value_key, (self.items,), 0, largest).at[place].set(largest)
        labels = jr.randint(label_key, (self.items,), 0, self.labels)
        question = self.values * self.labels
        rest = jnp.array([question, 0]).at[1].set(question + 1 + labels[place])
        return Draw(jnp.concatenate([values * self.labels + labels, rest])[:length])

    def true_sources(self, tokens: Int[Array, " length"]) -> Bool[Array, "query key"]:
        """Return, for the question, the position of the largest item."""
        question = self.values * self.labels
        values = jnp.where(tokens < question, tokens // self.labels, -1)
        return (tokens == question)[:, None] & (values == values.max())[None]
