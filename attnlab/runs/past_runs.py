"""Runs before the current one, kept for comparison."""

import math
from collections.abc import Collection, Sequence

from attnlab.runs.run_summary import RunSummary
from attnlab.training.evaluation import Evaluation

MOST_RECENT = 5
# Each holds up to `MOST_CHECKPOINTS` models, so a session must not accumulate them.
MOST_PINNED = 10

_FIRST = "amber brisk calm dusky early fair gentle hazy icy jolly keen lucid mellow noble"
_SECOND = "heron otter finch badger lynx plover marten wren ibex stoat tern vole hare"


def run_name(number: int) -> str:
    """Return a short, memorable name for a run; names repeat after 182 runs."""
    first, second = _FIRST.split(), _SECOND.split()
    return f"{first[number % len(first)]} {second[number % len(second)]}"


def with_run(
    past: Sequence[RunSummary], run: RunSummary, pinned: Collection[int]
) -> tuple[RunSummary, ...]:
    """Add a run to the past runs; keep all pinned runs and the last five others."""
    runs = (*past, run)
    recent = [each.number for each in runs if each.number not in pinned][-MOST_RECENT:]
    return tuple(each for each in runs if each.number in (*recent, *pinned))


def gap_between(test: Evaluation, baseline: Evaluation) -> tuple[float, float]:
    """Return a test loss minus another, in nats, with the error of independent test sets.

    If the test sequences are the same, as for two runs of one process and seed, the true error is
    smaller.
    """
    return test.nll - baseline.nll, math.hypot(test.nll_stderr, baseline.nll_stderr)


def steps_to(run: RunSummary, nll: float) -> int | None:
    """Return the first step whose test loss was at most `nll`, or None."""
    return next((step for step, test in run.tests if test.nll <= nll), None)
