"""Positional encodings: how a model that sees a set of tokens learns their order.

Every encoding is a frozen dataclass in `POSITIONS` and of one of two kinds. An input encoding gives
each position a vector of features; a score encoding changes the scores of queries and keys.
Position 0 is the user's day 1.
"""

import abc
import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import Options, option
from attnlab.configuration.registry import Registry


class AbstractPosition(Options, abc.ABC):
    """An encoding of the positions of a sequence; its fields are its options."""

    name: ClassVar[str]
    summary: ClassVar[str]
    trainable: ClassVar[bool] = False

    def tells_order(self, *, d_attn: int) -> bool:
        """Return whether a head of width `d_attn` gets the tokens' order from this encoding."""
        return True


class AbstractInputPosition(AbstractPosition):
    """An encoding that gives the model features of each position, besides token features."""

    @abc.abstractmethod
    def table(
        self, *, length: int, width: int, key: Key[Array, ""]
    ) -> Float[Array, "length features"]:
        """Return features of every position; `features` is `width` unless the scheme fixes it.

        `key` draws the initial values if `trainable`; other schemes do not use it.
        """


class AbstractScorePosition(AbstractPosition):
    """An encoding that changes scores of queries and keys, and leaves the input alone."""

    @abc.abstractmethod
    def turn(
        self, vectors: Float[Array, "some d_attn"], positions: Int[Array, " some"]
    ) -> Float[Array, "some d_attn"]:
        """Return queries or keys transformed by their positions, before they are compared."""

    @abc.abstractmethod
    def bias(
        self, queries: Int[Array, " query"], keys: Int[Array, " key"]
    ) -> Float[Array, "query key"]:
        """Return what is added to the scaled scores, given the positions of queries and keys."""

    def bias_of_head(
        self,
        queries: Int[Array, " query"],
        keys: Int[Array, " key"],
        *,
        head: int | Int[Array, ""],
        heads: int,
    ) -> Float[Array, "query key"]:
        """Like `bias`, for head number `head` (from 0) of the `heads` of a layer."""
        return self.bias(queries, keys)


def position_table(
    position: AbstractPosition, *, length: int, width: int, key: Key[Array, ""]
) -> Float[Array, "length features"]:
    """Return the features that `position` adds at each position; a score encoding adds none."""
    if isinstance(position, AbstractInputPosition):
        return position.table(length=length, width=width, key=key)
    return jnp.zeros((length, 0))


def from_one(length: int) -> Int[Array, " length"]:
    """Return 1, 2, …: positions as the user counts them."""
    return jnp.arange(1, length + 1)


def waves(
    time: Int[Array, " length"], base: float, exponent: Float[np.ndarray, " width"]
) -> Float[Array, "length width"]:
    """Return time / base^exponent, with a column for every exponent."""
    return time[:, None] / base ** exponent[None, :]


@dataclasses.dataclass(frozen=True)
class Learned(AbstractInputPosition):
    """A free vector for every position, trained with the model and initialised from N(0, 1)."""

    name: ClassVar[str] = "learned"
    summary: ClassVar[str] = "A trainable vector for every position, random at first."
    trainable: ClassVar[bool] = True

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        return jr.normal(key, (length, width))


@dataclasses.dataclass(frozen=True)
class NoPosition(AbstractInputPosition):
    """No encoding: only a mask in a stack of two or more layers still reveals the order."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "No positional information: one layer sees the tokens as a set."

    def tells_order(self, *, d_attn: int) -> bool:
        return False

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        return jnp.zeros((length, 0))


@dataclasses.dataclass(frozen=True)
class Scalar(AbstractInputPosition):
    """One feature t / period, with the day t counted from 1. The blog's models use period 20."""

    name: ClassVar[str] = "scalar"
    summary: ClassVar[str] = "One extra feature: the position divided by a constant."

    period: float = option(20.0, "The position is divided by this.", low=1.0, high=1000.0)

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        return from_one(length)[:, None] / self.period


@dataclasses.dataclass(frozen=True)
class Sinusoidal(AbstractInputPosition):
    """PE(t, 2i) = sin(t / base^(2i/d)), PE(t, 2i + 1) = cos(t / base^(2i/d)), t and i from 0.

    The wavelengths run from 2π to 2π base^((d-2)/d) for even d, to 2π base^((d-1)/d) for odd d.
    Vaswani et al. (2017), "Attention is all you need", section 3.5.
    """

    name: ClassVar[str] = "sinusoidal"
    summary: ClassVar[str] = "Sines and cosines of many wavelengths."

    base: float = option(
        10_000.0,
        "Wavelengths run from 2π to less than 2π · base.",
        low=2.0,
        high=1_000_000.0,
        logarithmic=True,
    )

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        angle = waves(jnp.arange(length), self.base, self.exponents(width))
        return jnp.where(jnp.arange(width) % 2 == 0, jnp.sin(angle), jnp.cos(angle))

    def exponents(self, width: int) -> Float[np.ndarray, " width"]:
        """Return the exponent e of each component, whose wavelength is 2π base^e."""
        return 2 * (np.arange(width) // 2) / width


@dataclasses.dataclass(frozen=True)
class BlogDescribed(AbstractInputPosition):
    """Component 2i - 1 = sin(t / base^(2i/d)) and 2i = cos(t / base^(2i/d)), t and i from 1.

    This is the formula in the text of the blog post that the published presets reproduce.
    """

    name: ClassVar[str] = "blog-described"
    summary: ClassVar[str] = (
        "Sinusoidal, as in the text of the blog post “Understanding what self-attention is "
        "doing” (2023)."
    )

    base: float = option(
        20.0, "The constant L of the blog post.", low=2.0, high=1_000_000.0, logarithmic=True
    )

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        angle = waves(from_one(length), self.base, self.exponents(width))
        return jnp.where(from_one(width) % 2 == 1, jnp.sin(angle), jnp.cos(angle))

    def exponents(self, width: int) -> Float[np.ndarray, " width"]:
        """Return the exponent e of each component, whose wavelength is 2π base^e."""
        return 2 * (np.arange(2, width + 2) // 2) / width


@dataclasses.dataclass(frozen=True)
class BlogPublished(AbstractInputPosition):
    """Component i = sin(t / base^(i/d)) for even i, cos(t / base^((i-1)/d)) for odd, from 1.

    This is the formula in the code of the blog post that the published presets reproduce.
    """

    name: ClassVar[str] = "blog-published"
    summary: ClassVar[str] = (
        "Sinusoidal, as in the code of the blog post “Understanding what self-attention is "
        "doing” (2023)."
    )

    base: float = option(
        20.0, "The constant L of the blog post.", low=2.0, high=1_000_000.0, logarithmic=True
    )

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        angle = waves(from_one(length), self.base, self.exponents(width))
        return jnp.where(from_one(width) % 2 == 0, jnp.sin(angle), jnp.cos(angle))

    def exponents(self, width: int) -> Float[np.ndarray, " width"]:
        """Return the exponent e of each component, whose wavelength is 2π base^e."""
        return 2 * (np.arange(1, width + 1) // 2) / width


@dataclasses.dataclass(frozen=True)
class Rotary(AbstractScorePosition):
    """Components 2i and 2i + 1 of a query or key at position t turn by t / base^(2i/d), i from 0.

    d is `d_attn`, minus 1 if that is odd: the last component then has no partner and does not turn.
    A rotation keeps lengths, and the dot product of a query at position q and a key at position k
    depends on q - k alone. Su et al. (2021), "RoFormer", equations 14 and 15.
    """

    name: ClassVar[str] = "rotary"
    summary: ClassVar[str] = (
        "Queries and keys are rotated, so scores depend on the distance of positions."
    )

    base: float = option(
        10_000.0,
        "Wavelengths run from 2π to less than 2π · base.",
        low=2.0,
        high=1_000_000.0,
        logarithmic=True,
    )

    def tells_order(self, *, d_attn: int) -> bool:
        # A single component has no partner to turn with.
        return d_attn > 1

    def turn(self, vectors: Float[Array, "some d_attn"], positions: Int[Array, " some"]):
        pairs = vectors.shape[1] // 2
        angle = waves(positions, self.base, self.exponents(2 * pairs)[::2])
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        even, odd = vectors[:, 0 : 2 * pairs : 2], vectors[:, 1 : 2 * pairs : 2]
        turned = jnp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=2)
        return jnp.concatenate(
            [turned.reshape(len(vectors), 2 * pairs), vectors[:, 2 * pairs :]], axis=1
        )

    def exponents(self, width: int) -> Float[np.ndarray, " width"]:
        """Return the exponent e of each component, which turns once in 2π base^e positions."""
        return 2 * (np.arange(width) // 2) / max(width, 1)

    def bias(self, queries: Int[Array, " query"], keys: Int[Array, " key"]):
        return jnp.zeros((queries.size, keys.size))


@dataclasses.dataclass(frozen=True)
class Alibi(AbstractScorePosition):
    """Attention with linear biases: -slope · |query - key| is added to the scaled score.

    With the slopes `by head`, head i of n has slope^(8i/n). The default slope, 1/2, gives those of
    the paper: 2^(-8/n), 2^(-16/n), …, 2^-8. Eight heads have 1/2 to 1/256, and a single head 1/256,
    which is almost nothing over ten positions. Press et al. (2022), "Train short, test long",
    section 3; there later keys are masked, while here the distance counts in both directions.
    """

    name: ClassVar[str] = "alibi"
    summary: ClassVar[str] = "Scores are lowered in proportion to the distance."

    slope: float = option(
        0.5,
        "Amount subtracted from a score per position of distance.",
        low=0.001,
        high=10.0,
        logarithmic=True,
    )
    slopes: str = option(
        "equal",
        "equal: every head has the slope; by head: powers of it, from steep to flat.",
        choices=("equal", "by head"),
    )

    def turn(self, vectors: Float[Array, "some d_attn"], positions: Int[Array, " some"]):
        return vectors

    def bias(self, queries: Int[Array, " query"], keys: Int[Array, " key"]):
        return self.bias_of_head(queries, keys, head=0, heads=1)

    def bias_of_head(
        self,
        queries: Int[Array, " query"],
        keys: Int[Array, " key"],
        *,
        head: int | Int[Array, ""],
        heads: int,
    ):
        distance = jnp.abs(queries[:, None] - keys[None, :])
        power = 8 * (head + 1) / heads if self.slopes == "by head" else 1
        return -(self.slope**power) * distance.astype(jnp.float32)


POSITIONS = Registry(
    (Learned, NoPosition, Scalar, Sinusoidal, BlogDescribed, BlogPublished, Rotary, Alibi)
)
