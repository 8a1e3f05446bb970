"""The best that any predictor can do, given all visible tokens or some of them."""

import dataclasses
import functools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import quoted
from attnlab.generators import AbstractGenerator, log_predictives
from attnlab.optimum.levels import TooManyBeliefsError, levels
from attnlab.optimum.sequences import (
    SAMPLES,
    mean_and_error,
    mean_in_loss,
    predictives,
    sampled_sequences,
    weighted_sequences,
)


@dataclasses.dataclass(frozen=True)
class Best:
    """The lowest possible loss, -log p(token) in nats, and the highest accuracy for one token.

    The standard errors are 0 if the numbers are exact. If `bounded`, the optimisation was stopped
    before it converged: the loss may still be slightly lower.
    """

    nll: float
    accuracy: float
    nll_stderr: float = 0.0
    accuracy_stderr: float = 0.0
    bounded: bool = False

    @property
    def exact(self) -> bool:
        """Whether the numbers are enumerated, neither estimated nor bounded."""
        return self.nll_stderr == 0 and self.accuracy_stderr == 0 and not self.bounded


@dataclasses.dataclass(frozen=True)
class Optimum:
    """The best predictions: `by_position[t]` is that of token t from the t tokens before it.

    `in_loss` is the mean over the tokens in the loss mask. It is None without a mask, and for a
    task, whose target tokens are all equally hard to predict.
    """

    by_position: tuple[Best, ...]
    in_loss: Best | None = None

    @property
    def final(self) -> Best:
        """The best prediction of the tested tokens: the floor and the ceiling of a run.

        The tested tokens are those in the loss mask, or else the token after the visible ones.
        """
        return self.by_position[-1] if self.in_loss is None else self.in_loss

    @property
    def exact(self) -> bool:
        """Whether all numbers are enumerated."""
        return self.final.exact and all(best.exact for best in self.by_position)


# A pure function of a frozen value and a number, needed at every rerun of a page.
@functools.lru_cache(maxsize=64)
@fixed_numerics()
def optimum(generator: AbstractGenerator, length: int, most: int | None = None) -> Optimum:
    """Return the lowest loss and highest accuracy of predicting each of `length` + 1 tokens.

    The loss is the floor E[H(p(· | past))], the accuracy the ceiling E[max p(· | past)], where p is
    the exact prediction from the tokens before. Up to `most` beliefs (default 3^12) are enumerated,
    which is exact; if there are more, both are estimated from sampled sequences, with standard
    errors. A task is exact at any size, since its target tokens are all equally hard to predict.
    Without a law both are those of the best reference predictor on the held-out blocks, with errors
    over blocks.
    """
    generator = generator.at_length(length)
    if (found := generator.fitted()) is not None:
        results, blocks = found.predictor.results(found.held_out.sequences()), found.held_out.blocks
        return Optimum(tuple(mean_best(*each, blocks=blocks) for each in results))
    if (laws := generator.next_laws()) is not None:
        by_position = tuple(_exact(np.ones(1), law[None]) for law in laws)
        return Optimum(
            by_position, None if generator.writes_target else _mean(generator, by_position)
        )
    in_loss = _in_loss(generator, length) if generator.has_loss_mask() else None
    try:
        found = levels(generator, length, most=most)
        by_position = tuple(_exact(level.probability, level.next_probs) for level in found)
    except TooManyBeliefsError:
        by_position = _sampled(generator, length)
    return Optimum(by_position, in_loss)


def mean_best(
    losses: Float[np.ndarray, " size"],
    shares: Float[np.ndarray, " size"],
    weight: Float[np.ndarray, " size"] | None = None,
    blocks: Int[np.ndarray, " size"] | None = None,
) -> Best:
    """Return the mean expected loss and accuracy: exact with these weights, else of a sample."""
    if weight is not None:
        return Best(float(weight @ losses), float(weight @ shares))
    (nll, nll_stderr), (accuracy, accuracy_stderr) = (
        mean_and_error(values, blocks) for values in (losses, shares)
    )
    return Best(nll, accuracy, nll_stderr, accuracy_stderr)


def _exact(
    probability: Float[np.ndarray, " beliefs"], next_probs: Float[np.ndarray, "beliefs vocab"]
) -> Best:
    return mean_best(entropy(next_probs), next_probs.max(axis=1), probability)


def _mean(generator: AbstractGenerator, by_position: tuple[Best, ...]) -> Best | None:
    """Return the mean over the tokens in the loss mask, which is the same for all sequences."""
    if not generator.has_loss_mask():
        return None
    counted = np.asarray(generator.loss_mask(jnp.zeros(len(by_position), jnp.int32)))
    found = [best for best, counts in zip(by_position, counted, strict=True) if counts]
    nll, accuracy = np.mean([(best.nll, best.accuracy) for best in found], axis=0)
    return Best(float(nll), float(accuracy))


def _in_loss(generator: AbstractGenerator, length: int) -> Best:
    """Return the best prediction of the tokens in the loss mask, over all sequences or a sample."""
    sequences = weighted_sequences(generator, length, sampled=SAMPLES)
    possible = sequences.weight > 0
    tokens, weight, probs = (part[possible] for part in sequences[:3])
    losses = mean_in_loss(generator, tokens, entropy(probs))
    shares = mean_in_loss(generator, tokens, probs.max(axis=2))
    return mean_best(losses, shares, weight if sequences.exact else None)


def _sampled(generator: AbstractGenerator, length: int) -> tuple[Best, ...]:
    # The entropy of each prediction varies less than the surprise of one sampled token.
    by_position = predictives(generator, sampled_sequences(generator, length)).swapaxes(0, 1)
    return tuple(mean_best(entropy(probs), probs.max(axis=1)) for probs in by_position)


def entropy(probs: Float[np.ndarray, "*many vocab"]) -> Float[np.ndarray, "*many"]:
    """Return -Σ p log p over the last axis, in nats."""
    safe = np.where(probs > 0, probs, 1.0)
    # Not the negative sum: that of a certain outcome would be shown as -0.000.
    return np.asarray(0.0 - (probs * np.log(safe)).sum(axis=-1))


@fixed_numerics()
def next_token(generator: AbstractGenerator, days: Sequence[int]) -> Float[np.ndarray, " vocab"]:
    """Return p(next token | `days`), the tokens of all visible positions.

    Raises an error for tokens that the process cannot produce: no prediction follows them.
    """
    generator = generator.at_length(len(days))
    size = generator.vocabulary.size
    if not all(0 <= token < size for token in days):
        given = quoted(list(days))
        raise ValueError(f"`days` is {given}: tokens are numbers from 0 to {size - 1}.")
    rows = _rows(generator, days)
    for position, token in enumerate(days):
        if not rows[position, token] > 0:
            day, symbol = position + 1, quoted(generator.vocabulary.symbols[token])
            raise ValueError(
                f"`days` cannot happen: day {day} is never {symbol} after the days before it. "
                f"Change day {day} or an earlier one."
            )
    return rows[-1]


@fixed_numerics()
def sequence_log_prob(generator: AbstractGenerator, tokens: Sequence[int]) -> float:
    """Return log p(tokens) in nats, for visible tokens; -inf for impossible ones."""
    rows = _rows(generator.at_length(len(tokens)), tokens)
    chosen = rows[np.arange(len(tokens)), np.asarray(tokens, dtype=int)]
    if not (chosen > 0).all():
        return float("-inf")
    return float(np.log(chosen).sum())


def _rows(generator: AbstractGenerator, tokens: Sequence[int]) -> Float[np.ndarray, "rows vocab"]:
    # An appended token, whatever it is, adds the row that predicts it from the visible tokens.
    longer = jnp.array([*tokens, 0])
    return np.exp(np.asarray(log_predictives(generator, longer), dtype=np.float64))


# Only used if the other half of a sample has no sequence of a group.
_UNSEEN = 1e-9


def best_from_groups(
    group: Int[np.ndarray, " sequences"],
    final: Float[np.ndarray, "sequences vocab"],
    weight: Float[np.ndarray, " sequences"],
) -> Best:
    """Return loss and accuracy of the best prediction that knows only a sequence's group.

    `final` is the true distribution of each sequence's final token, and `weight` the probability of
    the sequence. The sequences must be all possible ones.
    """
    joint = weight[:, None] * final
    groups = _sums(group, joint, int(group.max()) + 1)
    total = groups.sum(axis=1, keepdims=True)
    predictive = groups / np.where(total > 0, total, 1)
    return Best(float(total[:, 0] @ entropy(predictive)), float(groups.max(axis=1).sum()))


def best_from_sampled_groups(
    group: Int[np.ndarray, " sequences"], final: Float[np.ndarray, "sequences vocab"]
) -> Best:
    """Like `best_from_groups`, estimated from independent sequences, with standard errors.

    A prediction fitted to a sample does too well on it. So the loss is the jackknife estimate: the
    mean of what each sequence adds to Σ n_g H(p̂_g), over groups of n_g sequences whose mean
    distribution is p̂_g (Quenouille 1956, "Notes on bias in estimation"). The accuracy is the mean
    of two estimates: always predicting the group's most probable token in the sample itself, which
    is biased upwards, or in the sample's other half, which is biased downwards. Its standard error
    includes half of their difference. With only a few sequences per group, loss and accuracy are
    too optimistic.
    """
    size, groups = len(group), int(group.max()) + 1
    sums, counts = _sums(group, final, groups), np.bincount(group, minlength=groups)
    with_it = _total_entropy(sums, counts)[group]
    without_it = _total_entropy(sums[group] - final, counts[group] - 1)
    nll, nll_stderr = mean_and_error(with_it - without_it)
    second = np.arange(size) % 2 == 1
    rules = np.stack([_sums(group[part], final[part], groups) for part in (second, ~second)])
    rules = (rules + _UNSEEN * final.mean(axis=0)).argmax(axis=2)
    held_out = _of_tokens(final, rules[second.astype(int), group])
    fitted = _of_tokens(final, sums.argmax(axis=1)[group])
    accuracy, accuracy_stderr = mean_and_error((fitted + held_out) / 2)
    unsure = (fitted.mean() - held_out.mean()) / 2
    return Best(nll, accuracy, nll_stderr, float(np.hypot(accuracy_stderr, unsure)))


def _sums(
    group: Int[np.ndarray, " sequences"], values: Float[np.ndarray, "sequences vocab"], groups: int
) -> Float[np.ndarray, "groups vocab"]:
    return np.stack([np.bincount(group, column, groups) for column in values.T], axis=1)


def _total_entropy(
    sums: Float[np.ndarray, "groups vocab"], counts: Int[np.ndarray, " groups"]
) -> Float[np.ndarray, " groups"]:
    """Return n_g H(p̂_g) of each group."""
    # After removing a group's last sequence only rounding is left.
    return counts * entropy(np.maximum(sums, 0) / np.maximum(counts, 1)[:, None])


def _of_tokens(
    final: Float[np.ndarray, "sequences vocab"], tokens: Int[np.ndarray, " sequences"]
) -> Float[np.ndarray, " sequences"]:
    """Return the probability of one token for each sequence."""
    return np.take_along_axis(final, tokens[:, None], axis=1)[:, 0]


_SAMPLED = 20_000


def best_from_positions(
    generator: AbstractGenerator,
    length: int,
    position: int,
    seen: tuple[int, ...],
    *,
    ordered: bool,
) -> Best:
    """Return the best prediction of the final token at `position` from the positions `seen` alone.

    If not `ordered`, only the token at `position` and the count of each token are known. The result
    is exact if the sequences can be enumerated, and otherwise from a sample.
    """
    tokens, weight, probs, exact = weighted_sequences(generator, length, sampled=_SAMPLED)
    known = tokens[:, list(seen)]
    if not ordered:
        counts = (known[:, :, None] == np.arange(generator.vocabulary.size)).sum(axis=1)
        known = np.concatenate([tokens[:, [position]], counts], axis=1)
    possible = weight > 0
    _, group = np.unique(known[possible], axis=0, return_inverse=True)
    if not exact:
        return best_from_sampled_groups(group, probs[possible, -1])
    return best_from_groups(group, probs[possible, -1], weight[possible])
