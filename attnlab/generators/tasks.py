"""Sequence-to-sequence tasks: a random source, then its target. Sources as text."""

import abc
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, SupportsInt, TypeGuard

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import OptionError, check_typed, option
from attnlab.generators.base import AbstractGenerator, Draw


def is_task(process: AbstractGenerator) -> TypeGuard["AbstractTask"]:
    """Return whether a process is a task."""
    return process.writes_target


def as_task(process: AbstractGenerator) -> "AbstractTask":
    """Return the process, which must be a task, with the type of a task."""
    assert is_task(process)
    return process


class TaskBelief(NamedTuple):
    """The source tokens seen so far, padded with zeros, and the number of all tokens seen."""

    source: Int[Array, " source"]
    seen: Int[Array, ""]


class AbstractTask(AbstractGenerator):
    """A source of n tokens drawn at random, then its target of n tokens, as one sequence.

    The target is `target_of` the source. With the option `noise` ε, each target token is
    independently replaced, with probability ε, by one of the V - 1 others, all equally likely. The
    source is the prompt: only the target is predicted. The options determine the number of visible
    tokens: all but the last, 2n - 1.

    `usual_training` are training options that suit the task, as for a model family. `size_option`
    is the option that sets the number of source tokens. Messages call a source `source_name` and a
    token `token_name`. `may_repeat` says whether a token may occur twice in a source.
    """

    usual_training: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"loss": "next", "steps": 2_000, "data": "fresh", "batch": 256}
    )
    source_name: ClassVar[str] = "source"
    size_option: ClassVar[str] = "source_length"
    token_name: ClassVar[str]
    may_repeat: ClassVar[bool]
    position_word: ClassVar[str] = "token"
    writes_target: ClassVar[bool] = True
    noise: float

    @property
    @abc.abstractmethod
    def spelling(self) -> str:
        """Return a text that says how a token may be typed."""

    @abc.abstractmethod
    def in_symbols(self, typed: str) -> str:
        """Convert typed tokens to the symbols of the vocabulary."""

    @property
    @abc.abstractmethod
    def source_length(self) -> int:
        """Return n, the number of tokens of the source and of the target."""

    @abc.abstractmethod
    def sources(self) -> int:
        """Return the number of different sources; all are equally likely."""

    @abc.abstractmethod
    def targets(self) -> int:
        """Return the number N of different targets without noise; log₂ N bits identify one."""

    @abc.abstractmethod
    def source_log_probs(self, belief: TaskBelief) -> Float[Array, " vocab"]:
        """Return log p(next token | belief), in nats, while the source is not complete."""

    @abc.abstractmethod
    def target_of(self, source: Int[Array, " source"]) -> Int[Array, " target"]:
        """Return the target of a source, without noise."""

    @abc.abstractmethod
    def true_alignment(self, source: Int[Array, " source"]) -> Bool[Array, "target source"]:
        """Return which source token each target token comes from.

        It comes from several if they are equal and the rule does not distinguish them.
        """

    def prompt_length(self) -> int:
        return self.source_length

    def own_length(self) -> int:
        return 2 * self.source_length - 1

    def at_length(self, length: int) -> "AbstractTask":
        if length != self.own_length():
            problem = (
                f"with these options the task '{self.name}' has {self.own_length()} visible tokens"
            )
            remedy = f"Choose {self.own_length()}, or another length of its source"
            raise OptionError("length", length, problem, remedy)
        return self

    def next_laws(self) -> Float[np.ndarray, "positions vocab"]:
        # A prediction of the source is uniform over the possible tokens.
        vocab, rows = self.vocabulary.size, []
        for possible in self.possible_next():
            rows += [np.where(np.arange(vocab) < possible, 1 / possible, 0.0)]
        of_target = np.full(vocab, self.noise / (vocab - 1))
        of_target[0] = 1 - self.noise
        return np.array(rows + [of_target] * self.source_length)

    @abc.abstractmethod
    def possible_next(self) -> tuple[int, ...]:
        """Return the number of possible, equally likely tokens at each position of the source."""

    def floor(self) -> float:
        """Return the lowest loss of a target token, in nats: H(ε) + ε log(V - 1)."""
        chances = ((1 - self.noise, 1), (self.noise, self.vocabulary.size - 1))
        return sum(p * math.log(many / p) for p, many in chances if p > 0)

    @abc.abstractmethod
    def draw_source(self, key: Key[Array, ""]) -> Int[Array, " source"]:
        """Draw a source; all sources are equally likely."""

    def draw(self, start: TaskBelief, key: Key[Array, ""], length: int) -> Draw:
        if length > 2 * self.source_length:
            return super().draw(start, key, length)
        source_key, where_key, what_key = jr.split(key, 3)
        source = self.draw_source(source_key)
        target, vocab = self.target_of(source), self.vocabulary.size
        if self.noise:
            other = (target + jr.randint(what_key, target.shape, 1, vocab)) % vocab
            target = jnp.where(jr.bernoulli(where_key, self.noise, target.shape), other, target)
        return Draw(jnp.concatenate([source, target])[:length])

    def start(self) -> TaskBelief:
        return TaskBelief(jnp.zeros(self.source_length, jnp.int32), jnp.int32(0))

    def log_probs(self, belief: TaskBelief) -> Float[Array, " vocab"]:
        target = self.target_of(belief.source)
        place = jnp.clip(belief.seen - self.source_length, 0, self.source_length - 1)
        vocab = self.vocabulary.size
        with np.errstate(divide="ignore"):
            true, other = np.log([1 - self.noise, self.noise / (vocab - 1)]).astype(np.float32)
        of_target = jnp.where(jnp.arange(vocab) == target[place], true, other)
        in_source = belief.seen < self.source_length
        return jnp.where(in_source, self.source_log_probs(belief), of_target)

    def update(self, belief: TaskBelief, token: Int[Array, ""]) -> TaskBelief:
        # Tokens after the source are not stored: the next one depends on the source alone.
        is_next = jnp.arange(self.source_length) == belief.seen
        source = jnp.where(is_next, token, belief.source).astype(belief.source.dtype)
        return TaskBelief(source, belief.seen + 1)


def true_dependence(
    task: AbstractTask, source: Int[Array, " source"]
) -> Bool[Array, "target source"]:
    """Return in entry (j, i) whether changing source token i alone can change target token j.

    The target tokens before j stay the same, and there is no noise. This differs from the
    alignment: the next card of a sorted hand depends on all cards not yet written.
    """
    target = task.target_of(source)

    def replaced(place, token):
        changed = jnp.where(jnp.arange(source.size) == place, token, source)
        other = task.target_of(changed)
        same_so_far = jnp.cumprod(jnp.append(True, other[:-1] == target[:-1])).astype(bool)
        return is_source(task, changed) & same_so_far & (other != target)

    places, tokens = jnp.arange(source.size), jnp.arange(task.vocabulary.size)
    each = jax.vmap(lambda place: jax.vmap(lambda token: replaced(place, token))(tokens))(places)
    return each.any(axis=1).T


def is_source(task: AbstractTask, source: Int[Array, " source"]) -> Bool[Array, ""]:
    """Return whether the task can draw this source."""

    def step(belief, token):
        return task.update(belief, token), task.log_probs(belief)[token]

    return jnp.isfinite(jax.lax.scan(step, task.start(), source)[1]).all()


def noise_option() -> Any:
    """Return the option `noise` of a task."""
    return option(
        0.0,
        "Probability that a target token is replaced by another one, drawn uniformly.",
        low=0.0,
        high=0.9,
    )


def read_source(task: AbstractTask, text: str) -> Int[np.ndarray, " source"]:
    """Read the tokens of a source, separated by spaces, commas or nothing.

    Cards may have letters for their suits, in any case, and T for 10. Raises `OptionError` for the
    task's `source_name` if the text has something that is no token, a repeated token where none may
    repeat, or more or fewer tokens than a source.

    >>> from attnlab.generators import Cards, Copy
    >>> read_source(Cards(hand=3, suits=2, ranks=4), "A♦, jc QD")
    array([7, 0, 5], dtype=int32)
    >>> read_source(Copy(source_length=3), "bad").tolist()
    [1, 0, 3]
    """
    name, thing, vocabulary = task.source_name, task.token_name, task.vocabulary
    check_typed(name, text)
    tokens = []
    for word in text.replace(",", " ").split():
        try:
            tokens += vocabulary.parse(task.in_symbols(word))
        except ValueError:
            problem = f"not a {thing} of this task"
            raise OptionError(name, word, problem, f"Use {task.spelling}") from None
    token, many = Counter(tokens).most_common(1)[0] if tokens else (0, 0)
    if many > 1 and not task.may_repeat:
        problem = f"{vocabulary.symbols[token]} occurs {many} times, but there is only one of each"
        raise OptionError(name, text, problem, f"Choose another {thing} in its place")
    expected = task.source_length
    if len(tokens) != expected:
        many = "" if len(tokens) == 1 else "s"
        problem = f"{len(tokens)} {thing}{many}, but a source has {expected}"
        change = f"Remove {len(tokens) - expected}"
        if len(tokens) < expected:
            change = f"Add {expected - len(tokens)}"
        raise OptionError(name, text, problem, change)
    return np.array(tokens, np.int32)


def write_source(task: AbstractTask, tokens: Iterable[SupportsInt]) -> str:
    """Return the text that `read_source` reads: cards separated by spaces, letters without.

    >>> from attnlab.generators import Cards, Copy
    >>> write_source(Cards(), (51, 8)), write_source(Copy(), (1, 0, 3))
    ('A♠ 10♣', 'bad')
    """
    symbols = task.vocabulary.symbols
    between = " " if max(map(len, symbols)) > 1 else ""
    return between.join(symbols[int(token)] for token in tokens)
