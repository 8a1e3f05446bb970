"""Reference predictors of the final day, from a uniform guess to the optimum."""

import dataclasses
import functools

import numpy as np
from jaxtyping import Float, Int

from attnlab.generators import AbstractGenerator
from attnlab.optimum.best import Best, entropy, optimum
from attnlab.optimum.levels import TooManyBeliefsError, WithRecent, levels
from attnlab.optimum.linear import best_linear
from attnlab.optimum.sampled import predictives, sampled_days

# Longer memories than this have more contexts than a sample of sequences can fill.
_MOST_RECENT = 4


@dataclasses.dataclass(frozen=True)
class Rung:
    """A reference predictor and how well it does."""

    name: str
    best: Best


# A pure function of a frozen value and a number, asked for again with every picture of a page.
@functools.lru_cache(maxsize=64)
def ladder(generator: AbstractGenerator, length: int) -> tuple[Rung, ...]:
    """Loss and accuracy of predicting day `length` + 1 with ever more knowledge.

    `uniform`: every token alike. `unigram`: the law of the final day. `order-k`: the best
    prediction from the last k visible days, p(final | last k). `linear`: the multinomial logistic
    predictor of least expected loss on all visible days. `optimal`: p(final | all visible days).
    """
    generator = generator.at_length(length)
    vocab = generator.vocabulary.size
    rungs = [Rung("uniform", Best(nll=float(np.log(vocab)), accuracy=1 / vocab))]
    recent = min(_MOST_RECENT, length)
    try:
        joint = _exact_joint(generator, length, recent)
        size = 0
    except TooManyBeliefsError:
        sequences = sampled_days(generator, length)
        joint, size = _sampled_joint(generator, sequences, recent), len(sequences)
    for days in range(recent + 1):
        name = "unigram" if days == 0 else f"order-{days}"
        rungs.append(Rung(name, _from_joint(_last(joint, days), size)))
    rungs.append(Rung("linear", best_linear(generator, length)))
    rungs.append(Rung("optimal", optimum(generator, length).final))
    return tuple(rungs)


def _exact_joint(
    generator: AbstractGenerator, length: int, recent: int
) -> Float[np.ndarray, "contexts vocab"]:
    """p(last `recent` visible days, final day), contexts coded with the oldest day leading."""
    *_, last = levels(WithRecent(generator, recent), length)
    contexts = generator.vocabulary.size**recent
    weighted = last.probability[:, None] * last.next_probs
    return np.stack(
        [np.bincount(last.beliefs[1], column, minlength=contexts) for column in weighted.T], axis=1
    )


def _sampled_joint(
    generator: AbstractGenerator, sequences: Int[np.ndarray, "size length"], recent: int
) -> Float[np.ndarray, "contexts vocab"]:
    vocab = generator.vocabulary.size
    code = sequences[:, -recent:] @ vocab ** np.arange(recent)[::-1]
    final = predictives(generator, sequences)[:, -1] / len(sequences)
    return np.stack([np.bincount(code, column, minlength=vocab**recent) for column in final.T], 1)


def _last(joint: Float[np.ndarray, "contexts vocab"], days: int) -> Float[np.ndarray, "some vocab"]:
    """The joint law of the last `days` days and the final one: older days summed out."""
    vocab = joint.shape[1]
    return joint.reshape(-1, vocab**days, vocab).sum(axis=0)


def _from_joint(joint: Float[np.ndarray, "contexts vocab"], size: int) -> Best:
    """The best prediction from a context; with its error if `size` sequences were sampled."""
    weight = joint.sum(axis=1)
    conditional = joint / np.where(weight > 0, weight, 1)[:, None]
    nll = weight @ entropy(conditional)
    accuracy = weight @ conditional.max(axis=1)
    if not size:
        return Best(float(nll), float(accuracy))
    spread = weight @ (entropy(conditional) - nll) ** 2
    return Best(
        float(nll),
        float(accuracy),
        float(np.sqrt(spread / size)),
        float(np.sqrt(accuracy * (1 - accuracy) / size)),
    )
