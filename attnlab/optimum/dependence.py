"""How much the next token depends on each earlier token: in the process, and for any predictor."""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.configuration.cancellation import check_in
from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractGenerator, check_has_law
from attnlab.optimum.best import entropy
from attnlab.optimum.sequences import Weighted, log_weights, predictives, weighted_sequences

# Each sampled sequence is evaluated once more for every position and replacement token.
_SAMPLED = 1_000
# With many tokens or positions there are fewer sequences: the work grows with the square of the
# length, and the cube of the vocabulary.
_MOST_REPLACED, _SHORT = 100_000, 64
# A position is informative if its token changes the prediction by a thousandth in total variation,
# far above float32 rounding, and by a twentieth of the largest change: without the latter, a
# dependence that decays with distance would have no end.
_LEAST_MOVE, _LEAST_SHARE = 1e-3, 0.05

Predictor = Callable[
    [Int[np.ndarray, "sequences length"]], Float[np.ndarray, "sequences query vocab"]
]
Possible = Callable[[Int[np.ndarray, "sequences length"]], Bool[np.ndarray, "sequences length"]]


@dataclasses.dataclass(frozen=True)
class Dependence:
    """Maps of dependence: entry (t, i) is how predicting token t + 1 depends on token i, for i ≤ t.

    Rows are queries and columns keys, as in a causal attention pattern. The last row is about the
    token after all visible ones.

    `replacement`: the mean total variation, from 0 to 1, between p(next | tokens) and the same with
    token i replaced by an independent draw from its marginal (redrawn if it makes the past
    impossible). `information`: I(next; token i | all other visible tokens), in nats: how much the
    lowest loss grows if only token i is hidden. It is 0 for a token that the others determine. The
    standard errors are 0 if the numbers are exact.
    """

    replacement: Float[np.ndarray, "query key"]
    replacement_stderr: Float[np.ndarray, "query key"]
    information: Float[np.ndarray, "query key"]
    information_stderr: Float[np.ndarray, "query key"]
    exact: bool


# A pure function of a frozen value and a number, needed at every rerun of a page.
@functools.lru_cache(maxsize=64)
@fixed_numerics()
def dependence(generator: AbstractGenerator, length: int) -> Dependence:
    """Return the true dependence map of a process: exact over all sequences, or over a sample.

    Raises:
        OptionError: If the process has no law.
    """
    check_has_law(generator)
    generator = generator.at_length(length)
    vocab = generator.vocabulary.size
    sampled = min(_SAMPLED, _MOST_REPLACED // vocab**2)
    sampled = max(2, sampled * _SHORT**2 // max(_SHORT, length) ** 2)
    sequences = weighted_sequences(generator, length, sampled=sampled)
    marginals = _token_marginals(sequences, vocab)
    contexts = _all_contexts if sequences.exact else _sampled_contexts
    maps = np.zeros((4, length, length))
    for query, key, probs, weight in contexts(generator, sequences):
        check_in()
        # Replacement by each single token, besides the marginal, serves the standard error below.
        replaced_by = np.concatenate([marginals[key][None], np.eye(len(probs))])
        likely, (moved, *certain), known = _effects(probs, weight, replaced_by)
        if sequences.exact:
            share = likely / likely.sum()
            maps[::2, query, key] = share @ moved, share @ known
            continue
        # The marginal is an average over the same sequences, and so has an error.
        slopes = [each.mean() for each in certain]
        varying = moved + np.array(slopes)[sequences.tokens[:, key]]
        maps[::2, query, key] = moved.mean(), known.mean()
        spread = np.array([varying.std(ddof=1), known.std(ddof=1)])
        maps[1::2, query, key] = spread / np.sqrt(known.size)
    maps.setflags(write=False)
    return Dependence(*maps, exact=sequences.exact)


def informative_positions(true: Dependence) -> Bool[np.ndarray, " position"]:
    """Return the positions that the prediction of the final token truly depends on.

    This uses `replacement`, the map on the pages, not `information`: the prediction may depend on a
    token that others nearly determine, although hiding it costs little. There may be no such
    position.
    """
    return is_informative(true.replacement[-1])


def is_informative(
    moves: Float[np.ndarray, "*many position"],
) -> Bool[np.ndarray, "*many position"]:
    """Return which positions change a prediction enough to count, given their effects."""
    return moves > np.maximum(_LEAST_MOVE, _LEAST_SHARE * moves.max(axis=-1, keepdims=True))


def informative_of(generator: AbstractGenerator, length: int) -> Bool[np.ndarray, " position"]:
    """Return the `informative_positions` of a process.

    There is none without a law, and none where each sequence has its own sources, as in a task.
    """
    own = generator.at_length(length).true_sources(jnp.zeros(length, jnp.int32))
    if own is not None or generator.prompt_length() or not generator.has_law:
        return np.zeros(length, bool)
    return informative_positions(dependence(generator, length))


@fixed_numerics()
def influence(
    predict: Predictor,
    sequences: Int[np.ndarray, "sequences length"],
    marginals: Float[np.ndarray, "length vocab"],
    possible: Possible | None = None,
) -> tuple[Float[np.ndarray, "query key"], Float[np.ndarray, "query key"]]:
    """Return the effect of each token on a predictor, by query and key, and its standard error.

    This is `Dependence.replacement`, with the predictor instead of the true distribution. The mean
    is over the given sequences, and `marginals` are the distributions of the tokens. Replacements
    after which the tokens up to the query are not `possible` are redrawn; by default all are
    possible. If the predictor returns fewer queries than tokens, they are the last ones. With a
    single sequence the standard error is NaN.
    """
    count = len(sequences)

    def weigh(key: int, changed: Int[np.ndarray, "some length"]) -> np.ndarray:
        share = np.repeat(marginals[key], count)[:, None]
        return share if possible is None else share * possible(changed)

    effects = effects_of_replacing(predict, sequences, marginals.shape[1], weigh)
    mean = effects.mean(axis=0)
    if len(sequences) == 1:
        return mean, np.full_like(mean, np.nan)
    return mean, effects.std(axis=0, ddof=1) / np.sqrt(len(sequences))


@fixed_numerics()
def effects_of_replacing(
    predict: Predictor,
    sequences: Int[np.ndarray, "sequences length"],
    vocab: int,
    weigh: Callable[[int, Int[np.ndarray, "some length"]], Float[np.ndarray, "some positions"]],
) -> Float[np.ndarray, "sequences query key"]:
    """Return the expected total variation of predictions after each token is replaced.

    `weigh` takes a position and sequences with each token of the vocabulary there, those with
    token 0 first. It returns the weight of each, alone or by query; only ratios of the weights of
    one sequence count. Without a possible replacement the effect is 0.
    """
    before = predict(sequences)
    queries = before.shape[1]
    effects = np.zeros((*before.shape[:2], sequences.shape[1]))
    drawn = np.zeros_like(effects)
    for key in range(sequences.shape[1]):
        # Try every token at the key, including impossible ones, so that calls have one shape.
        changed = np.tile(sequences, (vocab, 1))
        changed[:, key] = np.repeat(np.arange(vocab), len(sequences))
        share = weigh(key, changed)[:, -queries:] * np.ones(queries)
        moved = _total_variation(predict(changed), np.tile(before, (vocab, 1, 1)))
        by_token = vocab, *before.shape[:2]
        # A predictor may have no prediction for a token that never occurs there.
        effects[:, :, key] = (share * np.nan_to_num(moved)).reshape(by_token).sum(axis=0)
        drawn[:, :, key] = share.reshape(by_token).sum(axis=0)
    return effects / np.where(drawn > 0, drawn, 1)


@fixed_numerics()
def true_influence(
    generator: AbstractGenerator,
    sequences: Int[np.ndarray, "sequences length"],
    marginals: Float[np.ndarray, "length vocab"],
) -> Float[np.ndarray, "query key"]:
    """Return `influence` on the true prediction over given sequences; 0 for impossible pasts."""
    generator = generator.at_length(sequences.shape[1])
    possible = possible_pasts(generator)

    def predict(tokens):
        probs = predictives(generator, tokens)[:, 1:]
        return np.where(possible(tokens)[:, :, None], probs, np.nan)

    return influence(predict, sequences, marginals, possible)[0]


@fixed_numerics()
def possible_pasts(generator: AbstractGenerator) -> Possible:
    """Return a function that returns for each t whether the first t + 1 tokens can occur."""

    def possible(tokens):
        at_length = generator.at_length(tokens.shape[1])
        return np.isfinite(log_weights(tokens, predictives(at_length, tokens)))[:, 1:]

    return possible


@fixed_numerics()
def token_marginals(generator: AbstractGenerator, length: int) -> Float[np.ndarray, "length vocab"]:
    """Return the distribution of each visible token: exact, or frequencies in a sample."""
    generator = generator.at_length(length)
    sequences = weighted_sequences(generator, length, sampled=20 * _SAMPLED)
    return _token_marginals(sequences, generator.vocabulary.size)


def _token_marginals(sequences: Weighted, vocab: int) -> Float[np.ndarray, "length vocab"]:
    one_hot = sequences.tokens[:, :, None] == np.arange(vocab)
    return np.einsum("s,spv->pv", sequences.weight, one_hot)


# One position's effect on one prediction: the query, the key, p(next) for every token at the key
# (first axis) and every context of other tokens (second), and how likely each is.
_Contexts = Iterator[
    tuple[
        int, int, Float[np.ndarray, "tokens contexts vocab"], Float[np.ndarray, "tokens contexts"]
    ]
]


def _all_contexts(generator: AbstractGenerator, sequences: Weighted) -> _Contexts:
    """Yield the contexts of each query and key among all beginnings of sequences."""
    vocab, length = generator.vocabulary.size, sequences.tokens.shape[1]
    log_weight = log_weights(sequences.tokens, sequences.probs)
    for query in range(length):
        seen = query + 1
        beginnings = slice(None, None, vocab ** (length - seen))
        probs = sequences.probs[beginnings, seen]
        weight = np.exp(log_weight[beginnings, seen])
        for key in range(seen):
            shape = (vocab**key, vocab, vocab ** (query - key))
            yield (
                query,
                key,
                probs.reshape(*shape, vocab).swapaxes(0, 1).reshape(vocab, -1, vocab),
                weight.reshape(shape).swapaxes(0, 1).reshape(vocab, -1),
            )


def _sampled_contexts(generator: AbstractGenerator, sequences: Weighted) -> _Contexts:
    """Yield the contexts of each query and key among sampled sequences."""
    vocab, length = generator.vocabulary.size, sequences.tokens.shape[1]
    for key in range(length):
        changed = np.repeat(sequences.tokens[None], vocab, axis=0)
        changed[:, :, key] = np.arange(vocab)[:, None]
        flat = changed.reshape(-1, length)
        probs = predictives(generator, flat)
        log_weight = log_weights(flat, probs).reshape(vocab, -1, length + 1)
        probs = probs.reshape(vocab, -1, length + 1, vocab)
        for query in range(key, length):
            likely = log_weight[:, :, query + 1]
            yield query, key, probs[:, :, query + 1], np.exp(likely - likely.max(axis=0))


def _effects(
    probs: Float[np.ndarray, "tokens contexts vocab"],
    weight: Float[np.ndarray, "tokens contexts"],
    replaced_by: Float[np.ndarray, "distributions tokens"],
) -> tuple[
    Float[np.ndarray, " contexts"],
    Float[np.ndarray, "distributions contexts"],
    Float[np.ndarray, " contexts"],
]:
    """Return for each context its weight, the effect of each replacement, and the information.

    With share = p(token at the key | context) and q one of the distributions:
    replacement = Σ share(a) q(b) TV(p_a, p_b), and
    information = Σ share(a) KL(p_a ‖ Σ share(b) p_b).
    """
    likely = weight.sum(axis=0)
    share = weight / np.where(likely > 0, likely, 1)
    possible = weight > 0
    probs = np.where(possible[:, :, None], probs, 0)
    # How much each token at the key changes the prediction, averaged over the token there.
    moves = np.zeros(weight.shape)
    for one in np.flatnonzero(possible.any(axis=1)):
        # The total variation is symmetric, so each pair of tokens is compared once.
        moved = _total_variation(probs[:one], probs[one])
        moves[:one] += share[one] * moved
        moves[one] += (share[:one] * moved).sum(axis=0)
    drawn = replaced_by @ possible
    replacement = replaced_by @ (possible * moves) / np.where(drawn > 0, drawn, 1)
    without = (share[:, :, None] * probs).sum(axis=0)
    information = entropy(without) - (share * entropy(probs)).sum(axis=0)
    return likely, replacement, np.maximum(information, 0)


def _total_variation(one, other):
    """Return ½ Σ |p - q| over the last axis."""
    return 0.5 * np.abs(one - other).sum(axis=-1)
