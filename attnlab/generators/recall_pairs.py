"""`recall-pairs`: pairs of a key and a value, then the keys again, each with its value."""

import dataclasses
import string
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import OptionError, option
from attnlab.generators.base import AbstractGenerator, Draw
from attnlab.generators.display import lines_latex
from attnlab.generators.vocabulary import Vocabulary

_GAP = "·"


class PairsSeen(NamedTuple):
    """The value of each key, -1 before it is seen; which keys were asked; the last token."""

    values: Int[Array, " keys"]
    asked: Bool[Array, " keys"]
    last: Int[Array, ""]
    seen: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class RecallPairs(AbstractGenerator):
    """Multi-query associative recall: `pairs` keys with their values, then each key once more.

    Keys are drawn without replacement, values uniformly. The rest of the sequence is split into
    places of two tokens each. Every key is asked at one place, in random order, and followed by its
    value; all choices of places are equally likely. Other places are gaps. Only the values after
    these keys count in the loss.

    Raises `OptionError` if there are more pairs than keys, or more than fit into the sequence.

    References:
        Arora et al. (2023), "Zoology: measuring and improving recall in efficient language models".
        There the lengths of the gaps before questions follow a power law.
    """

    name: ClassVar[str] = "recall-pairs"
    summary: ClassVar[str] = "Pairs of keys and values; later each key asks for its value."
    source: ClassVar[str] = (
        "Arora et al. (2023), “Zoology: measuring and improving recall in efficient language "
        "models”"
    )
    position_word: ClassVar[str] = "token"

    pairs: int = option(2, "Pairs in a sequence, each asked once.", low=1, high=26)
    keys: int = option(8, "Number of different keys.", low=1, high=26)
    values: int = option(8, "Number of different values.", low=2, high=26)

    visible: int = dataclasses.field(default=256)

    def __post_init__(self):
        super().__post_init__()
        if self.pairs > self.keys:
            problem = f"there are only {self.keys} `keys`, and none is used twice"
            raise OptionError("pairs", self.pairs, problem, f"Choose at most {self.keys}")

    def at_length(self, length: int) -> "RecallPairs":
        if length < (least := self.shortest_length()):
            problem = f"{self.pairs} pairs and their questions need {least} tokens"
            raise OptionError("length", length, problem, "Choose more, or fewer `pairs`")
        return dataclasses.replace(self, visible=length)

    def shortest_length(self) -> int:
        # The last value is the token to predict.
        return 4 * self.pairs - 1

    @property
    def vocabulary(self) -> Vocabulary:
        """Return capital letters for keys, small letters for values, and the gap."""
        keys, values = string.ascii_uppercase[: self.keys], string.ascii_lowercase[: self.values]
        return Vocabulary((*keys, *values, _GAP), (*keys, *values, "gap"))

    @property
    def places(self) -> int:
        """Return the number of places for a question."""
        return (self.visible + 1) // 2 - self.pairs

    @property
    def formula(self) -> str:
        return lines_latex(
            r"k_1 v_1 \; k_2 v_2 \; \ldots \; k_i \rightarrow v_i",
            rf"D = {self.pairs} \text{{ pairs}}",
        )

    def rule_in_words(self, length: int) -> str:
        return (
            f"The sequence starts with {self.pairs} pairs of a key and its value. "
            "When a key comes again, its value follows."
        )

    def loss_mask(self, tokens: Int[Array, " positions"]) -> Bool[Array, " positions"]:
        after_key = jnp.append(False, tokens[:-1] < self.keys)
        return after_key & (jnp.arange(tokens.size) > 2 * self.pairs)

    def start(self) -> PairsSeen:
        none = jnp.full(self.keys, -1, jnp.int32)
        return PairsSeen(none, none >= 0, jnp.int32(-1), jnp.int32(0))

    def log_probs(self, belief: PairsSeen) -> Float[Array, " vocab"]:
        keys, seen = jnp.arange(self.keys), belief.seen
        known = belief.values >= 0
        is_second, in_pairs = seen % 2 == 1, seen < 2 * self.pairs
        # The first token of a place: a key that is still free, or a gap.
        free = jnp.where(in_pairs, ~known, known & ~belief.asked)
        places_left = self.places - (seen // 2 - self.pairs)
        questions_left = (known & ~belief.asked).sum()
        # After an impossible past there may be more questions than places.
        share = jnp.minimum(questions_left / jnp.maximum(places_left, 1), 1.0)
        is_question = jnp.where(in_pairs, 1.0, share)
        key = is_question * free / jnp.maximum(free.sum(), 1)
        first = self._law(key, jnp.zeros(self.values), 1 - is_question)
        # The second: the value of the key, any value if it is new, or the rest of a gap.
        after_gap = belief.last == self.keys + self.values
        any_value = jnp.full(self.values, 1 / self.values)
        known_value = belief.values[jnp.clip(belief.last, 0, self.keys - 1)]
        is_known = (jnp.arange(self.values) == known_value).astype(float)
        value = jnp.where(in_pairs, any_value, is_known)
        second = self._law(0.0 * keys, jnp.where(after_gap, 0, value), jnp.float32(after_gap))
        return jnp.log(jnp.where(is_second, second, first))

    def _law(self, keys, values, gap) -> Float[Array, " vocab"]:
        return jnp.concatenate([keys, values, jnp.atleast_1d(gap)])

    def update(self, belief: PairsSeen, token: Int[Array, ""]) -> PairsSeen:
        values, asked, last, seen = belief
        in_pairs, keys = seen < 2 * self.pairs, jnp.arange(self.keys)
        is_new = in_pairs & (seen % 2 == 1) & (keys == last)
        return PairsSeen(
            jnp.where(is_new, token - self.keys, values).astype(jnp.int32),
            asked | (~in_pairs & (keys == token)),
            jnp.int32(token),
            seen + 1,
        )

    def draw(self, start: PairsSeen, key: Key[Array, ""], length: int) -> Draw:
        """Draw pairs, and the places of their questions."""
        key_key, value_key, place_key, order_key = jr.split(key, 4)
        keys = jr.permutation(key_key, self.keys)[: self.pairs]
        values = self.keys + jr.randint(value_key, (self.pairs,), 0, self.values)
        pairs = jnp.stack([keys, values], axis=1)
        places = jr.permutation(place_key, self.places)[: self.pairs]
        gap = self.keys + self.values
        rest = jnp.full((self.places, 2), gap).at[places].set(jr.permutation(order_key, pairs))
        tokens = jnp.concatenate([pairs.ravel(), rest.ravel(), jnp.array([gap])])
        return Draw(tokens[:length])

    def references(self, belief: PairsSeen) -> Mapping[str, Float[Array, " vocab"]]:
        is_value = jnp.append(jnp.arange(self.keys + self.values) >= self.keys, False)
        counts = (belief.values[:, None] == jnp.arange(self.values)[None, :]).sum(axis=0)
        in_context = self._law(jnp.zeros(self.keys), counts.astype(float), 0.0)
        some = jnp.maximum(counts.sum(), 1)
        uniform = is_value / self.values
        return {
            "any value": jnp.log(uniform),
            "in-context unigram": jnp.log(jnp.where(counts.sum() > 0, in_context / some, uniform)),
        }

    @property
    def optimal_predictor(self) -> str:
        return "retrieval"

    def true_sources(self, tokens: Int[Array, " length"]) -> Bool[Array, "query key"]:
        """Return, for a key that is asked, the position of its value."""
        places = jnp.arange(tokens.size)
        before = jnp.append(-1, tokens[:-1])
        is_value = (places % 2 == 1) & (places < 2 * self.pairs)
        asks = (places >= 2 * self.pairs) & (tokens < self.keys)
        return asks[:, None] & is_value[None, :] & (before[None, :] == tokens[:, None])
