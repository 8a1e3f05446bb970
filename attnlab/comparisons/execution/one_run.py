"""A run carried out from beginning to end, and what came of it."""

import math
import time

import numpy as np

from attnlab.generators.interruption import check_in
from attnlab.inspection.targets import exact_match_of
from attnlab.runs.history import empty_history
from attnlab.runs.result import Result, result_of
from attnlab.runs.storage import Run
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.limits import steps_at_once
from attnlab.training.loop import Look, NotFiniteError, Progress, Schedule, divergence, look_at, run

_TESTS = 24


def sparse_schedule(steps: int) -> Schedule:
    """About 24 tests, log-spaced, from step 0 to the last, after which alone the model is kept."""
    spaced = np.rint(np.geomspace(1, steps, min(_TESTS - 1, steps))).astype(int).tolist()
    return Schedule(tests=tuple(sorted({0, *spaced, steps})), checkpoints=(steps,))


def carry_out(experiment: Experiment) -> Result:
    """Train to the last step, with the tests of the `sparse_schedule` on the way.

    The result of a run that diverges has the state "failed" and its reason; where a number is not
    finite, it has the last good weights. Its seconds begin with the first step, when all is
    compiled but the steps themselves.
    """
    setup, plan = prepare(experiment), sparse_schedule(experiment.training.steps)
    state, history, evaluation = setup.state, empty_history(), None
    began = time.perf_counter()
    # A stop is obeyed between two chunks.
    chunk = steps_at_once(experiment)
    try:
        for event in run(experiment, setup=setup, chunk=chunk, plan=plan):
            check_in()
            history = history.after(event)
            if isinstance(event, Progress):
                state = event.state
            elif isinstance(event, Look):
                evaluation = event.evaluation
                if event.step == 0:
                    began = time.perf_counter()
    except NotFiniteError as error:
        seconds = time.perf_counter() - began
        state, history = error.state, history.until(int(error.state.step))
        look = look_at(state, setup, experiment.training, plan)
        evaluation = look.evaluation if math.isfinite(look.evaluation.nll) else None
        kept = Run(experiment, state, history)
        return result_of(kept, "failed", evaluation, seconds, reason=str(error))
    seconds = time.perf_counter() - began
    check_in()
    kept = Run(experiment, state, history)
    if reason := divergence(experiment, setup, state, evaluation):
        return result_of(kept, "failed", evaluation, seconds, reason=reason)
    exact = exact_match_of(experiment.generator, state.model, setup.test)
    return result_of(kept, "done", evaluation, seconds, exact_match=exact)
