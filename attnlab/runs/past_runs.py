"""Runs before the current one, kept for comparison."""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

from attnlab.runs.differences import label_of_change
from attnlab.runs.snapshot import Snapshot
from attnlab.runs.storage import Run
from attnlab.training.evaluation import Evaluation

MOST_RECENT = 5
# Each holds up to `MOST_CHECKPOINTS` models, so a session must not accumulate them.
MOST_PINNED = 10

_FIRST = "amber brisk calm dusky early fair gentle hazy icy jolly keen lucid mellow noble"
_SECOND = "heron otter finch badger lynx plover marten wren ibex stoat tern vole hare"


@dataclasses.dataclass(frozen=True)
class PastRun:
    """An earlier run of a session, as it was when another run replaced it.

    `number` counts the runs of a session from 1. A `hidden` run is not on the chart; a `pinned` one
    stays when newer runs come, and the first pinned one is the baseline of all others.
    """

    number: int
    name: str
    label: str
    snapshot: Snapshot
    stored: Run
    hidden: bool = False
    pinned: bool = False


def run_name(number: int) -> str:
    """Return a short, memorable name for a run; names repeat after 182 runs."""
    first, second = _FIRST.split(), _SECOND.split()
    return f"{first[number % len(first)]} {second[number % len(second)]}"


def with_run(
    past: Sequence[PastRun], snapshot: Snapshot, stored: Run, *, number: int
) -> tuple[PastRun, ...]:
    """Add a run to the past runs; keep all pinned runs and the last five others."""
    before = past[-1].stored.experiment if past else None
    new = PastRun(
        number=number,
        name=run_name(number),
        label=label_of_change(before, stored.experiment),
        snapshot=snapshot,
        stored=stored,
    )
    runs = (*past, new)
    recent = [run.number for run in runs if not run.pinned][-MOST_RECENT:]
    return tuple(run for run in runs if run.pinned or run.number in recent)


def changed_run(past: Sequence[PastRun], number: int, **changes: object) -> tuple[PastRun, ...]:
    """Return the past runs with `changes` to the fields of one run, such as its name."""
    return tuple(
        dataclasses.replace(run, **changes) if run.number == number else run for run in past
    )


def without_run(past: Sequence[PastRun], number: int) -> tuple[PastRun, ...]:
    """Return the past runs without run `number`."""
    return tuple(run for run in past if run.number != number)


def may_be_pinned(past: Sequence[PastRun]) -> bool:
    """Return whether one more run can be pinned."""
    return sum(run.pinned for run in past) < MOST_PINNED


def baseline_of(past: Sequence[PastRun]) -> PastRun | None:
    """Return the first pinned run, with which the others are compared, or None."""
    return next((run for run in past if run.pinned), None)


class Gap(NamedTuple):
    """A test loss minus another, in nats, and its standard error."""

    nll: float
    stderr: float


def gap_between(test: Evaluation, baseline: Evaluation) -> Gap:
    """Return the difference of two test losses, with the error of independent test sets.

    If the test sequences are the same, as for two runs of one process and seed, the true error is
    smaller.
    """
    error = math.hypot(test.nll_stderr, baseline.nll_stderr)
    return Gap(test.nll - baseline.nll, error)


def steps_to(snapshot: Snapshot, nll: float) -> int | None:
    """Return the first step whose test loss was at most `nll`, or None."""
    return next((step for step, test in snapshot.history.tests if test.nll <= nll), None)
