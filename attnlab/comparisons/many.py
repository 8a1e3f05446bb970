"""Many runs, each carried out once: here, in other processes, or on other machines."""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import suppress

from attnlab.comparisons.execution.one_run import carry_out
from attnlab.comparisons.execution.worker import by_program, carry_out_text, result_from
from attnlab.comparisons.processes import Processes, WorkersError
from attnlab.configuration.options import OptionError
from attnlab.configuration.records import check_registered
from attnlab.generators import AbstractTask
from attnlab.generators.interruption import Stopped
from attnlab.inspection.targets import exact_match_of
from attnlab.runs.library import Entry, Library, LibraryError
from attnlab.runs.result import Result
from attnlab.runs.run_file_header import RunFileError
from attnlab.training.experiment import Experiment, prepare, to_json
from attnlab.training.limits import OPEN, Limits, check_limits

# Of an executor whose workers nobody counts: enough for a cluster, few enough that what waits in
# its scheduler stays small.
_MOST_SUBMITTED = 1_000
# Of the message of an error that is not ours.
_MOST_CHARACTERS = 300


def run_all(
    experiments: Sequence[Experiment],
    executor: Executor | None = None,
    *,
    library: Library | None = None,
    again: bool = False,
    any_version: bool = False,
    limits: Limits = OPEN,
) -> Iterator[Result]:
    """Yield the result of every experiment as it comes, one result for equal experiments.

    A run that `library` holds to its end is taken from there, if the same versions of attnlab and
    JAX made it, or with `any_version` whatever made it; with `again` all are trained. Every new run
    is kept in the library before it is yielded, so that the same call resumes what was interrupted.
    Without an `executor` all runs are computed here. The workers of an executor, such as
    `Processes(2)` or that of a Dask client, need attnlab; experiments travel as JSON and runs as
    bytes. Runs of one program come one after another, so that a process compiles it once.

    Runs that diverge, are refused by `limits`, or lose their worker are results with a `reason`.
    A run whose worker process was killed is tried once more, alone. Closing the iterator cancels
    what has not begun.

    Raises:
        OptionError: at once, if a class is not registered and there is an executor or a library.
        WorkersError: before any run, if the processes of `Processes` cannot start.
        LibraryError: after the last result, if some of them could not be kept.

    >>> from attnlab import Training
    >>> small = Training(steps=5, train_size=100, test_size=100)
    >>> found = run_all([Experiment(training=small, seed=seed) for seed in (0, 1, 0)])
    >>> [(result.state, result.steps) for result in found]
    [('done', 5), ('done', 5)]
    """
    unique = dict.fromkeys(experiments)
    if executor is not None or library is not None:
        for experiment in unique:
            check_registered(experiment)

    def find(experiment: Experiment) -> Entry | None:
        if library is None or again:
            return None
        return library.find(experiment, any_version=any_version, diverged=True)

    return _run_all(unique, find, executor, library, limits)


def _run_all(
    experiments: Iterable[Experiment],
    find: Callable[[Experiment], Entry | None],
    executor: Executor | None,
    library: Library | None,
    limits: Limits,
) -> Iterator[Result]:
    asked = []
    for experiment in experiments:
        known = find(experiment)
        if known is not None:
            yield _with_exact_match(known, library)
        elif (refused := _refused(experiment, limits)) is not None:
            yield refused
        else:
            asked.append(experiment)
    ordered = by_program(asked)
    computed = _here(ordered) if executor is None else _elsewhere(ordered, executor)
    problem: LibraryError | None = None
    for result in computed:
        # A run that never began has nothing to keep, and is tried again the next time.
        if library is not None and result.run is not None:
            try:
                library.keep(result)
            except LibraryError as error:
                problem = problem or error
        yield result
    if problem is not None:
        raise problem


def _with_exact_match(entry: Entry, library: Library) -> Result:
    """The result of an entry; of a task that was kept without its exact match, with that."""
    result, process = entry.result, entry.result.experiment.generator
    known = result.exact_match is not None or result.state != "done"
    if known or not isinstance(process, AbstractTask):
        return result
    # A file that is missing or damaged is told where the run is opened.
    with suppress(RunFileError):
        if (run := library.run_of(entry.number)) is not None:
            test = prepare(result.experiment).test
            exact = exact_match_of(process, run.state.model, test)
            return dataclasses.replace(result, exact_match=exact)
    return result


def _refused(experiment: Experiment, limits: Limits) -> Result | None:
    try:
        check_limits(experiment, limits)
    except OptionError as error:
        return Result(experiment, "refused", reason=str(error))
    return None


def _here(experiments: Sequence[Experiment]) -> Iterator[Result]:
    for experiment in experiments:
        try:
            result = carry_out(experiment)
        except Stopped:
            raise
        # Such as more memory than there is; whatever goes wrong becomes a row with its reason.
        except Exception as error:
            state, reason = _why_lost(error, None)
            result = Result(experiment, state, reason=reason)
        yield result


def _elsewhere(experiments: Sequence[Experiment], executor: Executor) -> Iterator[Result]:
    most = executor.workers if isinstance(executor, Processes) else _MOST_SUBMITTED
    waiting = collections.deque(experiments)
    # Those that were lost with a worker. Which of them killed it shows when each is alone.
    suspects: collections.deque[Experiment] = collections.deque()
    running: dict[Future, Experiment] = {}
    try:
        while waiting or suspects or running:
            alone = bool(suspects) and not running
            if alone:
                suspect = suspects.popleft()
                running[_submit(executor, suspect)] = suspect
            while not suspects and not alone and waiting and len(running) < most:
                experiment = waiting.popleft()
                running[_submit(executor, experiment)] = experiment
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                experiment = running.pop(future)
                error = _error_of(future)
                if error is None:
                    yield result_from(future.result())
                elif isinstance(error, BrokenExecutor) and not alone:
                    suspects.append(experiment)
                else:
                    state, reason = _why_lost(error, executor)
                    yield Result(experiment, state, reason=reason)
    finally:
        for future in running:
            future.cancel()


def _submit(executor: Executor, experiment: Experiment) -> Future:
    try:
        return executor.submit(carry_out_text, to_json(experiment))
    except WorkersError:
        raise
    # Of executors of any kind: whatever goes wrong becomes a row with its reason.
    except Exception as error:
        future: Future = Future()
        future.set_exception(error)
        return future


def _error_of(future: Future) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as error:
        return error


def _why_lost(error: BaseException, executor: Executor | None) -> tuple[str, str]:
    """State and reason of a run that gave no result."""
    if isinstance(error, OptionError):
        return "refused", str(error)
    if isinstance(error, BrokenExecutor) and isinstance(executor, Processes):
        return "failed", "Its worker process was killed twice, the second time with no other run."
    if isinstance(error, BrokenExecutor | CancelledError):
        return "interrupted", "The workers are gone. Begin the comparison again with new ones."
    return "failed", _in_words(error)


def _in_words(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} …"
