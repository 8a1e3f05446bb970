"""Many runs, each computed once: here, in other processes, or on other machines."""

import collections
import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from attnlab.comparisons.processes import Processes, WorkersError
from attnlab.comparisons.recording import (
    NOTHING,
    Metric,
    MetricPath,
    Recording,
    in_words,
    measure,
    metrics_at,
    paths_of,
    series_of,
)
from attnlab.configuration.cancellation import Stopped, check_in
from attnlab.configuration.options import AttnlabError, OptionError, default_of, present
from attnlab.configuration.records import check_registered
from attnlab.inspection.targets import exact_match_of
from attnlab.registering import added_classes, register_by_path
from attnlab.runs.history import empty_history
from attnlab.runs.library import Library, LibraryError
from attnlab.runs.run import Run
from attnlab.runs.run_summary import RunSummary, summary_of
from attnlab.runs.storage import RunFileError, from_bytes, to_bytes
from attnlab.training.experiment import Experiment, from_json, prepare, to_json
from attnlab.training.limits import OPEN, Limits, check_limits, steps_at_once
from attnlab.training.loop import (
    EvaluationEvent,
    NotFiniteError,
    Progress,
    divergence,
    evaluate_state,
    run,
)
from attnlab.training.steps import Training


def carry_out(experiment: Experiment, recording: Recording = NOTHING) -> RunSummary:
    """Train to the last step, with the tests and metrics of the recording.

    The result of a run that diverges has the state "failed" and a reason; if a number is not
    finite, it has the last good weights. Its `seconds` are counted from the first step, when
    everything but the training step is compiled.

    Raises:
        AttnlabError: If a metric fails or is not a finite number.
        OptionError: If the recording has more checkpoints than a run file can hold.
    """
    setup = prepare(experiment)
    plan = recording.plan(setup.state.model, experiment.training.steps)
    measured_at = recording.measured_at(plan)
    state, history, evaluation, measured = setup.state, empty_history(), None, {}
    began = time.perf_counter()
    # Steps between two checks for a stop.
    chunk = steps_at_once(experiment)
    try:
        for event in run(experiment, setup=setup, chunk=chunk, plan=plan):
            check_in()
            history = history.after(event)
            if isinstance(event, Progress):
                state = event.state
            elif isinstance(event, EvaluationEvent):
                evaluation = event.evaluation
                if (step := event.step) in measured_at:
                    measured[step] = measure(recording.metrics, present(event.model), setup, step)
                if step == 0:
                    began = time.perf_counter()
    except NotFiniteError as error:
        seconds, metrics = time.perf_counter() - began, series_of(measured)
        state, history = error.state, history.until(int(error.state.step))
        last = evaluate_state(state, setup, experiment.training, plan)
        evaluation = last.evaluation if math.isfinite(last.evaluation.nll) else None
        kept = Run(experiment, state, history)
        return summary_of(kept, "failed", evaluation, seconds, reason=str(error), metrics=metrics)
    seconds = time.perf_counter() - began
    check_in()
    kept, metrics = Run(experiment, state, history), series_of(measured)
    if reason := divergence(experiment, setup, state, present(evaluation)):
        return summary_of(kept, "failed", evaluation, seconds, reason=reason, metrics=metrics)
    exact = exact_match_of(experiment.generator, state.model, setup.test)
    return summary_of(kept, "done", evaluation, seconds, exact_match=exact, metrics=metrics)


def shared_program(experiment: Experiment) -> Experiment:
    """Return a key that is equal for experiments that can share a compiled program."""
    rate = default_of(Training, "learning_rate")
    training = dataclasses.replace(experiment.training, learning_rate=rate)
    return dataclasses.replace(experiment, training=training, seed=default_of(Experiment, "seed"))


def by_program(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Return the experiments ordered by program, so that a process compiles each once."""
    groups: dict[Experiment, list[Experiment]] = {}
    for experiment in experiments:
        groups.setdefault(shared_program(experiment), []).append(experiment)
    return [experiment for group in groups.values() for experiment in group]


# The part of a result that a worker returns, besides the bytes of its run.
_SENT = ("state", "evaluation", "seconds", "reason", "exact_match", "metrics")
Answer = tuple[bytes, dict[str, Any]]


def carry_out_text(
    text: str,
    added: Sequence[tuple[str, str]] = (),
    metrics: Mapping[str, MetricPath] = MappingProxyType({}),
    checkpoints: Sequence[int] | None = None,
) -> Answer:
    """Like `carry_out`, but take an experiment as JSON. Called in worker processes.

    Args:
        text: The experiment.
        added: Module and name of user-defined classes in it, which are registered here.
        metrics: The path of every metric.
        checkpoints: As in `Recording`.
    """
    register_by_path(added)
    result = carry_out(from_json(text), Recording(metrics_at(metrics), checkpoints))
    return to_bytes(present(result.run)), {name: getattr(result, name) for name in _SENT}


def result_from(answer: Answer) -> RunSummary:
    """Return the result that a worker sent."""
    run, rest = answer
    return summary_of(from_bytes(run), **rest)


# For an executor with an unknown number of workers: enough for a cluster, few enough to keep its
# scheduler's queue small.
_MOST_SUBMITTED = 1_000


def run_all(
    experiments: Sequence[Experiment],
    executor: Executor | None = None,
    *,
    library: Library | None = None,
    again: bool = False,
    any_version: bool = False,
    limits: Limits = OPEN,
    metrics: Mapping[str, Metric] = MappingProxyType({}),
    checkpoints: Sequence[int] | None = None,
) -> Iterator[RunSummary]:
    """Yield the result of every experiment when it is ready, one result for equal experiments.

    A finished run in `library` is returned from there if the same versions of attnlab and JAX made
    it, or any versions with `any_version`; with `again` all runs are trained. Every new run is
    stored in the library before it is yielded, so that the same call resumes an interrupted one.
    Without an `executor` all runs are computed in this process. The workers of an executor, such as
    `Processes(2)` or a Dask client's, need attnlab; experiments are sent as JSON and runs as bytes.
    Runs of one program follow each other, so that a process compiles it once.

    `metrics` are functions of a model and its setup, `prepare(experiment)`, that return a finite
    number, or None where it is not defined. `result.metrics[name]` has pairs of step and value at
    every test or, with `checkpoints`, at these steps and the last one. The models of these steps
    are then in `result.run.history.checkpoints`, and so in run files and on pages. A run in the
    library is measured instead of trained if it has a model of every step to measure. Workers
    import metrics by module and name: define them at the top level of a module or script.

    Runs that diverge, are rejected by `limits`, lose their worker or have a failing metric become
    results with a `reason`. A run whose worker process was killed is tried once more, alone.
    Closing the iterator cancels what has not started.

    Raises:
        OptionError: Immediately, if a class is not registered and there is an executor or a
            library, if `metrics` or `checkpoints` are invalid, or if workers cannot import a
            metric.
        WorkersError: Before any run, if the processes of `Processes` cannot start.
        LibraryError: After the last result, if some could not be kept.

    >>> import jax
    >>> from attnlab import Training
    >>> small = Training(steps=5, train_size=100, test_size=100)
    >>> found = run_all([Experiment(training=small, seed=seed) for seed in (0, 1, 0)])
    >>> [(result.state, result.steps) for result in found]
    [('done', 5), ('done', 5)]
    >>> def largest(model, setup):
    ...     return max(abs(weight).max() for weight in jax.tree.leaves(model))
    >>> (result,) = run_all([Experiment(training=small)], metrics={"largest": largest})
    >>> [step for step, value in result.metrics["largest"]]
    [0, 1, 2, 3, 5]
    """
    unique, recording = dict.fromkeys(experiments), Recording(metrics, checkpoints)
    if executor is not None:
        paths_of(metrics)
    if executor is not None or library is not None:
        for experiment in unique:
            check_registered(experiment)

    def find(experiment: Experiment) -> RunSummary | None:
        if library is None or again:
            return None
        return library.find(experiment, any_version=any_version, diverged=True)

    return _run_all(unique, find, executor, library, limits, recording)


def _run_all(
    experiments: Iterable[Experiment],
    find: Callable[[Experiment], RunSummary | None],
    executor: Executor | None,
    library: Library | None,
    limits: Limits,
    recording: Recording,
) -> Iterator[RunSummary]:
    missing = []
    for experiment in experiments:
        found = find(experiment)
        kept = None if found is None else with_metrics(found, present(library), recording)
        if (result := kept or _refused(experiment, limits)) is not None:
            yield result
        else:
            missing.append(experiment)
    ordered = by_program(missing)
    computed = (
        _here(ordered, recording) if executor is None else _elsewhere(ordered, executor, recording)
    )
    problem: LibraryError | None = None
    for result in computed:
        # A run that never started has nothing to keep, and is tried again the next time.
        if library is not None and result.run is not None:
            try:
                library.keep(result)
            except LibraryError as error:
                problem = problem or error
        yield result
    if problem is not None:
        raise problem


def with_metrics(result: RunSummary, library: Library, recording: Recording) -> RunSummary | None:
    """Return a run of the library with its missing metrics, or None if models are missing."""
    experiment = result.experiment
    lacks_match = result.exact_match is None and experiment.generator.writes_target
    several = experiment.training.loss == "next" or experiment.generator.has_loss_mask()
    if result.state != "done" or (recording == NOTHING and not (lacks_match or several)):
        return result
    run = None
    # A file that is missing or damaged is reported when the run is opened.
    with suppress(RunFileError):
        run = library.run_of(result.number)
    if run is None:
        return result if recording == NOTHING else None
    if several and result.steps in (tests := dict(run.history.tests)):
        test, of = present(result.evaluation), tests[result.steps].by_position
        result = dataclasses.replace(result, evaluation=test._replace(by_position=of))
    if recording == NOTHING and not lacks_match:
        return result
    setup = prepare(experiment)
    if lacks_match:
        exact = exact_match_of(experiment.generator, run.state.model, setup.test)
        result = dataclasses.replace(result, exact_match=exact)
    if recording == NOTHING:
        return result
    models = {**dict(run.history.checkpoints), result.steps: run.state.model}
    steps = recording.measured_at(recording.plan(run.state.model, result.steps))
    if not models.keys() >= set(steps):
        return None
    try:
        measured = {step: measure(recording.metrics, models[step], setup, step) for step in steps}
    except AttnlabError as error:
        return RunSummary(experiment, "failed", reason=str(error))
    return dataclasses.replace(result, run=run, metrics=series_of(measured))


def _refused(experiment: Experiment, limits: Limits) -> RunSummary | None:
    try:
        check_limits(experiment, limits)
    except OptionError as error:
        return RunSummary(experiment, "refused", reason=str(error))
    return None


def _here(experiments: Sequence[Experiment], recording: Recording) -> Iterator[RunSummary]:
    for experiment in experiments:
        try:
            result = carry_out(experiment, recording)
        except Stopped:
            raise
        # For example, not enough memory; any error becomes a row with its reason.
        except Exception as error:
            state, reason = _why_lost(error, None)
            result = RunSummary(experiment, state, reason=reason)
        yield result


def _elsewhere(
    experiments: Sequence[Experiment], executor: Executor, recording: Recording
) -> Iterator[RunSummary]:
    most = executor.workers if isinstance(executor, Processes) else _MOST_SUBMITTED
    waiting = collections.deque(experiments)
    # Lost together with a worker. Running each alone shows which one killed it.
    suspects: collections.deque[Experiment] = collections.deque()
    running: dict[Future, Experiment] = {}
    try:
        while waiting or suspects or running:
            alone = bool(suspects) and not running
            if alone:
                suspect = suspects.popleft()
                running[_submit(executor, suspect, recording)] = suspect
            while not suspects and not alone and waiting and len(running) < most:
                experiment = waiting.popleft()
                running[_submit(executor, experiment, recording)] = experiment
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                experiment = running.pop(future)
                error = CancelledError() if future.cancelled() else future.exception()
                if error is None:
                    yield result_from(future.result())
                elif isinstance(error, BrokenExecutor) and not alone:
                    suspects.append(experiment)
                else:
                    state, reason = _why_lost(error, executor)
                    yield RunSummary(experiment, state, reason=reason)
    finally:
        for future in running:
            future.cancel()


def _submit(executor: Executor, experiment: Experiment, recording: Recording) -> Future:
    wanted = paths_of(recording.metrics), recording.checkpoints
    try:
        text, added = to_json(experiment), added_classes(experiment)
        return executor.submit(carry_out_text, text, added, *wanted)
    except WorkersError:
        raise
    # From executors of any kind; any error becomes a row with its reason.
    except Exception as error:
        future: Future = Future()
        future.set_exception(error)
        return future


def _why_lost(error: BaseException, executor: Executor | None) -> tuple[str, str]:
    """Return state and reason of a run without a result."""
    if isinstance(error, OptionError):
        return "refused", str(error)
    if isinstance(error, AttnlabError):
        return "failed", str(error)
    if isinstance(error, BrokenExecutor) and isinstance(executor, Processes):
        return (
            "failed",
            "Its worker process was killed twice, the second time while it ran nothing else.",
        )
    if isinstance(error, BrokenExecutor | CancelledError):
        return "interrupted", "The workers have stopped. Start the comparison again with new ones."
    return "failed", in_words(error)
