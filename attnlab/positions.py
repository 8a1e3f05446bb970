"""Positional encodings: how a model that sees a set of days is told their order.

Every encoding is a frozen dataclass in `POSITIONS` and of one of two kinds. An input encoding
gives each position a vector of features; a score encoding changes how queries meet keys.
Position 0 is the user's day 1.
"""

import abc
import dataclasses
from types import MappingProxyType
from typing import ClassVar

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.options import check_options, option


class AbstractPosition(abc.ABC):
    """An encoding of the positions of a sequence; its fields are its options."""

    name: ClassVar[str]
    summary: ClassVar[str]


class AbstractInputPosition(AbstractPosition):
    """An encoding that gives the model features of each position beside the token's own."""

    trainable: ClassVar[bool]

    @abc.abstractmethod
    def table(
        self, *, length: int, width: int, key: Key[Array, ""]
    ) -> Float[Array, "length features"]:
        """Features of every position; `features` is `width` unless the scheme fixes it.

        `key` draws the starting values where `trainable`; other schemes do not use it.
        """


class AbstractScorePosition(AbstractPosition):
    """An encoding that acts where a query meets a key, and leaves the input alone."""

    @abc.abstractmethod
    def turn(
        self, vectors: Float[Array, "some d_attn"], positions: Int[Array, " some"]
    ) -> Float[Array, "some d_attn"]:
        """Queries or keys as they are compared, given where they stand."""

    @abc.abstractmethod
    def bias(
        self, queries: Int[Array, " query"], keys: Int[Array, " key"]
    ) -> Float[Array, "query key"]:
        """What is added to the scaled scores, given the positions of queries and keys."""


def position_table(
    position: AbstractPosition, *, length: int, width: int, key: Key[Array, ""]
) -> Float[Array, "length features"]:
    """Input features of every position: those of `position`, or none for a score encoding."""
    if isinstance(position, AbstractInputPosition):
        return position.table(length=length, width=width, key=key)
    return jnp.zeros((length, 0))


@dataclasses.dataclass(frozen=True)
class NoPosition(AbstractInputPosition):
    """No signal of order: the days are a set."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "No signal of order: the days are a set."
    trainable: ClassVar[bool] = False

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        return jnp.zeros((length, 0))


@dataclasses.dataclass(frozen=True)
class Scalar(AbstractInputPosition):
    """One feature t / period, with the day t counted from 1. The blog's models use period 20."""

    name: ClassVar[str] = "scalar"
    summary: ClassVar[str] = "One extra feature, the day number over a constant."
    trainable: ClassVar[bool] = False

    period: float = option(20.0, "Day number is divided by this.", low=1.0, high=1000.0)

    def __post_init__(self):
        check_options(self)

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        return _days(length)[:, None] / self.period


@dataclasses.dataclass(frozen=True)
class Sinusoidal(AbstractInputPosition):
    """PE(t, 2i) = sin(t / base^(2i/d)), PE(t, 2i + 1) = cos(t / base^(2i/d)), t and i from 0.

    Vaswani et al. (2017), "Attention is all you need", section 3.5.
    """

    name: ClassVar[str] = "sinusoidal"
    summary: ClassVar[str] = "Sines and cosines of many wavelengths."
    trainable: ClassVar[bool] = False

    base: float = option(
        10_000.0, "Longest wavelength over 2π.", low=2.0, high=1_000_000.0, logarithmic=True
    )

    def __post_init__(self):
        check_options(self)

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        component = jnp.arange(width)
        angle = _waves(jnp.arange(length), self.base, 2 * (component // 2) / width)
        return jnp.where(component % 2 == 0, jnp.sin(angle), jnp.cos(angle))


@dataclasses.dataclass(frozen=True)
class BlogDescribed(AbstractInputPosition):
    """Component 2i - 1 = sin(t / base^(2i/d)) and 2i = cos(t / base^(2i/d)), t and i from 1.

    The form in the text of the blog post that the published presets reproduce.
    """

    name: ClassVar[str] = "blog-described"
    summary: ClassVar[str] = "Sinusoidal, as the blog's text writes it."
    trainable: ClassVar[bool] = False

    base: float = option(20.0, "The blog's L.", low=2.0, high=1_000_000.0, logarithmic=True)

    def __post_init__(self):
        check_options(self)

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        component = jnp.arange(1, width + 1)
        angle = _waves(_days(length), self.base, 2 * ((component + 1) // 2) / width)
        return jnp.where(component % 2 == 1, jnp.sin(angle), jnp.cos(angle))


@dataclasses.dataclass(frozen=True)
class BlogPublished(AbstractInputPosition):
    """Component i = sin(t / base^(i/d)) for even i, cos(t / base^((i-1)/d)) for odd, from 1.

    The form in the code of the blog post that the published presets reproduce.
    """

    name: ClassVar[str] = "blog-published"
    summary: ClassVar[str] = "Sinusoidal, as the blog's code computes it."
    trainable: ClassVar[bool] = False

    base: float = option(20.0, "The blog's L.", low=2.0, high=1_000_000.0, logarithmic=True)

    def __post_init__(self):
        check_options(self)

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        component = jnp.arange(1, width + 1)
        angle = _waves(_days(length), self.base, 2 * (component // 2) / width)
        return jnp.where(component % 2 == 0, jnp.sin(angle), jnp.cos(angle))


@dataclasses.dataclass(frozen=True)
class Learned(AbstractInputPosition):
    """A free vector for every position, trained with the model; starts at N(0, 1) entries."""

    name: ClassVar[str] = "learned"
    summary: ClassVar[str] = "A free vector for every position, trained with the model."
    trainable: ClassVar[bool] = True

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        return jr.normal(key, (length, width))


def _days(length: int) -> Int[Array, " length"]:
    return jnp.arange(1, length + 1)


def _waves(
    time: Int[Array, " length"], base: float, exponent: Float[Array, " width"]
) -> Float[Array, "length width"]:
    return time[:, None] / base ** exponent[None, :]


POSITIONS = MappingProxyType(
    {
        kind.name: kind
        for kind in (Learned, NoPosition, Scalar, Sinusoidal, BlogDescribed, BlogPublished)
    }
)
