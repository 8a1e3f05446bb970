"""What the figures of a run are held against."""

import dataclasses

import numpy as np

from attnlab.generators import AbstractGenerator
from attnlab.optimum import Best, ladder, optimum


@dataclasses.dataclass(frozen=True)
class References:
    """Predictors of the final token that need no training.

    `best` is the optimum: its loss is the floor, its accuracy the ceiling. `majority` always
    gives the distribution of the final token, so that its accuracy is the commonest token's;
    `linear` is the linear predictor of least loss. Those two are None where nobody asked for them.
    """

    best: Best
    uniform: Best
    majority: Best | None = None
    linear: Best | None = None


def references_of(
    generator: AbstractGenerator, length: int, *, baselines: bool = True, most: int | None = None
) -> References:
    """The references of a process, from that many visible positions.

    `most` is as in `optimum`. The `baselines` are those that may be None; they take up to some
    ten seconds for a process that is new, most of it for the linear predictor.
    """
    vocab = generator.vocabulary.size
    best, uniform = optimum(generator, length, most).final, Best(float(np.log(vocab)), 1 / vocab)
    if not baselines:
        return References(best, uniform)
    rungs = {rung.name: rung.best for rung in ladder(generator, length, most)}
    return References(best, uniform, rungs["unigram"], rungs.get("linear"))
