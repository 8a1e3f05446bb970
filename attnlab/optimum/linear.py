"""The best linear predictor: multinomial logistic regression of least expected loss."""

import functools

import numpy as np
from jaxtyping import Float, Int

from attnlab.generators import AbstractGenerator
from attnlab.optimum.best import Best
from attnlab.optimum.sampled import SAMPLES, mean_and_error
from attnlab.optimum.sequences import weighted_sequences

_MOST_ROUNDS = 60
# What the next step would gain, in nats, when the minimum of the convex loss counts as found.
_CONVERGED = 1e-12


# A pure function of a frozen value and a number, asked for again with every picture of a page.
@functools.lru_cache(maxsize=64)
def best_linear(generator: AbstractGenerator, length: int) -> Best:
    """Loss and accuracy of the linear predictor with the least expected loss.

    The predictor is softmax(x W + b) of the flattened one-hot visible days x; its loss is convex
    in W and b and is minimised by Newton's method, over all sequences where they can be
    enumerated and else over one half of a sample, then measured on the other half.
    """
    generator = generator.at_length(length)
    sequences = weighted_sequences(generator, length, sampled=2 * SAMPLES)
    features = _features(sequences.days, generator.vocabulary.size)
    target = sequences.probs[:, -1]
    if sequences.exact:
        possible = sequences.weight > 0
        features, target, weight = (part[possible] for part in (features, target, sequences.weight))
        log_probs = _log_probs(features, _minimise(features, target, weight))
        loss = -(target * log_probs).sum(axis=1)
        right = np.take_along_axis(target, log_probs.argmax(axis=1)[:, None], axis=1)[:, 0]
        return Best(float(weight @ loss), float(weight @ right))
    half = len(features) // 2
    weights = _minimise(features[:half], target[:half], np.full(half, 1 / half))
    log_probs = _log_probs(features[half:], weights)
    loss = -(target[half:] * log_probs).sum(axis=1)
    right = np.take_along_axis(target[half:], log_probs.argmax(axis=1)[:, None], axis=1)[:, 0]
    nll, nll_stderr = mean_and_error(loss)
    accuracy, accuracy_stderr = mean_and_error(right)
    return Best(nll, accuracy, nll_stderr, accuracy_stderr)


def _features(
    days: Int[np.ndarray, "sequences length"], vocab: int
) -> Float[np.ndarray, "sequences features"]:
    """A constant, and a 0/1 for every day and token but the last token, which is implied."""
    one_hot = days[:, :, None] == np.arange(vocab - 1)
    return np.concatenate([np.ones((len(days), 1)), one_hot.reshape(len(days), -1)], axis=1)


def _log_probs(
    features: Float[np.ndarray, "sequences features"], weights: Float[np.ndarray, "features free"]
) -> Float[np.ndarray, "sequences vocab"]:
    """log softmax of the logits, of which the last is held at 0."""
    logits = np.concatenate([features @ weights, np.zeros((len(features), 1))], axis=1)
    largest = logits.max(axis=1, keepdims=True)
    return logits - largest - np.log(np.exp(logits - largest).sum(axis=1, keepdims=True))


def _minimise(
    features: Float[np.ndarray, "sequences features"],
    target: Float[np.ndarray, "sequences vocab"],
    weight: Float[np.ndarray, " sequences"],
) -> Float[np.ndarray, "features free"]:
    """argmin of Σ weight · -Σ target log softmax(features W), by damped Newton steps."""
    free = target.shape[1] - 1
    width = features.shape[1]
    weights = np.zeros((width, free))

    def loss_at(weights):
        return -weight @ (target * _log_probs(features, weights)).sum(axis=1)

    loss = loss_at(weights)
    for _ in range(_MOST_ROUNDS):
        probs = np.exp(_log_probs(features, weights))[:, :free]
        gradient = features.T @ (weight[:, None] * (probs - target[:, :free]))
        hessian = np.empty((free, width, free, width))
        for i in range(free):
            for j in range(free):
                curvature = weight * probs[:, i] * ((i == j) - probs[:, j])
                hessian[i, :, j, :] = features.T @ (curvature[:, None] * features)
        flat = hessian.reshape(free * width, free * width)
        # Directions that no possible sequence tells apart have no curvature; leave them alone.
        step = np.linalg.lstsq(flat, gradient.T.ravel(), rcond=1e-12)[0].reshape(free, width).T
        if 0.5 * (gradient * step).sum() < _CONVERGED:
            break
        rate = 1.0
        while (shorter := loss_at(weights - rate * step)) > loss and rate > 1e-6:
            rate /= 2
        weights, loss = weights - rate * step, shorter
    return weights
