"""What a run came to: what it passed and when, what it attends to, and what is missing."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from attnlab.configuration.numerics import fixed_numerics
from attnlab.models import AbstractModelOptions, AttentionOptions
from attnlab.optimum import Best, Rung
from attnlab.training.evaluation import Evaluation
from attnlab.training.learned_share import learned_share

# Of the attention, to say that a model has found the informative positions; and of what can be
# learned, to say that it is learned.
_FOUND, _LEARNED = 0.8, 0.95
# So many standard errors from the floor nobody can tell a loss from it.
_ERRORS = 2.0
# Little enough above what the linear predictor of least loss learns to be explained by it.
_LIKE_LINEAR = 0.1
# Baselines that are named, of those that were passed.
_MOST_PASSED = 2


class RungPassed(NamedTuple):
    """A reference predictor, and the first test whose loss was below its own, to stay there."""

    name: str
    step: int


class WhatHappened(NamedTuple):
    """A run up to one test.

    `passed` are the reference predictors that it left behind, in the order of their losses, of
    those that are more than two standard errors of the test above the floor.
    `learned` is the share of what can be learned, and `linear` that of the linear predictor of
    least loss; None where nothing can be. `at_floor`: the loss is within two standard errors of
    the floor.
    `informative` are the truly informative days, from 1.
    `attended` is the share of the attention of the row that predicts, in the mean over the heads
    of one layer, which falls on them; `own` is, for each of these days, the largest share that a
    single head gives it. Both are None without attention, which then has 0 `heads`.
    """

    step: int
    passed: tuple[RungPassed, ...]
    linear: float | None
    learned: float | None
    at_floor: bool
    informative: tuple[int, ...]
    attended: float | None
    own: tuple[float, ...] | None
    heads: int


@fixed_numerics()
def what_happened(
    tests: Sequence[tuple[int, Evaluation]],
    rungs: Sequence[Rung],
    *,
    vocab: int,
    informative: Bool[np.ndarray, " position"],
    row: Float[np.ndarray, "heads position"] | None,
) -> WhatHappened:
    """A run by its `tests` so far, the last of which is the one spoken of.

    `rungs` is the ladder of its process, from the uniform guess to the optimum; `row` the pattern
    of the query that predicts, by head.
    """
    step, now = tests[-1]
    floor: Best = rungs[-1].best
    # To be below a reference that this test cannot tell from the floor would mean nothing.
    least = floor.nll + _ERRORS * now.nll_stderr
    told_apart = [rung for rung in rungs[1:-1] if rung.best.nll > least]
    below = sorted(told_apart, key=lambda rung: -rung.best.nll)
    passed = [
        RungPassed(rung.name, _since(tests, rung.best.nll))
        for rung in below
        if now.nll < rung.best.nll
    ]
    share = learned_share(now, floor, vocab)
    linear = [learned_share(rung.best, floor, vocab) for rung in rungs if rung.name == "linear"]
    error = np.hypot(now.nll_stderr, floor.nll_stderr)
    positions = np.flatnonzero(informative)
    return WhatHappened(
        step=step,
        passed=tuple(passed),
        linear=linear[0].share if linear and linear[0] else None,
        learned=None if share is None else share.share,
        at_floor=bool(now.nll - floor.nll <= _ERRORS * error),
        informative=tuple(int(position) + 1 for position in positions),
        attended=None if row is None else float(row.mean(axis=0)[positions].sum()),
        own=None if row is None else tuple(float(share) for share in row[:, positions].max(axis=0)),
        heads=0 if row is None else len(row),
    )


def _since(tests: Sequence[tuple[int, Evaluation]], nll: float) -> int:
    """The first test from which on all losses were below `nll`."""
    first = tests[-1][0]
    for step, test in reversed(tests):
        if test.nll >= nll:
            break
        first = step
    return first


def in_words(happened: WhatHappened, model: AbstractModelOptions) -> str:
    """The sentence on a run of a model of that family."""
    parts = [*_passed(happened), *_attended(happened), *_missing(happened, model)]
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + ("." if text else "")


def _passed(happened: WhatHappened) -> Iterator[str]:
    if happened.step == 0:
        yield "not trained yet"
    elif happened.passed:
        yield "below " + ", ".join(
            f"{rung.name} since step {rung.step:,}" for rung in happened.passed[-_MOST_PASSED:]
        )
    elif happened.learned is not None:
        yield (
            "better than a uniform guess, but no better than any other baseline"
            if happened.learned > 0
            else ("worse than a uniform guess")
        )


def _attended(happened: WhatHappened) -> Iterator[str]:
    if happened.attended is None or not happened.informative or happened.own is None:
        return
    heads = ""
    if happened.heads > 1:
        shares = ", ".join(f"{share:.0%}" for share in happened.own)
        heads = f" (largest share of one head: {shares})"
    yield f"{happened.attended:.0%} of the attention is on {_days(happened)}{heads}"


def _missing(happened: WhatHappened, model: AbstractModelOptions) -> Iterator[str]:
    learned, linear = happened.learned, happened.linear
    if learned is None or linear is None or happened.step == 0:
        return
    if happened.at_floor:
        yield "the loss is within its error of the floor: no further gain can be measured"
    elif learned >= _LEARNED or happened.attended is None or not happened.informative:
        return
    elif happened.attended < _FOUND:
        yield f"what is missing: the rest of the attention is not on {_days(happened)}"
    elif isinstance(model, AttentionOptions) and learned < linear + _LIKE_LINEAR < _LEARNED:
        yield (
            f"yet {learned:.0%} is learned: the prediction is a weighted mean of what each day "
            f"says by itself (the linear predictor of least loss learns {linear:.0%}), and the "
            "days act jointly"
        )
    elif happened.heads < len(happened.informative):
        yield (
            f"yet {learned:.0%} is learned: {_heads(happened.heads)} of a layer "
            f"{'mixes' if happened.heads == 1 else 'mix'} the tokens of {_days(happened)}, so that "
            "which token stood on which day is partly lost"
        )
    else:
        yield (
            f"yet {learned:.0%} is learned: attention is on the right days, but how they "
            "determine the next is not fully learned"
        )


def _days(happened: WhatHappened) -> str:
    days = happened.informative
    return ("day " if len(days) == 1 else "days ") + ", ".join(map(str, days))


def _heads(heads: int) -> str:
    return "the one head" if heads == 1 else f"the {heads} heads"
