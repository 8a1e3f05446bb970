"""Baselines: the best predictors of simple kinds, such as linear ones."""

import dataclasses
import functools

import numpy as np
from jaxtyping import Float, Int

from attnlab.configuration.cancellation import check_in
from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractGenerator
from attnlab.optimum.best import (
    Best,
    best_from_groups,
    best_from_sampled_groups,
    mean_best,
    optimum,
)
from attnlab.optimum.levels import TooManyBeliefsError, levels
from attnlab.optimum.own_baselines import RULE_KNOWN, own_baselines
from attnlab.optimum.sequences import (
    SAMPLES,
    mean_in_loss,
    predictives,
    sampled_sequences,
    weighted_sequences,
)

_MOST_ROUNDS = 2_000
# If some tokens are impossible, the weights grow without bound. After this many rounds, in which
# other fits converge, the loss was within 2e-4 nats of its limit.
_MOST_TO_INFINITY = 60
# Above this length the fit has so many features that it would take minutes.
_LONG = 64
# SciPy's status of an optimisation that was stopped before it converged.
_OUT_OF_ROUNDS = 1
# The minimum of the convex loss counts as found when a round gains less than this share of it.
_CONVERGED = 1e-11
# Or when no component of the gradient is larger, in nats.
_FLAT = 1e-7


# A pure function of a frozen value and a number, needed at every rerun of a page.
@functools.lru_cache(maxsize=64)
@fixed_numerics()
def best_linear(generator: AbstractGenerator, length: int) -> Best:
    """Return loss and accuracy of the linear predictor with the lowest expected loss.

    The predictor is softmax(x W + b) of the flattened one-hot visible tokens x. Its loss is convex
    in W and b and is minimised by L-BFGS: over all sequences if they can be enumerated, otherwise
    over one half of a sample, and then measured on the other half. It need not be the most accurate
    linear rule. If some tokens are impossible the optimisation is stopped after 60 rounds, and the
    result is `bounded` if it had not converged.
    """
    generator = generator.at_length(length)
    sampled = 2 * SAMPLES if length <= _LONG else SAMPLES
    sequences = weighted_sequences(generator, length, sampled=sampled)
    features = _features(sequences.tokens, generator.vocabulary.size)
    target = sequences.probs[:, -1]
    weight = sequences.weight
    if sequences.exact:
        possible = weight > 0
        features, target, weight = (part[possible] for part in (features, target, weight))
        weights, converged = _minimise(features, target, weight)
    else:
        half = len(features) // 2
        weights, converged = _minimise(features[:half], target[:half], np.full(half, 1 / half))
        features, target = features[half:], target[half:]
    log_probs = _log_probs(features, weights)
    loss = -(target * log_probs).sum(axis=1)
    right = np.take_along_axis(target, log_probs.argmax(axis=1)[:, None], axis=1)[:, 0]
    best = mean_best(loss, right, weight if sequences.exact else None)
    return dataclasses.replace(best, bounded=not converged)


def _features(
    tokens: Int[np.ndarray, "sequences length"], vocab: int
) -> Float[np.ndarray, "sequences features"]:
    """Return a constant 1, then one-hot tokens without the last token, which is implied."""
    one_hot = tokens[:, :, None] == np.arange(vocab - 1)
    return np.concatenate([np.ones((len(tokens), 1)), one_hot.reshape(len(tokens), -1)], axis=1)


def _log_probs(
    features: Float[np.ndarray, "sequences features"], weights: Float[np.ndarray, "features free"]
) -> Float[np.ndarray, "sequences vocab"]:
    """Return log softmax of the logits, of which the last is fixed at 0."""
    logits = np.concatenate([features @ weights, np.zeros((len(features), 1))], axis=1)
    largest = logits.max(axis=1, keepdims=True)
    return logits - largest - np.log(np.exp(logits - largest).sum(axis=1, keepdims=True))


def _minimise(
    features: Float[np.ndarray, "sequences features"],
    target: Float[np.ndarray, "sequences vocab"],
    weight: Float[np.ndarray, " sequences"],
) -> tuple[Float[np.ndarray, "features free"], bool]:
    """Return the argmin of Σ weight · -Σ target log softmax(features W), by L-BFGS.

    The second value says whether it converged.
    """
    # The import takes half a second, and only this predictor needs it.
    from scipy.optimize import minimize

    shape = features.shape[1], target.shape[1] - 1

    def loss_and_gradient(flat):
        check_in()
        log_probs = _log_probs(features, flat.reshape(shape))
        loss = -weight @ (target * log_probs).sum(axis=1)
        surplus = weight[:, None] * (np.exp(log_probs) - target)[:, : shape[1]]
        return loss, (features.T @ surplus).ravel()

    rounds = _MOST_ROUNDS if target.all() else _MOST_TO_INFINITY
    found = minimize(
        loss_and_gradient,
        np.zeros(shape[0] * shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxcor": 20, "maxiter": rounds, "ftol": _CONVERGED, "gtol": _FLAT},
    )
    return found.x.reshape(shape), found.status != _OUT_OF_ROUNDS


_MOST_RECENT = 4
# A prediction from fewer sampled sequences than this is mostly chance.
_FEWEST_IN_A_CONTEXT = 50


@dataclasses.dataclass(frozen=True)
class Baseline:
    """A baseline, with its loss and accuracy."""

    name: str
    best: Best


# A pure function of a frozen value and a number, needed at every rerun of a page.
@functools.lru_cache(maxsize=64)
@fixed_numerics()
def baselines_of(
    generator: AbstractGenerator, length: int, most: int | None = None
) -> tuple[Baseline, ...]:
    """Return the baselines for the token after `length` visible ones, the least informed first.

    `uniform`: all tokens equally probable. `unigram`: the distribution of the final token.
    `order-k`: the best prediction from the last k visible tokens, p(final | last k). `linear`: the
    multinomial logistic predictor with the lowest expected loss on all visible tokens; a process
    with `references` has these instead. `optimal`: p(final | all visible tokens). Results are
    exact with at most `most` beliefs (default 3^12); otherwise they come from a sample, with
    standard errors, and orders that have more contexts than a sample can fill are left out. If the
    process has a loss mask, `unigram` is the mean distribution of its tokens, and there is no
    `order-k` and no `linear`.

    Without a law they are reference predictors that were fitted to the training blocks, measured on
    the held-out blocks with errors over blocks: see `attnlab.generators.context_tree`. The last
    one, `best reference`, is one of the others.
    """
    generator = generator.at_length(length)
    baselines = counted_baselines(generator, length, most)
    if not generator.has_law:
        return baselines
    own = own_baselines(generator, length, most)
    # Only the exact prediction may come last; with the rule known, less loss is possible.
    known = [Baseline(name, each.final) for name, each in own.items() if name != RULE_KNOWN]
    baselines = (*baselines, *sorted(known, key=lambda each: -each.best.nll))
    if not own and generator.next_laws() is None and not generator.has_loss_mask():
        baselines = (*baselines, Baseline("linear", best_linear(generator, length)))
    return (*baselines, Baseline("optimal", optimum(generator, length, most).final))


# A pure function of a frozen value and a number, needed at every rerun of a page.
@functools.lru_cache(maxsize=64)
@fixed_numerics()
def counted_baselines(
    generator: AbstractGenerator, length: int, most: int | None = None
) -> tuple[Baseline, ...]:
    """Return those of `baselines_of` that need no fit: `uniform`, `unigram` and `order-k`.

    At large lengths the fit of `linear` takes most of the time.
    """
    generator = generator.at_length(length)
    vocab = generator.vocabulary.size
    uniform = Best(nll=float(np.log(vocab)), accuracy=1 / vocab)
    if (found := generator.fitted()) is not None:
        blocks = found.held_out.blocks
        known = {name: mean_best(*each, blocks=blocks) for name, each in found.results.items()}
        known = {"uniform": uniform, **known, generator.best_words.floor: known[found.name]}
        return tuple(map(Baseline, known.keys(), known.values()))
    if generator.writes_target:
        return Baseline("uniform", uniform), Baseline("unigram", uniform)
    if generator.has_loss_mask():
        return Baseline("uniform", uniform), Baseline(
            "unigram", _unigram_in_loss(generator, length)
        )
    recent = min(_MOST_RECENT, length)
    try:
        known = _exact_baselines(generator, length, recent, most)
    except TooManyBeliefsError:
        known = _sampled_baselines(generator, length, recent)
    names = ("uniform", "unigram", *(f"order-{order}" for order in range(1, len(known))))
    return tuple(map(Baseline, names, (uniform, *known)))


def _unigram_in_loss(generator: AbstractGenerator, length: int) -> Best:
    """Return the best prediction, without any context, of the tokens in the loss mask."""
    sequences = weighted_sequences(generator, length, sampled=SAMPLES)
    possible = sequences.weight > 0
    in_loss = mean_in_loss(generator, sequences.tokens[possible], sequences.probs[possible])
    group = np.zeros(len(in_loss), int)
    if not sequences.exact:
        return best_from_sampled_groups(group, in_loss)
    return best_from_groups(group, in_loss, sequences.weight[possible])


def _exact_baselines(
    generator: AbstractGenerator, length: int, recent: int, most: int | None
) -> list[Best]:
    """Return the best predictions from the last 0, 1, … `recent` visible tokens."""
    *_, last = levels(generator, length, most=most, recent=recent)
    vocab = generator.vocabulary.size
    return [
        best_from_groups(last.recent % vocab**order, last.next_probs, last.probability)
        for order in range(recent + 1)
    ]


def _sampled_baselines(generator: AbstractGenerator, length: int, recent: int) -> list[Best]:
    """Like `_exact_baselines`, from a sample of sequences."""
    sequences = sampled_sequences(generator, length)
    final = predictives(generator, sequences)[:, -1]
    vocab = generator.vocabulary.size
    orders = range(recent + 1)
    filled = [o for o in orders if vocab**o * _FEWEST_IN_A_CONTEXT <= len(sequences)]
    code = sequences[:, -recent:] @ vocab ** np.arange(recent)[::-1]
    return [best_from_sampled_groups(code % vocab**order, final) for order in filled]
