"""Whether sequences from elsewhere follow the exact law of a process."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractGenerator
from attnlab.optimum.sequences import predictives

# The longest contexts, and the visits that a context needs to be tested by itself.
_LONGEST, _VISITS = 6, 25
# A count with a smaller variance than this is far from normal, and is not tested.
_VARIANCE = 5.0
# The predictions of all sequences: a quarter of a gigabyte.
_MOST_NUMBERS = 35_000_000


class Deviation(NamedTuple):
    """The token whose share after a context is farthest from the law, by `errors` standard errors.

    The context occurs `visits` times. `expected` is the mean of the exact probabilities there.
    """

    context: tuple[int, ...]
    token: int
    visits: int
    observed: float
    expected: float
    errors: float


class ContextTest(NamedTuple):
    """A test of the tokens after all contexts of `order` tokens.

    Under the law, `statistic` is χ² with that many `degrees` of freedom, and exceeds the observed
    value with probability `p_value`; `adjusted` is corrected for all orders (Holm).
    """

    order: int
    statistic: float
    degrees: int
    p_value: float
    adjusted: float
    deviation: Deviation | None


class Conformity(NamedTuple):
    """What sequences say about the law: a test per order of contexts.

    If the law rules out a token, `impossible` is its sequence and position, from 0, without tests.
    """

    sequences: int
    tokens: int
    tests: tuple[ContextTest, ...] = ()
    impossible: tuple[int, int] | None = None

    def first_deviation(self, level: float = 0.01) -> ContextTest | None:
        """Return the test of the shortest contexts that rejects the law, for all tests together."""
        return next((test for test in self.tests if test.adjusted < level), None)


def conformity(process: AbstractGenerator, sequences: Sequence[Sequence[int]]) -> Conformity:
    """Test whether sequences from the start of a process follow its law.

    For each context c of the last k tokens, the counts of the next token are compared with the sum
    of its exact probabilities given *all* tokens before it. The differences D are sums of a
    martingale with the covariance V = Σ diag(p) − p pᵀ, so that Σ Dᵀ V⁺ D over the contexts is
    asymptotically χ², also within one long sequence, where the contexts overlap. Orders up to six
    are tested while an average context is visited 25 times. Contexts with fewer visits are tested
    together, and sums of counts with a variance below 10 are left out: they are far from normal.

    Args:
        process: The process, at the length of the sequences if it depends on it.
        sequences: Tokens of each sequence, from its first one.

    Raises:
        OptionError: If there are too few tokens to test, more than fit into memory, or others than
            those of the vocabulary.

    References:
        Billingsley (1961), "Statistical methods in Markov chains", on χ² statistics of dependent
        counts. Holm (1979), "A simple sequentially rejective multiple test procedure".
    """
    lengths = np.array([len(each) for each in sequences])
    size, vocab = int(lengths.sum()), process.vocabulary.size
    if not size:
        raise OptionError("samples", size, "there are no tokens", "Give at least one sequence")
    if outside := [token for each in sequences for token in each if not 0 <= token < vocab]:
        problem = f"the tokens of {process.name} are 0 to {vocab - 1}"
        raise OptionError("samples", outside[0], problem, "Give numbers of its symbols")
    if lengths.size * (lengths.max() + 1) * vocab > _MOST_NUMBERS:
        problem = "the exact predictions of these tokens do not fit into memory"
        raise OptionError("samples", size, problem, "Give fewer or shorter sequences")
    tokens = np.zeros((lengths.size, lengths.max()), int)
    is_token = np.arange(lengths.max()) < lengths[:, None]
    tokens[is_token] = np.concatenate([np.asarray(each, int) for each in sequences])
    probs = predictives(process, tokens)[:, :-1]
    chosen = np.take_along_axis(probs, tokens[..., None], axis=2)[..., 0]
    # Predictions after an impossible token may be NaN.
    wrong = np.argwhere(is_token & ~(chosen > 0))
    if wrong.size:
        sequence, position = map(int, wrong[0])
        return Conformity(lengths.size, size, impossible=(sequence, position))
    # Float32 sums differ from 1, and covariances would have full rank.
    probs /= np.where(is_token, probs.sum(axis=2), 1)[..., None]
    tests = list(_tests(tokens, probs, is_token))
    if not tests:
        raise OptionError("samples", size, "too few tokens to test", "Give more sequences")
    adjusted = adjusted_p_values(np.array([test.p_value for test in tests])).tolist()
    found = (test._replace(adjusted=each) for test, each in zip(tests, adjusted, strict=True))
    return Conformity(lengths.size, size, tuple(found))


def _tests(
    tokens: Int[np.ndarray, "sequences length"],
    probs: Float[np.ndarray, "sequences length vocab"],
    is_token: Bool[np.ndarray, "sequences length"],
) -> Iterator[ContextTest]:
    from scipy.special import chdtrc

    vocab = probs.shape[2]
    for order in range(min(_LONGEST, tokens.shape[1] - 1) + 1):
        counted, powers = is_token[:, order:], vocab ** np.arange(order)
        if counted.sum() < _VISITS * vocab**order:
            return
        # A digit for each token of the context, the oldest first.
        contexts = np.lib.stride_tricks.sliding_window_view(tokens, order + 1, axis=1)[..., :-1]
        code = np.einsum("stk,k->st", contexts, powers)[counted]
        following, laws = tokens[:, order:][counted], probs[:, order:][counted]
        statistic, degrees, worst = 0.0, 0, None
        for places, is_one in _by_context(code):
            expected, visits = laws[places].sum(axis=0), len(places)
            difference = np.bincount(following[places], minlength=vocab) - expected
            covariance = np.diag(expected) - laws[places].T @ laws[places]
            change, freedom = _chi_squared(difference, covariance)
            statistic, degrees = statistic + change, degrees + freedom
            variance = np.diag(covariance)
            far = np.abs(difference) / np.sqrt(np.where(variance < _VARIANCE, np.inf, variance))
            token = int(far.argmax())
            if is_one and far[token] > (worst.errors if worst else 0):
                share = float(expected[token]) / visits
                seen = share + float(difference[token]) / visits
                context = tuple((code[places[0]] // powers % vocab).tolist())
                worst = Deviation(context, token, visits, seen, share, float(far[token]))
        if degrees:
            p_value = float(chdtrc(degrees, statistic))
            yield ContextTest(order, statistic, degrees, p_value, p_value, worst)


def _by_context(
    code: Int[np.ndarray, " counted"],
) -> Iterator[tuple[Int[np.ndarray, " visits"], bool]]:
    """Yield the places of each context with True, and those of all with few visits with False."""
    _, counts = np.unique(code, return_counts=True)
    of_context = np.split(np.argsort(code, kind="stable"), np.cumsum(counts)[:-1])
    yield from ((places, True) for places in of_context if len(places) >= _VISITS)
    if rare := [places for places in of_context if len(places) < _VISITS]:
        yield np.concatenate(rare), False


def _chi_squared(
    difference: Float[np.ndarray, " vocab"], covariance: Float[np.ndarray, "vocab vocab"]
) -> tuple[float, int]:
    """Return Dᵀ V⁺ D and its degrees of freedom, without the directions of small variance."""
    values, vectors = np.linalg.eigh(covariance)
    # Of a token against another one, the difference has twice the variance of each.
    kept = values >= 2 * _VARIANCE
    along = vectors[:, kept].T @ difference
    return float((along**2 / values[kept]).sum()), int(kept.sum())


def adjusted_p_values(
    p_values: Float[np.ndarray, "*sets tests"],
) -> Float[np.ndarray, "*sets tests"]:
    """Return Holm's step-down p-values, for each set of tests along the last axis.

    Of m tests, with p_(1) ≤ … ≤ p_(m): the adjusted p_(k) is the largest of (m - j + 1) p_(j) over
    j ≤ k, and at most 1. If tests below α are called significant, the probability of any false one
    is at most α, however the tests depend on each other (Holm 1979, "A simple sequentially
    rejective multiple test procedure"). Raises an error for values outside 0 to 1.

    >>> adjusted_p_values(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    if not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(f"`p_values` are {p_values.tolist()}. Give numbers from 0 to 1.")
    order = np.argsort(p_values, axis=-1)
    times = np.arange(p_values.shape[-1], 0, -1)
    stepped = np.minimum(np.take_along_axis(p_values, order, axis=-1) * times, 1.0)
    adjusted = np.empty_like(stepped)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(stepped, axis=-1), axis=-1)
    return adjusted
