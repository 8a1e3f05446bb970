"""What a generator is: a process whose next-token distribution given the past is known exactly."""

import abc
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import Finding, Options
from attnlab.generators.vocabulary import Outline, RuleTable, Vocabulary


class Draw(NamedTuple):
    """Tokens of one sequence, and what the process drew for it that no token shows directly."""

    tokens: Int[Array, "*batch length"]
    latent: PyTree = ()


class Shared(eqx.Module):
    """A part of a belief that no token changes, such as a table; a batch of beliefs has it once."""

    value: PyTree


class AbstractGenerator(Options, abc.ABC):
    """A token process as a predictive state machine over a belief.

    Concrete generators are frozen dataclasses: their fields are their options, and they are
    hashable, so compiled programs and caches are keyed on them. A belief is any pytree and says
    all that the tokens seen so far tell about the next one; tokens not seen are marginalised, never
    assumed. Everything else (sampling, exact probabilities, optimum) is written once from
    `start`, `log_probs` and `update`.

    A process that `writes_target` has a prompt of `given` tokens, each of which has one right
    target, `target_of`, with a `true_alignment` of target tokens to prompt tokens; a model that
    writes it is scored by exact matches. `AbstractTask` says how.

    For the reader only, and free to leave out: `position_word` is what a position is called,
    `formula` is the rule in LaTeX with the options'
    numbers plugged in, `tables` are the probabilities it looks up, and `outline` names the rows
    and columns of an option that is such a table.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    vocabulary: ClassVar[Vocabulary]
    writes_target: ClassVar[bool] = False
    position_word: ClassVar[str] = "day"
    formula: ClassVar[str] = ""
    tables: ClassVar[tuple[RuleTable, ...]] = ()

    @classmethod
    def outline(cls, name: str, values: Mapping[str, Any]) -> Outline | None:
        """What the table option `name` is about, given the values of the options before it.

        Refused, with an `OptionError`: values that leave open which rows and columns there are.
        """
        return None

    def at_length(self, length: int) -> "AbstractGenerator":
        """The process when `length` tokens are visible and the one after them is to be predicted.

        Most are the same at any length. Refused, with an `OptionError`: a length at which the
        process makes no sense.
        """
        return self

    def given(self) -> int:
        """Return the length of the prompt: leading tokens that are given, not predicted."""
        return 0

    def sources(self) -> int | None:
        """Return how many different prompts there are, all equally likely; None without them.

        Where it is a number, prompts of test and training differ.
        """
        return None

    def own_length(self) -> int | None:
        """How many tokens are visible, where that follows from its options; None: any number."""
        return None

    def next_laws(self) -> Float[np.ndarray, "positions vocab"] | None:
        """The probabilities of the next token at each position, where every past has the same.

        In any order of the tokens. None: they are not the same, or nobody knows.
        """
        return None

    def findings(self, length: int) -> Iterator[Finding]:
        """What of the process lies outside the visible tokens, in words; by default nothing."""
        return iter(())

    def is_stationary(self) -> bool | None:
        """Whether sequences have one distribution, wherever they begin; None: not known."""
        return None

    def draw(self, start: PyTree, key: Key[Array, ""], length: int) -> Draw:
        """Draw one sequence from position 0, where `start` is the belief there.

        For use inside compiled programs. A process that has a quicker way than token after token,
        or that first draws something hidden for each sequence, such as a table, overrides it; the
        tokens have the same law.
        """
        return Draw(draw_tokens(self, start, key, length))

    @abc.abstractmethod
    def start(self) -> PyTree:
        """Belief before any token."""

    @abc.abstractmethod
    def log_probs(self, belief: PyTree) -> Float[Array, " vocab"]:
        """log p(next token | belief), in nats; impossible is -inf."""

    @abc.abstractmethod
    def update(self, belief: PyTree, token: Int[Array, ""]) -> PyTree:
        """Belief after seeing `token` next."""


@fixed_numerics()
def sample(
    generator: AbstractGenerator, *, key: Key[Array, ""], size: int, length: int
) -> Int[Array, "size length"]:
    """Draw `size` independent sequences of `length` tokens, from position 0."""
    return draw_many(generator, key=key, size=size, length=length).tokens


@fixed_numerics()
def draw_many(generator: AbstractGenerator, *, key: Key[Array, ""], size: int, length: int) -> Draw:
    """Like `sample`, but with what is hidden of each sequence, along a leading axis."""
    return _draw(generator, generator.start(), jr.split(key, size), length)


@fixed_numerics()
def continue_sequence(
    generator: AbstractGenerator,
    tokens: Int[Array, " length"],
    *,
    key: Key[Array, ""],
    size: int,
    days: int,
) -> Int[Array, "size positions"]:
    """`size` independent continuations by `days` tokens of a sequence that began at position 0."""
    belief = _belief_after(generator, generator.start(), tokens)
    return _sample(generator, belief, jr.split(key, size), days)


@fixed_numerics()
def log_predictives(
    generator: AbstractGenerator, tokens: Int[Array, " length"]
) -> Float[Array, "length vocab"]:
    """Row t is log p(· | the first t tokens), in nats: no model can do better on average."""
    return predictions_from(generator, generator.start(), tokens)


@fixed_numerics()
def beliefs(generator: AbstractGenerator, tokens: Int[Array, " length"]) -> PyTree:
    """Return the exact belief at every position of a sequence.

    Args:
        generator: The process, at its length.
        tokens: The sequence, from position 0.

    Returns:
        A belief whose arrays have a leading axis of length + 1: row t is the belief after the
        first t tokens. Parts that are `Shared` are there once.

    """
    return _beliefs(generator, generator.start(), jnp.asarray(tokens))


# The start belief may hold large tables. Passed as an argument it stays one buffer, whereas a
# constant would be copied into every compiled program.
@partial(jax.jit, static_argnames=("generator", "length"))
def _draw(generator, start, keys, length):
    return jax.vmap(lambda key: generator.draw(start, key, length))(keys)


@partial(jax.jit, static_argnames=("generator", "length"))
def _sample(generator, belief, keys, length):
    return jax.vmap(lambda key: draw_tokens(generator, belief, key, length))(keys)


def draw_tokens(
    generator: AbstractGenerator, belief: PyTree, key: Key[Array, ""], length: int
) -> Int[Array, " length"]:
    """One sequence of the next `length` tokens, for use inside compiled programs."""

    def step(belief, uniform):
        cumulative = jnp.cumsum(jnp.exp(generator.log_probs(belief)))
        # The first token whose cumulative probability exceeds a uniform share of the whole; it
        # takes one random number a token, and an impossible token is never the first.
        token = (cumulative <= uniform * cumulative[-1]).sum()
        return generator.update(belief, token), token

    return jax.lax.scan(step, belief, jr.uniform(key, (length,)))[1]


@partial(jax.jit, static_argnames="generator")
def predictions_from(
    generator: AbstractGenerator, belief: PyTree, tokens: Int[Array, " length"]
) -> Float[Array, "length vocab"]:
    """As `log_predictives`, going on from a belief."""

    def step(belief, token):
        return generator.update(belief, token), generator.log_probs(belief)

    return jax.lax.scan(step, belief, tokens)[1]


@partial(jax.jit, static_argnames="generator")
def _beliefs(generator, start, tokens):
    def changing(belief):
        return jax.tree.map(
            lambda leaf: None if isinstance(leaf, Shared) else leaf,
            belief,
            is_leaf=lambda leaf: isinstance(leaf, Shared),
        )

    def step(belief, token):
        after = generator.update(belief, token)
        return after, changing(after)

    first = jax.tree.map(jnp.asarray, changing(start))
    _, rest = jax.lax.scan(step, start, tokens)
    rows = jax.tree.map(lambda one, all_: jnp.concatenate([one[None], all_]), first, rest)
    return jax.tree.map(
        lambda whole, row: whole if isinstance(whole, Shared) else row,
        start,
        rows,
        is_leaf=lambda leaf: isinstance(leaf, Shared) or leaf is None,
    )


@partial(jax.jit, static_argnames="generator")
def _belief_after(generator, belief, tokens):
    return jax.lax.scan(lambda b, token: (generator.update(b, token), None), belief, tokens)[0]
