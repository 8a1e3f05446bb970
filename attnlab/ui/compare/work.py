"""The runs of a comparison at work in the background."""

import dataclasses
import time
from collections.abc import Iterator
from typing import NamedTuple

from attnlab.comparisons.many import run_all
from attnlab.comparisons.planning.estimate import seconds_of
from attnlab.runs.differences import Identity, identity_of
from attnlab.runs.library import Library, LibraryError
from attnlab.runs.result import Result
from attnlab.training.experiment import Experiment
from attnlab.training.limits import Limits
from attnlab.ui.compare.plan import Plan

# Before that the speed of the first runs, which compile, says little of the others.
_SECONDS_TO_TELL = 3.0


class ComparisonProgress(NamedTuple):
    """What came so far; `known` of the results were there before.

    `share` is that of the work which is done, and `seconds_left` how long the rest takes at the
    speed so far, None before that is known. `slower` is how many times as long the runs took as was
    thought. `problem` says why results are not kept in the library.
    """

    results: tuple[Result, ...] = ()
    known: int = 0
    share: float = 0.0
    seconds_left: float | None = None
    slower: float | None = None
    problem: str = ""


def compare(
    plan: Plan, library: Library, limits: Limits, held: dict[Identity, Result]
) -> Iterator[ComparisonProgress]:
    """Carry out what neither the library nor `held` has, and tell of each result as it comes.

    New results go into the library or, where that cannot be written, stay in `held` without their
    models, of which there may be many. A call with the same `held` resumes.
    """
    unique = {identity_of(experiment): experiment for experiment in plan.experiments}
    for identity, experiment in unique.items():
        if identity not in held and (known := _found(experiment, library)) is not None:
            held[identity] = known
    results = {identity: held[identity] for identity in unique if identity in held}
    left = {
        identity: seconds_of([experiment])
        for identity, experiment in unique.items()
        if identity not in results
    }
    known, whole, expected = len(results), sum(left.values()), seconds_of(unique[i] for i in left)
    progress = ComparisonProgress(tuple(results.values()), known, 0.0 if left else 1.0)
    yield progress
    began = time.monotonic()
    for result in run_all([unique[identity] for identity in left], limits=limits):
        identity = identity_of(result.experiment)
        if result.state != "refused":
            result, problem = _kept(result, library)
            progress = progress._replace(problem=problem or progress.problem)
        held[identity] = results[identity] = result
        left.pop(identity, None)
        rest, spent = sum(left.values()), time.monotonic() - began
        progress = progress._replace(results=tuple(results.values()), share=1 - rest / whole)
        if spent > _SECONDS_TO_TELL:
            progress = progress._replace(
                seconds_left=spent * rest / (whole - rest),
                slower=spent / (expected * progress.share),
            )
        yield progress


def _found(experiment: Experiment, library: Library) -> Result | None:
    try:
        entry = library.find(experiment, diverged=True)
    except LibraryError:
        # What cannot be read is made again; whether it can be kept is told then.
        return None
    return None if entry is None else entry.result


def _kept(result: Result, library: Library) -> tuple[Result, str]:
    """Return the result without its model, and why the library does not keep it, or nothing."""
    problem = ""
    try:
        library.keep(result)
    except LibraryError as error:
        problem = str(error)
    return dataclasses.replace(result, run=None), problem
