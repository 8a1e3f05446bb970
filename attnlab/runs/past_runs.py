"""Runs that were made before the present one, kept beside it for comparison."""

import dataclasses
from collections.abc import Sequence

from attnlab.runs.differences import label_of_change
from attnlab.runs.snapshot import Snapshot
from attnlab.runs.storage import Run

MOST_RECENT = 5
# Each holds up to `MOST_CHECKPOINTS` models; a session cannot pile them up without end.
MOST_KEPT = 10

_FIRST = "amber brisk calm dusky early fair gentle hazy icy jolly keen lucid mellow noble"
_SECOND = "heron otter finch badger lynx plover marten wren ibex stoat tern vole hare"


@dataclasses.dataclass(frozen=True)
class PastRun:
    """A run as it stood when another took its place.

    `number` counts the runs of a session from 1. A `hidden` one is not on the chart; a `kept` one
    stays when newer runs come.
    """

    number: int
    name: str
    label: str
    snapshot: Snapshot
    stored: Run
    hidden: bool = False
    kept: bool = False


def run_name(number: int) -> str:
    """A short name to remember a run by; it comes back after 182 runs."""
    first, second = _FIRST.split(), _SECOND.split()
    return f"{first[number % len(first)]} {second[number % len(second)]}"


def with_run(
    past: Sequence[PastRun], snapshot: Snapshot, stored: Run, *, number: int
) -> tuple[PastRun, ...]:
    """The past runs and one more; of those that are not kept, the last five stay."""
    before = past[-1].stored.experiment if past else None
    new = PastRun(
        number=number,
        name=run_name(number),
        label=label_of_change(before, stored.experiment),
        snapshot=snapshot,
        stored=stored,
    )
    runs = (*past, new)
    recent = [run.number for run in runs if not run.kept][-MOST_RECENT:]
    return tuple(run for run in runs if run.kept or run.number in recent)


def changed_run(past: Sequence[PastRun], number: int, **changes: object) -> tuple[PastRun, ...]:
    """The past runs, one of them with another name, hidden or kept."""
    return tuple(
        dataclasses.replace(run, **changes) if run.number == number else run for run in past
    )


def without_run(past: Sequence[PastRun], number: int) -> tuple[PastRun, ...]:
    """The past runs but for one."""
    return tuple(run for run in past if run.number != number)


def may_be_kept(past: Sequence[PastRun]) -> bool:
    """Whether one more can be kept."""
    return sum(run.kept for run in past) < MOST_KEPT


def steps_to(snapshot: Snapshot, nll: float) -> int | None:
    """The first step whose test loss was at most `nll`, or None."""
    return next((step for step, test in snapshot.history.tests if test.nll <= nll), None)
