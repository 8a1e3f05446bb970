"""How often tokens and pairs of tokens occur: exactly, and counted in a sample."""

import dataclasses
import functools

import numpy as np
from jaxtyping import Float, Int

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.generators import AbstractGenerator, sample
from attnlab.optimum.levels import TooManyBeliefsError, levels
from attnlab.optimum.sequences import sampled_sequences, weighted_sequences

# Enough for an error of half a percentage point.
_COUNTED = 10_000
_SHOWN = 8
# The rounding of float32 log-probabilities over a sequence.
_SAME_DISTRIBUTION = 1e-5


@dataclasses.dataclass(frozen=True)
class Frequencies:
    """How often each token occurs at each position, and after each other token.

    `days[t, w]` = p(token t = w), up to the predicted token. `following[v, w]` = p(the last visible
    token = w | the token before it = v), NaN if v never occurs there. The standard errors are 0 if
    the numbers are exact.
    """

    days: Float[np.ndarray, "positions vocab"]
    days_stderr: Float[np.ndarray, "positions vocab"]
    following: Float[np.ndarray, "vocab vocab"]
    following_stderr: Float[np.ndarray, "vocab vocab"]
    exact: bool


@dataclasses.dataclass(frozen=True)
class Agreement:
    """How much more often than by chance two visible tokens are equal; entry k - 1 is for lag k.

    (P(same) - P(same by chance)) / (1 - P(same by chance)), where both probabilities are means over
    all pairs of visible tokens k apart; by chance means independent with the same marginals.
    0 is chance, 1 certainty; NaN if chance itself is certainty. The standard errors are 0 if the
    numbers are exact.
    """

    values: Float[np.ndarray, " lags"]
    stderr: Float[np.ndarray, " lags"]
    exact: bool


@dataclasses.dataclass(frozen=True)
class Counted:
    """A fresh sample: its first sequences, its size, and the frequencies in all of it."""

    sequences: Int[np.ndarray, "shown positions"]
    size: int
    frequencies: Frequencies


# A pure function of a frozen value and a number, needed at every rerun of a page.
@functools.lru_cache(maxsize=64)
@fixed_numerics()
def frequencies(generator: AbstractGenerator, length: int, most: int | None = None) -> Frequencies:
    """Return exact frequencies, or those of a sample if there are more than `most` beliefs (3^12).

    A process with `next_laws`, such as a task, always uses a sample: it has very many beliefs.
    """
    generator = generator.at_length(length)
    vocab = generator.vocabulary.size
    if generator.next_laws() is not None:
        return count_frequencies(sampled_sequences(generator, length + 1), vocab)
    shares, pairs = [], np.zeros((vocab, vocab))
    try:
        for position, level in enumerate(levels(generator, length, most=most, recent=1)):
            joint = level.probability[:, None] * level.next_probs
            shares.append(joint.sum(axis=0))
            if position == length - 1:
                columns = [np.bincount(level.recent, column, minlength=vocab) for column in joint.T]
                pairs = np.stack(columns, axis=1)
    except TooManyBeliefsError:
        return count_frequencies(sampled_sequences(generator, length + 1), vocab)
    following = _conditional(pairs)
    marginals = np.array(shares)
    return Frequencies(
        marginals, np.zeros_like(marginals), following, np.zeros_like(following), exact=True
    )


def count_frequencies(sequences: Int[np.ndarray, "size positions"], vocab: int) -> Frequencies:
    """Count tokens and pairs in sampled sequences, whose last token is the one to predict."""
    shares = (sequences[:, :, None] == np.arange(vocab)).mean(axis=0)
    code = sequences[:, -3] * vocab + sequences[:, -2]
    pairs = np.bincount(code, minlength=vocab**2).reshape(vocab, vocab).astype(float)
    following = _conditional(pairs)
    return Frequencies(
        shares,
        _share_error(shares, len(sequences)),
        following,
        _share_error(following, np.maximum(pairs.sum(axis=1, keepdims=True), 1)),
        exact=False,
    )


@fixed_numerics()
def counted(generator: AbstractGenerator, length: int, seed: int) -> Counted:
    """Count frequencies in 10,000 sampled sequences of `length` visible tokens and the next."""
    generator = generator.at_length(length)
    key = key_of(seed)
    sequences = np.asarray(sample(generator, key=key, size=_COUNTED, length=length + 1))
    known = count_frequencies(sequences, generator.vocabulary.size)
    return Counted(sequences[:_SHOWN].copy(), _COUNTED, known)


# A pure function of a frozen value and a number, needed at every rerun of a page.
@functools.lru_cache(maxsize=64)
@fixed_numerics()
def agreement(generator: AbstractGenerator, length: int) -> Agreement:
    """Return agreement above chance by lag, from 1 to `length` - 1: exact, or from a sample.

    The standard error comes from linearising the formula (the delta method), since the marginals
    are estimated from the same sequences.
    """
    generator = generator.at_length(length)
    tokens, weight, _, exact = weighted_sequences(generator, length, sampled=2 * _COUNTED)
    one_hot = tokens[:, :, None] == np.arange(generator.vocabulary.size)
    marginals = np.einsum("s,spv->pv", weight, one_hot)
    values, errors = [], []
    for lag in range(1, length):
        same = (tokens[:, lag:] == tokens[:, :-lag]).mean(axis=1)
        share, chance = weight @ same, (marginals[lag:] * marginals[:-lag]).sum(axis=1).mean()
        room = 1 - chance if chance < 1 - _SAME_DISTRIBUTION else np.nan
        values.append((share - chance) / room)
        if exact:
            errors.append(0.0)
            continue
        # Each sequence contributes its pairs, and its share of the marginals.
        first, second = np.arange(tokens.shape[1] - lag), np.arange(lag, tokens.shape[1])
        by_marginal = marginals[second, tokens[:, first]] + marginals[first, tokens[:, second]]
        moves = same / room - (1 - share) / room**2 * by_marginal.mean(axis=1)
        errors.append(moves.std(ddof=1) / np.sqrt(len(tokens)))
    return Agreement(np.array(values), np.array(errors), exact=exact)


def _conditional(pairs: Float[np.ndarray, "first second"]) -> Float[np.ndarray, "first second"]:
    """Return p(second | first) from the frequency of each pair."""
    total = pairs.sum(axis=1, keepdims=True)
    return pairs / np.where(total > 0, total, np.nan)


def _share_error(share: np.ndarray, size: np.ndarray | int) -> np.ndarray:
    return np.sqrt(share * (1 - share) / size)
