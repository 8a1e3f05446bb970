"""What a run achieved: which baselines it beats, what it attends to, and what is missing."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from attnlab.configuration.number_text import show_percent, show_positions
from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import predicted_count
from attnlab.generators.display import OF_LAW, OF_REFERENCE
from attnlab.models import AbstractModelOptions, AttentionOptions, Trace, TransformerOptions
from attnlab.optimum import Baseline, Best
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.shares import above_floor, is_at_floor, learned_share

# Shares above which a model has found the positions that matter, and has learned the process.
_FOUND, LEARNED = 0.8, 0.95
# A share of attention this little above that of uniform attention says nothing.
_LIKE_EVEN = 0.05
# Two losses differ if they are this many standard errors apart.
_ERRORS = 2.0
# A model that learns less than this share more than the best linear predictor counts as linear.
_LIKE_LINEAR = 0.1
# A loss is still falling if it fell by this share of what can be learned in the last third.
_STILL_FALLING = 0.03
# A loss that rose to this many times the initial one, or that of a uniform guess, exploded.
_SHOT_UP = 1.2
# The training loss is the mean over this share of the steps, and over at least 50 steps.
_RECENT, _FEWEST_STEPS = 0.1, 50
# The most baselines in a sentence, and the most positions for which single heads are listed.
_MOST_PASSED, _MOST_POSITIONS = 2, 4

# Problems that the losses of a run show.
DIVERGES, OVERFITS, STILL_FALLING = "diverges", "overfits", "still falling"


class BaselinePassed(NamedTuple):
    """A baseline, and the step of the first test from which on every loss was below it."""

    name: str
    step: int


class WhatHappened(NamedTuple):
    """The results of a run up to one test.

    `passed` are the baselines that the run beats by two standard errors, the easiest first.
    `against_guess` compares the loss with a uniform guess: "better", "worse", or "like it" within
    two errors. `against_others` compares it with the easiest other baseline. If `too_small`, the
    test can distinguish the loss neither from that baseline nor from the floor. `learned` is
    the share of what can be learned, and `linear` the share that the best linear predictor
    learns; None if nothing can be learned. `at_floor` is the result of `is_at_floor`, and
    `below_floor` whether the loss is measurably lower. Only without `has_law` it can be: the floor
    is then that of the best reference predictor.
    `problem` is `DIVERGES`, `OVERFITS`, `STILL_FALLING` or "". `informative` are the positions
    that the prediction truly depends on, from 1. `attended` is the share of attention on these
    positions, in the row that predicts, averaged over the heads of one layer; uniform attention
    would have the share `even` there. `best_heads` are, for each of these positions, the head
    that gives it the largest share,
    from 1, and that share. `attended` and `best_heads` are None without attention, and if every
    position is informative. `layer` is the number of that layer, from 1, or None if there is only
    one.
    """

    step: int
    passed: tuple[BaselinePassed, ...]
    against_guess: str
    against_others: str
    too_small: bool
    linear: float | None
    learned: float | None
    below_linear: bool
    at_floor: bool
    problem: str
    informative: tuple[int, ...]
    even: float
    attended: float | None
    best_heads: tuple[tuple[int, float], ...] | None
    layer: int | None
    below_floor: bool = False
    has_law: bool = True


@fixed_numerics()
def what_happened(
    tests: Sequence[tuple[int, Evaluation]],
    baselines: Sequence[Baseline],
    *,
    vocab: int,
    informative: Bool[np.ndarray, " position"],
    row: Float[np.ndarray, "heads position"] | None,
    layer: int | None = None,
    tokens: int = 10_000,
    losses: Sequence[float] | Float[np.ndarray, " steps"] = (),
    last_step: int | None = None,
) -> WhatHappened:
    """Describe a run by its `tests` so far, the last of which is the current one.

    Args:
        tests: Steps and their tests, in order.
        baselines: The baselines of the process, from the uniform guess to the optimum.
        vocab: Size of the vocabulary.
        informative: The positions that the prediction truly depends on.
        row: The pattern of the query that predicts, by head.
        layer: The number of the layer of `row`, from 1, if the model has several.
        tokens: Number of tokens that a test predicts.
        losses: The training loss of every step so far.
        last_step: The planned last step of the run.
    """
    step, now = tests[-1]
    # Squares of the losses of a diverged run exceed single precision.
    spent = np.asarray(losses, np.float64)[:step]
    floor, others = baselines[-1].best, sorted(baselines[1:-1], key=lambda each: -each.best.nll)
    share = learned_share(now, floor, vocab)
    linear = next((each.best for each in baselines if each.name == "linear"), None)
    of_linear = None if linear is None else learned_share(linear, floor, vocab)
    positions = np.flatnonzero(informative)
    if row is not None and positions.size == informative.size:
        row = None
    easiest = others[0].best if others else floor
    return WhatHappened(
        step=step,
        passed=tuple(
            BaselinePassed(baseline.name, _since(tests, baseline.best, floor))
            for baseline in others
            if _compared(now, baseline.best, floor) == "better"
        ),
        against_guess=_compared(now, baselines[0].best, floor),
        against_others=_compared(now, easiest, floor),
        too_small=_compared(now, easiest, floor) == _compared(now, floor, floor) == "like it",
        linear=None if of_linear is None else of_linear.share,
        learned=None if share is None else share.share,
        below_linear=linear is not None and _compared(now, linear, floor) == "worse",
        at_floor=is_at_floor(now, floor, tokens),
        below_floor=_compared(now, floor, floor) == "better",
        problem=_problem(tests, spent, floor, vocab, ended=step == last_step),
        informative=tuple(int(position) + 1 for position in positions),
        even=positions.size / informative.size,
        # Sums of float32 shares miss 1 by their rounding.
        attended=None if row is None else round(float(row.mean(axis=0)[positions].sum()), 5),
        best_heads=None
        if row is None
        else tuple((int(shares.argmax()) + 1, float(shares.max())) for shares in row.T[positions]),
        layer=layer,
    )


def happened_in(
    experiment: Experiment,
    tests: Sequence[tuple[int, Evaluation]],
    baselines: Sequence[Baseline],
    *,
    informative: Bool[np.ndarray, " position"],
    trace: Trace,
    losses: Sequence[float] | Float[np.ndarray, " steps"],
) -> WhatHappened:
    """Describe a run of an experiment, as `what_happened` does.

    `trace` is that of the current model, on one sequence or the mean over several. Attention is
    read from its last map.
    """
    process, training = experiment.generator, experiment.training
    # With several predicting queries there is no single row.
    has_row = bool(trace.attention) and not process.has_loss_mask()
    happened = what_happened(
        tests,
        baselines,
        vocab=process.vocabulary.size,
        informative=informative,
        row=trace.attention[-1].pattern[:, experiment.read_position] if has_row else None,
        layer=trace.attention[-1].layer + 1 if len(trace.attention) > 1 else None,
        tokens=training.test_size * predicted_count(process, experiment.length),
        losses=losses,
        last_step=training.steps,
    )
    # Fresh sequences of a law, or all of them, cannot be memorised: their loss is below the floor
    # by chance.
    is_chance = happened.problem == OVERFITS and training.data != "fixed" and process.has_law
    problem = "" if is_chance else happened.problem
    return happened._replace(problem=problem, has_law=process.has_law)


def _compared(test: Evaluation, other: Best, floor: Best) -> str:
    """Compare two losses: "better" or "worse" by two standard errors, otherwise "like it"."""
    above = above_floor(test, floor)
    error = _ERRORS * np.hypot(above.stderr, other.nll_stderr)
    difference = above.nll - (other.nll - floor.nll)
    return "better" if difference < -error else "worse" if difference > error else "like it"


def _since(tests: Sequence[tuple[int, Evaluation]], other: Best, floor: Best) -> int:
    """Return the step of the first test from which on every loss was better than `other`."""
    first = tests[-1][0]
    for step, test in reversed(tests):
        if _compared(test, other, floor) != "better":
            break
        first = step
    return first


def _problem(
    tests: Sequence[tuple[int, Evaluation]],
    losses: Float[np.ndarray, " steps"],
    floor: Best,
    vocab: int,
    *,
    ended: bool,
) -> str:
    """Return the problem that the losses show, or ""."""
    (_, first), (step, now) = tests[0], tests[-1]
    uniform, peak = np.log(vocab), max(test.nll for _, test in tests)
    if step and losses.size:
        recent = losses[-max(_FEWEST_STEPS, int(_RECENT * losses.size)) :]
        training = recent.mean()
        error = _ERRORS * recent.std(ddof=1) / np.sqrt(recent.size) if recent.size > 1 else np.inf
        # Small steps would never have raised the loss; a poor start alone is not divergence.
        shot_up = peak > _SHOT_UP * max(uniform, first.nll)
        if shot_up and now.nll > uniform and training - error > uniform:
            return DIVERGES
        if training + error < floor.nll and _compared(now, floor, floor) == "worse":
            return OVERFITS
    earlier = [test for before, test in tests if before <= 2 * step / 3]
    if ended and earlier and now.nll < uniform:
        then, at_end = above_floor(earlier[-1], floor), above_floor(now, floor)
        fallen = then.nll - at_end.nll
        error = _ERRORS * np.hypot(then.stderr, at_end.stderr)
        if fallen > max(error, _STILL_FALLING * (uniform - floor.nll)):
            return STILL_FALLING
    return ""


def in_words(
    happened: WhatHappened,
    model: AbstractModelOptions,
    *,
    learning_rate: float | None = None,
    word: str = "day",
    remedy: str = "",
    has_hints: bool = True,
) -> str:
    """Describe a run in a few sentences.

    Args:
        happened: What the run has reached.
        model: The options of its model.
        learning_rate: Named in the advice to lower it, if known.
        word: The process's noun for a position.
        remedy: Advice that replaces the sentences about attention and about what is missing.
        has_hints: Whether to say what is missing in a run that has not reached the floor.
    """
    passed = _passed(happened)
    if remedy:
        return " ".join([*passed, remedy])
    is_said = has_hints or happened.at_floor
    missing = _missing(happened, model, learning_rate, word) if is_said else ()
    found = [*_attended(happened, word), *missing]
    # What the model found is the message, unless it has learned nothing.
    return " ".join([*found, *passed] if happened.passed else [*passed, *found])


def _passed(happened: WhatHappened) -> Iterator[str]:
    if happened.step == 0:
        yield "Not trained yet."
    elif happened.passed:
        # Among several that were beaten at once, naming the hardest is enough.
        by_step = {each.step: _baseline(each.name, happened) for each in happened.passed}
        beaten = [f"{name} from step {step:,}" for step, name in by_step.items()]
        yield f"The model beats {' and '.join(beaten[-_MOST_PASSED:])}."
    elif happened.against_guess == "worse":
        yield "Worse than a uniform guess."
    elif happened.against_guess == "like it":
        yield (
            "This test is too small to distinguish the model from a uniform guess or the "
            f"{(OF_LAW if happened.has_law else OF_REFERENCE).floor}."
            if happened.too_small
            else "No better than a uniform guess, within the error of the test."
        )
    elif happened.too_small:
        yield (
            "Better than a uniform guess; the test is too small to distinguish it from any "
            "baseline."
        )
    elif happened.against_others == "worse":
        yield "Better than a uniform guess, but worse than every other baseline."
    else:
        yield "Better than a uniform guess, but not measurably better than any other baseline."


def _baseline(name: str, happened: WhatHappened) -> str:
    if name.startswith("order-") and happened.has_law:
        return f"the best {name} predictor"
    plain = {"unigram": "guessing by token frequency", "linear": "the best linear predictor"}
    return plain.get(name, f"the predictor “{name}”")


def _attended(happened: WhatHappened, word: str) -> Iterator[str]:
    if happened.attended is None or happened.best_heads is None or not happened.informative:
        return
    where = "" if happened.layer is None else f" of layer {happened.layer}"
    informative = happened.informative
    these = show_positions(informative, word)
    if _is_like_even(happened):
        here = happened.attended / len(informative)
        there = (1 - happened.attended) / (len(informative) / happened.even - len(informative))
        here, there = show_percent(here), show_percent(there)
        is_higher = happened.attended > happened.even and here != there
        how, shares = (
            ("hardly", f": {here} against {there} per {word}") if is_higher else ("no", "")
        )
        yield f"Attention{where} is {how} higher on {these} than on the others{shares}."
    else:
        share = "> 99 %" if 0.99 < happened.attended < 1 else show_percent(happened.attended)
        yield f"{share} of the attention{where} is on {these}."
    largest = max(share for _, share in happened.best_heads)
    if len(informative) <= _MOST_POSITIONS and largest > happened.attended + 0.005:
        reads = [
            f"{head} reads {show_positions([position], word)} ({show_percent(share)})"
            for position, (head, share) in zip(informative, happened.best_heads, strict=True)
        ]
        yield f"Head {', head '.join(reads)}."


def _missing(
    happened: WhatHappened, model: AbstractModelOptions, learning_rate: float | None, word: str
) -> Iterator[str]:
    learned, linear, informative = happened.learned, happened.linear, happened.informative
    if learned is None or happened.step == 0:
        return
    if happened.problem == DIVERGES:
        rate = "" if learning_rate is None else f", which is {learning_rate:g}"
        yield f"Training makes the loss worse: lower the `learning_rate`{rate}."
    elif happened.at_floor:
        # Without a passed baseline, `_passed` has already said that the test is too small.
        if happened.passed and happened.has_law:
            yield "As good as possible, within the error of this test."
        elif happened.passed and happened.below_floor:
            yield "It is better than the best reference, on the held-out blocks."
        elif happened.passed:
            yield "As good as the best reference, within its error."
    elif happened.problem == OVERFITS:
        below, remedy = (
            ("below the floor", "More or fresh data would help.")
            if happened.has_law
            else ("below the best reference", "A longer text or a smaller model would help.")
        )
        yield f"The training loss is {below}: the model memorises its training sequences. {remedy}"
    elif learned >= LEARNED:
        return
    elif happened.problem == STILL_FALLING:
        yield "The loss was still falling at the end: try more `steps`."
    elif linear is not None and informative and adds_up(model) and is_like_linear(happened):
        yield (
            f"The best linear predictor learns {show_percent(linear)}. To learn more, a model "
            f"must combine {word}s, for example in an MLP, which this one lacks."
        )
    elif happened.attended is None or not informative:
        return
    elif happened.attended >= _FOUND and not _is_like_even(happened):
        yield f"It attends to the right {word}s, but does not yet combine them as well as possible."
    elif happened.below_linear:
        yield f"Missing: more attention on these {word}s."


def _is_like_even(happened: WhatHappened) -> bool:
    return happened.attended is not None and happened.attended < happened.even + _LIKE_EVEN


def is_like_linear(happened: WhatHappened) -> bool:
    """Return whether the run learned little more than the best linear predictor, which falls short.

    A run that learned less than that predictor counts, too.
    """
    learned, linear = happened.learned, happened.linear
    if learned is None or linear is None:
        return False
    return learned < linear + _LIKE_LINEAR < LEARNED


def adds_up(model: AbstractModelOptions) -> bool:
    """Return whether the model only adds up the values of a single layer of heads."""
    if isinstance(model, TransformerOptions):
        return model.layers == 1 and model.mlp_width == 0
    return isinstance(model, AttentionOptions)
