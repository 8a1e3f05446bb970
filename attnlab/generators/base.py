"""The interface of a generator: a process whose next-token distribution is known exactly."""

import abc
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.configuration.options import OptionError, Options, present
from attnlab.generators.context_tree import Predictor, Result
from attnlab.generators.display import NO_LAW, OF_LAW, OF_REFERENCE, AbstractDisplay, BestWords
from attnlab.generators.vocabulary import Vocabulary


class Draw(NamedTuple):
    """Sampled tokens, and the latent variables that the process drew with them."""

    tokens: Int[Array, "*batch length"]
    latent: PyTree = ()


class HeldOut(NamedTuple):
    """Windows of held-out sequences: where each begins in `tokens`, and the block it is from.

    Windows of one block overlap, so that standard errors are those over blocks.
    """

    tokens: Int[np.ndarray, " tokens"]
    begin: Int[np.ndarray, " windows"]
    blocks: Int[np.ndarray, " windows"]
    length: int

    def sequences(self) -> Int[np.ndarray, "windows length"]:
        """Return the tokens of all windows."""
        return np.lib.stride_tricks.sliding_window_view(self.tokens, self.length)[self.begin]

    def random(self, size: int, seed: int) -> "HeldOut":
        """Return random windows; only of fewer than `size` is any repeated."""
        rows = np.resize(np.random.default_rng(seed).permutation(self.begin.size), size)
        return self._replace(begin=self.begin[rows], blocks=self.blocks[rows])


class Fitted(NamedTuple):
    """The best reference predictor, and the results of all on the last token of each window."""

    name: str
    predictor: Predictor
    results: Mapping[str, Result]
    held_out: HeldOut


class Shared(eqx.Module):
    """A part of a belief that no token changes, such as a table; a batch of beliefs shares it."""

    value: PyTree


def split_shared(beliefs: PyTree) -> tuple[PyTree, PyTree]:
    """Return a belief without its `Shared` parts, and these parts, each with None for the rest."""
    return eqx.partition(beliefs, lambda leaf: not _is_shared(leaf), is_leaf=_is_shared)


def join_shared(own: PyTree, shared: PyTree) -> PyTree:
    """Return the belief of both results of `split_shared`."""
    return eqx.combine(own, shared, is_leaf=_is_shared)


def _is_shared(leaf: Any) -> bool:
    return isinstance(leaf, Shared)


class AbstractGenerator(AbstractDisplay, Options):
    """A token process as a predictive state machine over a belief.

    Concrete generators are frozen dataclasses: their fields are their options, and they are
    hashable, so compiled programs and caches are keyed on them. A belief is any pytree and contains
    all information in the past tokens about the next one; unseen tokens are marginalised, never
    assumed. Everything else (sampling, exact probabilities, optimum) is computed from `start`,
    `log_probs` and `update`. The other methods are optional, and so is all of `AbstractDisplay`.

    A process that `writes_target` has a prompt of `prompt_length` tokens. Each prompt has one right
    `target_of`, with a `true_alignment` of target tokens to prompt tokens; models are scored by
    exact match. See `AbstractTask`.

    A process that only has given sequences, such as `OwnSequences`, is not `has_law`: its
    predictions are those of the best reference predictor, which a model may beat, and the test
    sequences are windows of `held_out` blocks.
    """

    name: ClassVar[str]
    vocabulary: ClassVar[Vocabulary]
    writes_target: ClassVar[bool] = False
    has_law: ClassVar[bool] = True

    @abc.abstractmethod
    def start(self) -> PyTree:
        """Return the belief before any token."""

    @abc.abstractmethod
    def log_probs(self, belief: PyTree) -> Float[Array, " vocab"]:
        """Return log p(next token | belief), in nats; impossible is -inf."""

    @abc.abstractmethod
    def update(self, belief: PyTree, token: Int[Array, ""]) -> PyTree:
        """Return the belief after seeing `token` next."""

    def draw(self, start: PyTree, key: Key[Array, ""], length: int) -> Draw:
        """Draw one sequence from position 0, where the belief is `start`.

        For use inside compiled programs. Override it for faster sampling, or to draw latent
        variables first, such as a table; the distribution of the tokens must stay the same.
        """
        return Draw(draw_tokens(self, start, key, length))

    def held_out(self, length: int) -> HeldOut | None:
        """Return all windows of `length` tokens that no draw shares a token with.

        None if sequences are drawn from a law, so that independent draws test a model.
        """
        return None

    def fitted(self) -> Fitted | None:
        """Return the reference predictors of given sequences; None if the process has a law."""
        return None

    def at_length(self, length: int) -> "AbstractGenerator":
        """Return the process for `length` visible tokens and the next one to predict.

        Most processes are the same at any length. Raises `OptionError` at a length that the process
        does not allow: one below `shortest_length`, or another than its `own_length`.
        """
        return self

    def own_length(self) -> int | None:
        """Return the number of visible tokens if the options fix it, or None if it is free."""
        return None

    def shortest_length(self) -> int:
        """Return the smallest number of visible tokens that the options allow; 1 by default."""
        return 1

    def prompt_length(self) -> int:
        """Return the length of the prompt: leading tokens that are given, not predicted."""
        return 0

    def sources(self) -> int | None:
        """Return the number of different prompts, all equally likely; None without prompts.

        With prompts, no two sequences of the test set and of a fixed training set share a prompt.
        """
        return None

    def loss_mask(self, tokens: Int[Array, " positions"]) -> Bool[Array, " positions"] | None:
        """Return the loss mask: which tokens of a sequence count in loss, test and floor.

        By default it selects the tokens after the prompt. Without a prompt it is None: the final
        token is tested, and the option `loss` decides which tokens are trained.

        Whether a token counts may depend only on the tokens before it. The first token never
        counts, and the masks of all sequences of one length select equally many tokens. For use
        inside compiled programs.
        """
        prompt_length = self.prompt_length()
        return jnp.arange(tokens.size) >= prompt_length if prompt_length else None

    def has_loss_mask(self) -> bool:
        """Return whether the process defines a loss mask, by a prompt or by `loss_mask`."""
        return self.prompt_length() > 0 or type(self).loss_mask is not AbstractGenerator.loss_mask

    def is_stationary(self) -> bool | None:
        """Return whether the process is stationary; None if unknown."""
        return None

    def next_laws(self) -> Float[np.ndarray, "positions vocab"] | None:
        """Return the next-token probabilities at each position, if no past changes their values.

        A past may permute them: which token has which probability can depend on it. Return None if
        the values change too, or if this is not known.
        """
        return None

    def references(self, belief: PyTree) -> Mapping[str, Float[Array, " vocab"]]:
        """Return log p(next token) of the process's own reference predictors, given the belief.

        They are baselines that suit a process, such as counts of the tokens so far. The names are
        the same for every belief. By default there are none. For use inside compiled programs.
        """
        return {}

    @property
    def best_words(self) -> BestWords:
        """Return what the results of `log_probs` are called on screen."""
        return OF_LAW if self.has_law else OF_REFERENCE

    @property
    def optimal_predictor(self) -> str:
        """Return what the exact prediction is called among `references`, such as "bigram"."""
        return ""

    def log_probs_of_rule(self, latent: PyTree, belief: PyTree) -> Float[Array, " vocab"] | None:
        """Return log p(next token) if the sequence's latent rule is known too; None without one.

        `latent` is that of `draw`.
        """
        return None

    def true_sources(self, tokens: Int[Array, " length"]) -> Bool[Array, "query key"] | None:
        """Return the positions from which each next token is read, or None if this is not defined.

        In row t the sources are those, up to position t, whose tokens decide the prediction of
        token t + 1: two sequences with equal rows, and equal tokens at the sources, have the same
        prediction. With a loss mask, only rows that predict its tokens have a meaning. For use
        inside compiled programs.
        """
        return None


@fixed_numerics()
def sample(
    generator: AbstractGenerator, *, key: Key[Array, ""], size: int, length: int
) -> Int[Array, "size length"]:
    """Draw `size` independent sequences of `length` tokens, from position 0."""
    return draw_many(generator, key=key, size=size, length=length).tokens


@fixed_numerics()
def draw_many(generator: AbstractGenerator, *, key: Key[Array, ""], size: int, length: int) -> Draw:
    """Like `sample`, but also return the latent variables of each sequence (leading axis)."""
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
    """Draw `size` continuations of `days` tokens for a sequence that began at position 0."""
    return _continue(generator, generator.start(), tokens, jr.split(key, size), days)


@fixed_numerics()
def loss_mask_of(
    generator: AbstractGenerator, sequences: Int[Array | np.ndarray, "size positions"]
) -> Bool[Array, "size positions"] | None:
    """Return the loss mask of each sequence; None if only the final tokens are tested.

    Raises:
        OptionError: If the masks select no token, or different numbers of tokens.
    """
    if not generator.has_loss_mask():
        return None
    loss_mask = _loss_masks(generator, jnp.asarray(sequences))
    counts = np.unique(np.asarray(loss_mask.sum(axis=1)))
    if counts.size > 1 or not counts.all():
        problem = f"it selects {counts[0]} to {counts[-1]} tokens a sequence"
        remedy = "Select the same number of tokens in every sequence, at least one"
        raise OptionError("loss_mask", generator.name, problem, remedy)
    return loss_mask


def check_has_law(generator: AbstractGenerator) -> None:
    """Raise `OptionError` for a process without a law, of which nothing true is known."""
    if not generator.has_law:
        raise OptionError("generator", generator.name, "it has no law", NO_LAW)


def predicted_count(generator: AbstractGenerator, length: int) -> int:
    """Return the number of tested tokens in a sequence of `length` + 1 tokens."""
    if not generator.has_loss_mask():
        return 1
    some = sample(generator, key=key_of(0), size=1, length=length + 1)
    return int(present(loss_mask_of(generator, some)).sum())


@fixed_numerics()
def log_predictives(
    generator: AbstractGenerator, tokens: Int[Array, " length"]
) -> Float[Array, "length vocab"]:
    """Return log p(· | the first t tokens) in row t, in nats: no model can do better on average."""
    return predictions_from(generator, generator.start(), tokens)


@fixed_numerics()
def beliefs(generator: AbstractGenerator, tokens: Int[Array, " length"]) -> PyTree:
    """Return the exact belief at every position of a sequence.

    Args:
        generator: The process, at its length.
        tokens: The sequence, from position 0.

    Returns:
        A belief whose arrays have a leading axis of length + 1: row t is the belief after the
        first t tokens. `Shared` parts have no such axis.
    """
    return _beliefs(generator, generator.start(), jnp.asarray(tokens))


@partial(jax.jit, static_argnames="generator")
def _loss_masks(generator, sequences):
    return jax.vmap(generator.loss_mask)(sequences)


# The start belief may contain large tables. As an argument it stays one buffer; as a constant it
# would be copied into every compiled program.
@partial(jax.jit, static_argnames=("generator", "length"))
def _draw(generator, start, keys, length):
    return jax.vmap(lambda key: generator.draw(start, key, length))(keys)


@partial(jax.jit, static_argnames=("generator", "length"))
def _continue(generator, start, tokens, keys, length):
    def step(belief, token):
        return generator.update(belief, token), None

    belief, _ = jax.lax.scan(step, start, tokens)
    return jax.vmap(lambda key: draw_tokens(generator, belief, key, length))(keys)


def draw_tokens(
    generator: AbstractGenerator, belief: PyTree, key: Key[Array, ""], length: int
) -> Int[Array, " length"]:
    """Draw one sequence of the next `length` tokens. For use inside compiled programs."""

    def step(belief, uniform):
        cumulative = jnp.cumsum(jnp.exp(generator.log_probs(belief)))
        # The first token whose cumulative probability exceeds a uniform share of the total. This
        # needs one random number per token, and an impossible token is never the first.
        token = (cumulative <= uniform * cumulative[-1]).sum()
        return generator.update(belief, token), token

    return jax.lax.scan(step, belief, jr.uniform(key, (length,)))[1]


@partial(jax.jit, static_argnames="generator")
def predictions_from(
    generator: AbstractGenerator, belief: PyTree, tokens: Int[Array, " length"]
) -> Float[Array, "length vocab"]:
    """Like `log_predictives`, for tokens that follow the given belief."""

    def step(belief, token):
        return generator.update(belief, token), generator.log_probs(belief)

    return jax.lax.scan(step, belief, tokens)[1]


@partial(jax.jit, static_argnames="generator")
def _beliefs(generator, start, tokens):
    first, shared = split_shared(start)

    def step(own, token):
        after, _ = split_shared(generator.update(join_shared(own, shared), token))
        return after, after

    first = jax.tree.map(jnp.asarray, first)
    _, rest = jax.lax.scan(step, first, tokens)
    rows = jax.tree.map(lambda one, all_: jnp.concatenate([one[None], all_]), first, rest)
    return join_shared(rows, shared)
