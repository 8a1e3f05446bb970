"""Reference predictors of the final token, from a uniform guess to the optimum."""

import dataclasses
import functools

import numpy as np

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractGenerator
from attnlab.optimum.best import Best, optimum
from attnlab.optimum.grouped import best_from_groups, best_from_sampled_groups
from attnlab.optimum.levels import TooManyBeliefsError, levels
from attnlab.optimum.linear import best_linear
from attnlab.optimum.sampled import SAMPLES, predictives, sampled_sequences

_MOST_RECENT = 4
# A prediction from fewer sampled sequences than this is mostly luck.
_FEWEST_IN_A_CONTEXT = 50


@dataclasses.dataclass(frozen=True)
class Rung:
    """A reference predictor and how well it does."""

    name: str
    best: Best


# A pure function of a frozen value and a number, asked for again with every picture of a page.
@functools.lru_cache(maxsize=64)
@fixed_numerics()
def ladder(generator: AbstractGenerator, length: int, most: int | None = None) -> tuple[Rung, ...]:
    """Loss and accuracy of predicting the token after `length` others with ever more knowledge.

    `uniform`: every token alike. `unigram`: the distribution of the final token. `order-k`: the
    best prediction from the last k visible tokens, p(final | last k). `linear`: the multinomial
    logistic predictor of least expected loss on all visible tokens. `optimal`: p(final | all
    visible tokens).
    Exact where there are no more than `most` beliefs, by default 3^12, else from a sample, with
    standard errors and without the orders that have more contexts than a sample can fill.
    Of a task, where all target tokens are asked, `unigram` is their common distribution, in which
    all tokens are alike, and there are no others but `optimal`.
    """
    generator = generator.at_length(length)
    vocab = generator.vocabulary.size
    rungs = [Rung("uniform", Best(nll=float(np.log(vocab)), accuracy=1 / vocab))]
    if generator.next_laws() is not None:
        best = optimum(generator, length, most).final
        return (*rungs, Rung("unigram", rungs[0].best), Rung("optimal", best))
    recent = min(_MOST_RECENT, length)
    try:
        known = _exact_rungs(generator, length, recent, most)
    except TooManyBeliefsError:
        known = _sampled_rungs(generator, length, recent)
    for order, best in enumerate(known):
        rungs.append(Rung("unigram" if order == 0 else f"order-{order}", best))
    rungs.append(Rung("linear", best_linear(generator, length)))
    rungs.append(Rung("optimal", optimum(generator, length, most).final))
    return tuple(rungs)


def _exact_rungs(
    generator: AbstractGenerator, length: int, recent: int, most: int | None
) -> list[Best]:
    """The best prediction from the last 0, 1, … `recent` visible tokens."""
    *_, last = levels(generator, length, most=most, recent=recent)
    vocab = generator.vocabulary.size
    return [
        best_from_groups(last.recent % vocab**order, last.next_probs, last.probability)
        for order in range(recent + 1)
    ]


def _sampled_rungs(generator: AbstractGenerator, length: int, recent: int) -> list[Best]:
    """As `_exact_rungs`, from a sample of sequences."""
    sequences = sampled_sequences(generator, length)
    final = predictives(generator, sequences)[:, -1]
    vocab = generator.vocabulary.size
    orders = range(recent + 1)
    filled = [order for order in orders if vocab**order * _FEWEST_IN_A_CONTEXT <= SAMPLES]
    code = sequences[:, -recent:] @ vocab ** np.arange(recent)[::-1]
    return [best_from_sampled_groups(code % vocab**order, final) for order in filled]
