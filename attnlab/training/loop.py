"""A run from the first step to the last, as an iterator of events."""

import bisect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Int

from attnlab.configuration.options import AttnlabError
from attnlab.generators import loss_mask_of
from attnlab.models import AbstractModel
from attnlab.training.changes import Change, after_change
from attnlab.training.evaluation import Evaluation, evaluate
from attnlab.training.experiment import Experiment, Setup, prepare
from attnlab.training.law import evaluate_law
from attnlab.training.sources import AbstractSource, FullSource, MinibatchSource
from attnlab.training.steps import CHUNK_CAPACITY, Losses, Training, TrainState, advance, is_finite

_CHECKPOINTS = 64
_EVEN_TESTS = 64


class EvaluationPlan(NamedTuple):
    """Steps at which a run is evaluated, in order; at some of them the model is kept."""

    tests: tuple[int, ...]
    checkpoints: tuple[int, ...]

    def next_after(self, step: int) -> int:
        """Return the first planned step after `step`, or the last planned one if there is none."""
        return self.tests[min(bisect.bisect_right(self.tests, step), len(self.tests) - 1)]


# For runs that only need their steps.
NO_TESTS = EvaluationPlan((), ())


def evaluation_plan(steps: int) -> EvaluationPlan:
    """Return at most 64 log-spaced checkpoints from step 0 to the last, and tests in between."""
    spaced = np.geomspace(1, steps, min(_CHECKPOINTS - 1, steps))
    checkpoints = {0, *np.round(spaced).astype(int).tolist()}
    even = np.round(np.linspace(0, steps, _EVEN_TESTS)).astype(int).tolist()
    return EvaluationPlan(
        tests=tuple(sorted(checkpoints.union(even))), checkpoints=tuple(sorted(checkpoints))
    )


# What the reasons of all runs that diverged say.
LOWER_RATE = "The likely remedy: lower `learning_rate`"


class Progress(NamedTuple):
    """After a chunk of training: the state reached, and the losses of the chunk's steps."""

    state: TrainState
    losses: Losses


class EvaluationEvent(NamedTuple):
    """A model and its test results after `step` steps.

    An evaluation that is not a `test` of the plan was requested between them. At a `checkpoint` the
    model is to be kept. The model is None if only the results were kept.
    """

    step: int
    evaluation: Evaluation
    model: AbstractModel | None
    test: bool = False
    checkpoint: bool = False


Event = Progress | EvaluationEvent | Change


class NotFiniteError(AttnlabError, ValueError):
    """A loss or a weight is not a finite number; `state` is the last good one."""

    def __init__(self, step: int, state: TrainState, training: Training):
        self.state = state
        super().__init__(
            f"The loss is not a finite number at step {step:,}; the weights of step "
            f"{int(state.step):,} are kept. {_remedy(training)}"
        )


def _remedy(training: Training) -> str:
    return f"{LOWER_RATE}, which is {training.learning_rate:g}, then reset."


def divergence(experiment: Experiment, setup: Setup, state: TrainState, test: Evaluation) -> str:
    """Return why a run counts as failed at its last step, or "" if it does not.

    A run has diverged if its loss exceeds that of its initial weights, and exceeds twice that of a
    uniform guess by more than two standard errors, both on the `test` sequences and on its training
    sequences. A model that has memorised its training set is bad only on the test sequences, and
    has not diverged.
    """
    training, uniform = experiment.training, math.log(experiment.generator.vocabulary.size)

    def is_far(found: Evaluation) -> bool:
        return found.nll - 2 * found.nll_stderr > 2 * uniform

    def tested(model: AbstractModel, sequences: Int[Array, "size positions"]) -> Evaluation:
        loss_mask = loss_mask_of(experiment.generator, sequences)
        return evaluate(model, sequences, readout=training.readout, loss_mask=loss_mask)

    if not is_far(test) or test.nll <= tested(setup.state.model, setup.test).nll:
        return ""
    if isinstance(setup.source, MinibatchSource | FullSource):
        trained_on = setup.source.sequences[: training.test_size]
        if not is_far(tested(state.model, trained_on)):
            return ""
    return (
        f"The run diverged: its loss ended at {test.nll:,.3f} nats, and that of a uniform guess is "
        f"{uniform:.3f}. {_remedy(training)}"
    )


class _Moment(NamedTuple):
    """The start of a chunk, and everything that determines it."""

    state: TrainState
    source: AbstractSource
    training: Training


def run(
    experiment: Experiment,
    state: TrainState | None = None,
    *,
    setup: Setup | None = None,
    chunk: int | Callable[[], int] = 100,
    changes: Sequence[Change] = (),
    plan: EvaluationPlan | None = None,
) -> Iterator[Event]:
    """Train, yielding an event for every chunk, evaluation and change of settings.

    Without a `state` it starts with the initial weights; with one it resumes, and yields what comes
    after it. A chunk has at most `chunk` steps, or as many as that returns when called before each;
    0 requests an evaluation instead. Evaluations follow `plan`, by default `evaluation_plan` of its
    steps. Each of the `changes` is made after its step, as on a paused run.

    Raises `NotFiniteError`, with the weights of the step before, as soon as a loss, a weight or the
    loss of an evaluation is not finite. Everything after that state is void.

    >>> from attnlab import Experiment, Training, run
    >>> experiment = Experiment(training=Training(steps=3, train_size=100, test_size=100))
    >>> [type(event).__name__ for event in run(experiment)][:4]
    ['EvaluationEvent', 'Progress', 'EvaluationEvent', 'Progress']
    """
    setup = prepare(experiment) if setup is None else setup
    next_chunk = chunk if callable(chunk) else lambda: chunk
    now = _Moment(setup.state if state is None else state, setup.source, experiment.training)
    before, step = now, int(now.state.step)
    planned = evaluation_plan(now.training.steps) if plan is None else plan
    if step == 0 and 0 in planned.tests:
        yield _evaluation_event(before, now, setup, planned)
    for change in (*changes, None):
        end = now.training.steps if change is None else change.step
        while step < end:
            due = planned.next_after(step) if planned.tests else end
            due = min(due, end) if due > step else end
            steps = min(next_chunk(), due - step, CHUNK_CAPACITY)
            if steps > 0:
                reached, losses = _advance(now, setup, steps)
                bad = _first_bad(reached, losses)
                if bad is not None:
                    kept = _state_before(step + bad, before, now, setup)
                    if bad > 1:
                        yield Progress(kept, Losses(*(series[: bad - 1] for series in losses)))
                    raise NotFiniteError(step + bad, kept, now.training)
                before, now = now, now._replace(state=reached)
                step += steps
                yield Progress(reached, losses)
            if steps <= 0 or step in planned.tests:
                yield _evaluation_event(before, now, setup, planned)
        if change is not None:
            training = after_change(now.training, change)
            now = _Moment(now.state, now.source.with_batch(training.batch), training)
            planned = evaluation_plan(training.steps) if plan is None else plan
            yield change


def train(
    experiment: Experiment, setup: Setup, *, chunk: int = 100, changes: Sequence[Change] = ()
) -> Iterator[Progress]:
    """Yield the chunks of `run` only, without evaluations between them.

    >>> from attnlab import Experiment, Training, evaluate, prepare, train
    >>> experiment = Experiment(training=Training(steps=200))
    >>> setup = prepare(experiment)
    >>> for progress in train(experiment, setup):
    ...     pass
    >>> evaluate(progress.state.model, setup.test, readout="last").accuracy > 0.45
    True
    """
    for event in run(experiment, setup=setup, chunk=chunk, changes=changes, plan=NO_TESTS):
        if isinstance(event, Progress):
            yield event


def _advance(moment: _Moment, setup: Setup, steps: int) -> tuple[TrainState, Losses]:
    return advance(moment.state, moment.source, moment.training, key=setup.key, steps=steps)


def evaluate_state(
    state: TrainState, setup: Setup, training: Training, plan: EvaluationPlan
) -> EvaluationEvent:
    """Evaluate a state. The loss may overflow even if all weights are finite."""
    step, by_position = int(state.step), training.loss == "next"
    evaluation = evaluate_setup(state.model, setup, by_position=by_position)
    return EvaluationEvent(
        step, evaluation, state.model, step in plan.tests, step in plan.checkpoints
    )


def evaluate_setup(model: AbstractModel, setup: Setup, *, by_position: bool = False) -> Evaluation:
    """Evaluate a model on the test set or, if it is trained on the law, exactly."""
    readout = setup.experiment.training.readout
    if setup.law is not None:
        return evaluate_law(model, setup.law, readout=readout, by_position=by_position)
    return evaluate(
        model,
        setup.test,
        readout=readout,
        loss_mask=setup.loss_mask,
        exact=setup.exact,
        by_position=by_position,
        blocks=setup.blocks,
    )


def _evaluation_event(
    before: _Moment, now: _Moment, setup: Setup, plan: EvaluationPlan
) -> EvaluationEvent:
    event = evaluate_state(now.state, setup, now.training, plan)
    if not np.isfinite(event.evaluation.nll):
        kept = _state_before(event.step, before, now, setup)
        raise NotFiniteError(event.step, kept, now.training)
    return event


def _state_before(bad: int, before: _Moment, now: _Moment, setup: Setup) -> TrainState:
    """Return the state one step before `bad`, computed again, or the nearest known one."""
    start = now if int(now.state.step) < bad else before
    steps = max(0, bad - 1 - int(start.state.step))
    return _advance(start, setup, steps)[0] if steps else start.state


def _first_bad(state: TrainState, losses: Losses) -> int | None:
    """Return after how many steps of the chunk something was not finite, if anything was."""
    finite = np.isfinite(losses.nll) & np.isfinite(losses.objective)
    if not finite.all():
        return int(np.argmin(finite))
    return None if is_finite(state.model) else len(finite)
