"""`cards`: sort a hand of cards."""

import dataclasses
import functools
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import OptionError, option
from attnlab.generators.display import lines_latex
from attnlab.generators.tasks import AbstractTask, TaskBelief, noise_option
from attnlab.generators.vocabulary import Vocabulary

SUITS = (("♣", "clubs"), ("♦", "diamonds"), ("♥", "hearts"), ("♠", "spades"))
RANKS = (
    *((str(number), str(number)) for number in range(2, 11)),
    *(("J", "jack"), ("Q", "queen"), ("K", "king"), ("A", "ace")),
)

# Other spellings of a suit or a rank: its initial, its outlined symbol, T for ten.
_TYPED = str.maketrans(
    {
        **{name[0].upper(): suit for suit, name in SUITS},
        **dict(zip("♧♢♡♤", "♣♦♥♠", strict=True)),
        "T": "10",
    }
)


@dataclasses.dataclass(frozen=True)
class Cards(AbstractTask):
    """A hand dealt without replacement from a deck, then its cards in ascending order.

    A smaller deck has the first suits and the highest ranks; the ace is the highest. Token s ·
    ranks + r is the card of suit s and rank r. The hand cannot be larger than the deck.
    """

    name: ClassVar[str] = "cards"
    summary: ClassVar[str] = "Task: a hand of cards, then the same cards in order."
    size_option: ClassVar[str] = "hand"
    source_name: ClassVar[str] = "hand"
    token_name: ClassVar[str] = "card"
    may_repeat: ClassVar[bool] = False

    hand: int = option(5, "Cards of the hand.", low=2, high=10, label="hand size")
    suits: int = option(4, "Suits of the deck.", low=1, high=4)
    ranks: int = option(13, "Ranks of each suit.", low=2, high=13)
    order: str = option(
        "rank then suit",
        "Sorting order of the cards; the second criterion breaks ties.",
        choices=("rank then suit", "suit then rank"),
    )
    noise: float = noise_option()

    def __post_init__(self):
        super().__post_init__()
        if self.hand > (deck := self.suits * self.ranks):
            raise OptionError(
                "hand", self.hand, f"the deck has {deck} cards", f"Choose {deck} or fewer"
            )

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the cards of the deck, suit after suit."""
        return _deck(self.suits, self.ranks)

    @property
    def formula(self) -> str:
        return lines_latex(
            rf"x_1, \dots, x_{{{self.hand}}} \text{{ drawn without replacement}}",
            rf"y_1 < \dots < y_{{{self.hand}}}, \quad \{{y_j\}} = \{{x_i\}}",
        )

    def rule_in_words(self, length: int) -> str:
        suits = " ".join(suit for suit, _ in SUITS[: self.suits])
        if self.order == "suit then rank":
            first = f"suit by suit ({suits})"
        else:
            first = f"lowest rank first{f', then {suits}' if self.suits > 1 else ''}"
        return f"Write the {self.hand} cards in order: {first}."

    @property
    def spelling(self) -> str:
        suits = ", ".join(f"{suit} or {name[0].upper()}" for suit, name in SUITS[: self.suits])
        ranks = ", ".join(rank for rank, _ in RANKS[-self.ranks :])
        return f"a rank ({ranks}) and a suit ({suits}) behind it"

    def in_symbols(self, typed: str) -> str:
        return typed.upper().translate(_TYPED)

    @property
    def source_length(self) -> int:
        return self.hand

    def sources(self) -> int:
        return math.perm(self.suits * self.ranks, self.hand)

    def targets(self) -> int:
        return math.comb(self.suits * self.ranks, self.hand)

    def possible_next(self) -> tuple[int, ...]:
        return tuple(self.suits * self.ranks - dealt for dealt in range(self.hand))

    def source_log_probs(self, belief: TaskBelief) -> Float[Array, " vocab"]:
        deck = jnp.arange(self.suits * self.ranks)
        is_dealt = jnp.arange(self.hand) < belief.seen
        dealt = ((belief.source[:, None] == deck[None]) & is_dealt[:, None]).any(axis=0)
        left = jnp.maximum(deck.size - belief.seen, 1)
        return jnp.where(dealt, -jnp.inf, -jnp.log(left.astype(jnp.float32)))

    def draw_source(self, key: Key[Array, ""]) -> Int[Array, " source"]:
        # The first cards of a shuffled deck.
        _, hand = jax.lax.top_k(jr.uniform(key, (self.suits * self.ranks,)), self.hand)
        return hand

    def target_of(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        if self.order == "suit then rank":
            return jnp.sort(source)
        place = jnp.sort(source % self.ranks * self.suits + source // self.ranks)
        return place % self.suits * self.ranks + place // self.suits

    def true_alignment(self, source: Int[Array, " source"]) -> Bool[Array, "target source"]:
        return self.target_of(source)[:, None] == source[None, :]


@functools.lru_cache(maxsize=64)
def _deck(suits: int, ranks: int) -> Vocabulary:
    cards = [(suit, rank) for suit in SUITS[:suits] for rank in RANKS[-ranks:]]
    return Vocabulary(
        symbols=tuple(rank + suit for (suit, _), (rank, _) in cards),
        names=tuple(f"{rank} of {suit}" for (_, suit), (_, rank) in cards),
    )
