"""`induction`: random letters that repeat, so that earlier letters say what comes next."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import Finding, OptionError, option
from attnlab.generators.base import AbstractGenerator, Draw
from attnlab.generators.display import lines_latex
from attnlab.generators.vocabulary import Vocabulary, first_letters

_REPEATS = {
    "period": "a random beginning is repeated; its length is drawn for each sequence, from a "
    "quarter to a half of all tokens",
    "half": "the second half repeats a random first half",
    "pairs": "a letter is usually followed by the one that followed it last time",
}


class LettersSeen(NamedTuple):
    """The letters seen so far, their number, and which periods they agree with."""

    letters: Int[Array, " positions"]
    seen: Int[Array, ""]
    agrees: Bool[Array, " periods"]


@dataclasses.dataclass(frozen=True)
class Induction(AbstractGenerator):
    """Uniform random letters that repeat: later tokens are copies of earlier ones.

    With `period` and `half`, token t is token t - P after the first P tokens. P is half of all
    tokens, or uniform from a quarter to a half of them; the belief has its posterior. The loss mask
    has the tokens after the first half, except the first of them. With `pairs`, a letter that
    occurred before is followed by its last follower with `repeat_probability`, and otherwise by a
    uniform letter. The latent variable is the period.

    References:
        Olsson et al. (2022), "In-context learning and induction heads".
    """

    name: ClassVar[str] = "induction"
    summary: ClassVar[str] = "Random letters that repeat: later tokens are copies of earlier ones."
    source: ClassVar[str] = "Olsson et al. (2022), “In-context learning and induction heads”"
    position_word: ClassVar[str] = "token"

    letters: int = option(16, "Number of different letters.", low=2, high=64)
    repeats: str = option(
        "period",
        "What repeats. " + "; ".join(f"{name}: {text}" for name, text in _REPEATS.items()) + ".",
        choices=tuple(_REPEATS),
    )
    repeat_probability: float = option(
        0.9, "With pairs: probability that the same letter follows again.", low=0.0, high=1.0
    )

    visible: int = dataclasses.field(default=256)

    def at_length(self, length: int) -> "Induction":
        if length < self.shortest_length():
            raise OptionError("length", length, "nothing would repeat", "Choose 2 or more")
        return dataclasses.replace(self, visible=length)

    def shortest_length(self) -> int:
        return 2

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the first letters of the alphabet."""
        return first_letters(self.letters)

    @property
    def periods(self) -> range:
        """Return the possible numbers of tokens before the repeat."""
        half = (self.visible + 1) // 2
        return range(half if self.repeats == "half" else (half + 1) // 2, half + 1)

    @property
    def formula(self) -> str:
        if self.repeats == "pairs":
            again, other = (
                f"{self.repeat_probability:.4g}",
                f"{(1 - self.repeat_probability) / self.letters:.4g}",
            )
            return rf"p(x_{{t+1}} = w) = {again}\,[w = \text{{last follower of }} x_t] + {other}"
        first, last = self.periods[0], self.periods[-1]
        period = f"P = {first}" if first == last else rf"P \sim \text{{uniform }} {first}…{last}"
        return lines_latex(r"x_t = x_{t - P} \quad \text{for } t > P", period)

    def rule_in_words(self, length: int) -> str:
        if self.repeats == "pairs":
            return "When a letter comes back, the letter after it is usually the same as last time."
        return (
            "A random block of letters is repeated: find where the last letters occurred before, "
            "and copy the letter that followed."
        )

    def findings(self, length: int) -> Iterator[Finding]:
        if self.repeats == "pairs" and length < self.letters**0.5:
            yield Finding("length", "Few letters repeat in so short a sequence.")

    def has_loss_mask(self) -> bool:
        return self.repeats != "pairs"

    def loss_mask(self, tokens: Int[Array, " positions"]) -> Bool[Array, " positions"]:
        return jnp.arange(tokens.size) > self.periods[-1]

    def start(self) -> LettersSeen:
        none = jnp.full(self.visible + 1, -1, jnp.int32)
        return LettersSeen(none, jnp.int32(0), jnp.ones(len(self.periods), bool))

    def update(self, belief: LettersSeen, token: Int[Array, ""]) -> LettersSeen:
        letters, seen, agrees = belief
        periods = jnp.asarray(self.periods)
        repeats = letters[jnp.maximum(seen - periods, 0)] == token
        return LettersSeen(
            letters.at[seen].set(token, mode="drop"),
            seen + 1,
            agrees & ((seen < periods) | repeats),
        )

    def log_probs(self, belief: LettersSeen) -> Float[Array, " vocab"]:
        if self.repeats == "pairs":
            return self._after_a_pair(belief)
        periods = jnp.asarray(self.periods)
        letters, seen, agrees = belief
        # A period that the letters agree with has one fewer free letter for each repeated one.
        repeated = jnp.maximum(seen - periods, 0)
        # After an impossible past, which agrees with no period, the softmax would be NaN.
        agrees = agrees | ~agrees.any()
        weights = jax.nn.softmax(jnp.log(agrees) + repeated * jnp.log(self.letters))
        copied = letters[jnp.maximum(seen - periods, 0)]
        is_free = seen < periods
        probs = jnp.zeros(self.letters).at[copied].add(jnp.where(is_free, 0, weights))
        return jnp.log(probs + (weights * is_free).sum() / self.letters)

    def _after_a_pair(self, belief: LettersSeen) -> Float[Array, " vocab"]:
        letters, seen, _ = belief
        place = _last_follower(letters, seen)
        uniform = jnp.full(self.letters, 1 / self.letters)
        again = (jnp.arange(self.letters) == letters[place]).astype(float)
        mixed = self.repeat_probability * again + (1 - self.repeat_probability) * uniform
        return jnp.log(jnp.where(place > 0, mixed, uniform))

    def draw(self, start: LettersSeen, key: Key[Array, ""], length: int) -> Draw:
        first, second, third = jr.split(key, 3)
        letters = jr.randint(first, (length,), 0, self.letters)
        if self.repeats != "pairs":
            period = jr.choice(second, jnp.asarray(self.periods))
            return Draw(letters[jnp.arange(length) % period], period)

        def step(state, drawn):
            last, followers = state
            letter, uniform = drawn
            repeats = (followers[last] >= 0) & (uniform < self.repeat_probability)
            token = jnp.where(repeats, followers[last], letter)
            return (token, followers.at[last].set(token)), token

        began = letters[0], jnp.full(self.letters, -1)
        _, rest = jax.lax.scan(step, began, (letters[1:], jr.uniform(third, (length - 1,))))
        return Draw(jnp.append(letters[0], rest))

    def references(self, belief: LettersSeen) -> Mapping[str, Float[Array, " vocab"]]:
        letters, seen, _ = belief
        is_letter = letters[:, None] == jnp.arange(self.letters)[None, :]
        follows = jnp.append(False, letters[:-1] == letters[seen - 1])
        counted = {
            "in-context unigram": is_letter,
            "in-context bigram": is_letter & follows[:, None],
        }
        return {
            name: jnp.log((each.sum(axis=0) + 1) / (each.sum() + self.letters))
            for name, each in counted.items()
        }

    def true_sources(self, tokens: Int[Array, " length"]) -> Bool[Array, "query key"]:
        """Return the positions from which the next token may be copied.

        With `period` these are one for each period that agrees with the tokens so far.
        """
        places = jnp.arange(tokens.size)
        if self.repeats == "pairs":
            found = jax.vmap(lambda t: _last_follower(tokens, t + 1))(places)
            return (places[None, :] == found[:, None]) & (found[:, None] > 0)

        def of_period(period):
            agrees = (places < period) | (tokens == jnp.roll(tokens, period))
            is_copied = places[None, :] == places[:, None] + 1 - period
            return is_copied & jnp.cumprod(agrees).astype(bool)[:, None]

        return jax.vmap(of_period)(jnp.asarray(self.periods)).any(axis=0)


def _last_follower(letters: Int[Array, " positions"], seen: Int[Array, ""]) -> Int[Array, ""]:
    """Return the position after the last earlier occurrence of the last letter; 0 if none."""
    places = jnp.arange(letters.size)
    earlier = (letters == letters[seen - 1]) & (places < seen - 1)
    return jnp.where(earlier, places + 1, 0).max()
