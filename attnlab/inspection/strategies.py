"""Which reference predictor a model behaves like, and the mixture of them that is nearest to it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax.random as jr
import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.configuration.options import OptionError, present
from attnlab.generators import AbstractGenerator, draw_many, loss_mask_of
from attnlab.inspection.belief_gap import divergence
from attnlab.optimum.own_baselines import RULE_KNOWN, reference_rows
from attnlab.optimum.sequences import mean_and_error
from attnlab.training.evaluation import LossByPosition, loss_of_positions

UNIFORM, OPTIMAL = "uniform", "optimal"
_SEQUENCES = 500
# The size of the predictions of each reference: 16 MB.
_MOST_NUMBERS = 2_000_000
# Keeps these sequences apart from a run's own draws, and from those of probes.
_DRAW = 4
# Most steps of the fit, and the distance from the smallest divergence at which it ends, in nats.
_ITERATIONS, _GAP = 100, 1e-5
# A smaller probability has no float64 logarithm.
_LEAST = 1e-300


class References(NamedTuple):
    """The predictions of all reference predictors for the same next tokens.

    Attributes:
        names: `uniform`, the process's own `references`, and last the exact prediction: `optimal`,
            with the process's `optimal_predictor` in brackets.
        sequences: Visible tokens and the next one.
        counted: Which tokens count: those in the loss mask, or all but the first.
        probs: p(token t + 1) at query t, by reference.
        rule: The same if the latent rule of the sequence is known too, or None without one.
    """

    names: tuple[str, ...]
    sequences: Int[np.ndarray, "sequences positions"]
    counted: Bool[np.ndarray, "sequences query"]
    probs: Float[np.ndarray, "references sequences query vocab"]
    rule: Float[np.ndarray, "sequences query vocab"] | None


@fixed_numerics()
def references_of(
    process: AbstractGenerator, length: int, seed: int = 0, *, size: int | None = None
) -> References:
    """Draw sequences, independent of those of any run, and predict them by every reference.

    Args:
        process: A process that names `references`.
        length: Number of visible tokens.
        seed: Seed of the sequences.
        size: Number of sequences; by default 500, or fewer if they are long.

    Raises:
        OptionError: If the process names no references.
    """
    process = process.at_length(length)
    vocab = process.vocabulary.size
    if size is None:
        size = max(20, min(_SEQUENCES, _MOST_NUMBERS // (length * vocab)))
    key = jr.fold_in(key_of(seed), _DRAW)
    drawn = draw_many(process, key=key, size=size, length=length + 1)
    exact, rows = reference_rows(process, process.start(), drawn)
    # The first row predicts the first token, from no tokens.
    found = {name: np.exp(np.asarray(each, np.float64))[:, 1:] for name, each in rows.items()}
    rule = found.pop(RULE_KNOWN, None)
    if not found:
        problem = "it names no reference predictors"
        raise OptionError("process", process.name, problem, "Choose one that defines `references`")
    best = np.exp(np.asarray(exact, np.float64))[:, 1:]
    sequences = np.asarray(drawn.tokens)
    loss_mask = loss_mask_of(process, sequences)
    counted = np.ones(best.shape[:2], bool) if loss_mask is None else np.asarray(loss_mask)[:, 1:]
    uniform = np.full_like(best, 1 / vocab)
    probs = np.stack([uniform, *found.values(), best])
    optimal = f"{OPTIMAL} ({own})" if (own := process.optimal_predictor) else OPTIMAL
    return References((UNIFORM, *found, optimal), sequences, counted, probs, rule)


def has_references(process: AbstractGenerator) -> bool:
    """Return whether a process names reference predictors."""
    return type(process).references is not AbstractGenerator.references


class Strategies(NamedTuple):
    """How far a model is from each reference, and the mixture of them that is nearest to it.

    All divergences are KL(reference ‖ model) in nats: what the model loses if the reference is
    right. They are means over sequences and counted tokens, with errors over sequences. That of
    `optimal` is the model's loss above the floor.

    Attributes:
        divergence: KL(reference ‖ model) of each reference.
        divergence_stderr: Its standard errors.
        weights: Weights of the mixture with the smallest KL(mixture ‖ model); they sum to 1.
        left_over: KL(mixture ‖ model) of this mixture.
        left_over_stderr: Its standard error.
    """

    divergence: Float[np.ndarray, " references"]
    divergence_stderr: Float[np.ndarray, " references"]
    weights: Float[np.ndarray, " references"]
    left_over: float
    left_over_stderr: float

    @property
    def nearest(self) -> int:
        """Return the index of the reference with the smallest divergence."""
        return int(self.divergence.argmin())


def strategies(
    references: References, probs: Float[np.ndarray, "sequences query vocab"]
) -> Strategies:
    """Return the divergences of a model's predictions from the references.

    Args:
        references: The references.
        probs: The model's p(token t + 1) at query t, as `probs_by_query` returns it.
    """

    def measured(reference: Float[np.ndarray, "sequences query vocab"]) -> tuple[float, float]:
        each = divergence(reference, probs).mean(axis=1, where=references.counted)
        return mean_and_error(each)

    single = np.array([measured(each) for each in references.probs])
    counted = references.counted
    weights = mixture_weights(references.probs[:, counted], probs[counted])
    mixture = np.tensordot(weights, references.probs, axes=1)
    return Strategies(single[:, 0], single[:, 1], weights, *measured(mixture))


def mixture_weights(
    references: Float[np.ndarray, "references predictions vocab"],
    probs: Float[np.ndarray, "predictions vocab"],
) -> Float[np.ndarray, " references"]:
    """Return the weights w on the simplex with the smallest mean KL(Σ w_i reference_i ‖ model).

    This is convex. Exponentiated gradient descent doubles its step after each success. It ends when
    the duality gap proves that the divergence is within 1e-5 nats of the smallest, or after 100
    steps.

    References:
        Kivinen and Warmuth (1997), "Exponentiated gradient versus gradient descent for linear
        predictors". Jaggi (2013), "Revisiting Frank-Wolfe", equation 2, for the gap.
    """
    log_model = np.log(np.maximum(probs, _LEAST))

    def value_and_gradient(weights: np.ndarray) -> tuple[float, np.ndarray]:
        mixture = np.tensordot(weights, references, axes=1)
        ratio = np.log(np.maximum(mixture, _LEAST)) - log_model
        gradient = np.einsum("rpv,pv->r", references, ratio) / len(probs)
        return float(weights @ gradient), gradient

    weights, rate = np.full(len(references), 1 / len(references)), 1.0
    value, gradient = value_and_gradient(weights)
    for _ in range(_ITERATIONS):
        if weights @ gradient - gradient.min() < _GAP:
            break
        tried = weights * np.exp(rate * (gradient.min() - gradient))
        tried /= tried.sum()
        tried_value, tried_gradient = value_and_gradient(tried)
        if tried_value <= value:
            weights, value, gradient = tried, tried_value, tried_gradient
            rate *= 2
        else:
            rate /= 4
    return weights


def changes_of_nearest(
    steps: Sequence[int], found: Sequence[Strategies]
) -> Iterator[tuple[int, int]]:
    """Yield the steps at which another reference becomes the nearest, with its index.

    Another one counts as nearer only if its divergence is smaller by more than both standard
    errors, so that noise alone causes no change.
    """
    current: int | None = None
    for step, each in zip(steps, found, strict=True):
        now = each.nearest
        if current is None:
            current = now
            continue
        high = each.divergence[now] + each.divergence_stderr[now]
        if high < each.divergence[current] - each.divergence_stderr[current]:
            current = now
            yield step, now


def expected_loss(
    references: References, probs: Float[np.ndarray, "sequences query vocab"]
) -> LossByPosition:
    """Return the expected loss of predictions at every position, -Σ p log q in nats.

    p is the exact prediction, so the random choice of the next token adds no noise. The loss of the
    exact prediction itself is the floor, and no loss is below it.
    """
    exact = references.probs[-1]
    losses = -(exact * np.log(np.maximum(probs, _LEAST))).sum(axis=-1)
    return present(loss_of_positions(losses, references.counted))


def rule_loss(references: References) -> LossByPosition | None:
    """Return the expected loss at every position if the rule is known; None without a rule."""
    if (rule := references.rule) is None:
        return None
    losses = -(rule * np.log(np.where(rule > 0, rule, 1.0))).sum(axis=-1)
    return loss_of_positions(losses, references.counted)
