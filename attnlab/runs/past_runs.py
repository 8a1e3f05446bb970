"""Runs before the current one, kept for comparison."""

import math
from collections.abc import Collection, Sequence

from attnlab.runs.differences import changes_between
from attnlab.runs.run_summary import RunSummary
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS

MOST_RECENT = 5
# Letters of a run's name in charts and tables.
_MOST_LETTERS = 40
# Each holds up to `MOST_CHECKPOINTS` models, so a session must not accumulate them.
MOST_PINNED = 10


def name_of(entry: RunSummary) -> str:
    """Return the user's name for a run of a library, or its number there."""
    return entry.name or f"run {entry.number}"


def short_name(experiment: Experiment, before: Experiment | None) -> str:
    """Return the short name of a preset, or the first setting that differs from the run before."""
    preset = next((each for each in PRESETS.values() if each.matches(experiment)), None)
    if preset is not None and not preset.matches(before):
        return preset.short
    changes = () if before is None else changes_between(before, experiment)
    if not changes:
        return experiment.model.name
    name = f"{changes[0].label} {changes[0].after}"
    # The values of a table would be as long as a page.
    return name if len(name) <= _MOST_LETTERS else changes[0].label


def twin_of(past: Sequence[RunSummary], experiment: Experiment) -> RunSummary | None:
    """Return the past run of an experiment whose settings did not change while it trained."""
    runs = (each for each in past if each.experiment == experiment and not _has_changes(each))
    return next(runs, None)


def with_run(
    past: Sequence[RunSummary], run: RunSummary, pinned: Collection[int]
) -> tuple[RunSummary, ...]:
    """Add a run to the past runs; keep all pinned runs and the last five others.

    If two runs have the same experiment, only the one with more steps is kept.
    """
    twins = {
        each.number: each.steps
        for each in past
        if each.experiment == run.experiment and not (_has_changes(each) or _has_changes(run))
    }
    if any(steps >= run.steps for steps in twins.values()):
        return tuple(past)
    runs = (*(each for each in past if each.number not in twins), run)
    recent = [each.number for each in runs if each.number not in pinned][-MOST_RECENT:]
    return tuple(each for each in runs if each.number in (*recent, *pinned))


def _has_changes(run: RunSummary) -> bool:
    return run.run is not None and bool(run.run.history.changes)


def gap_between(test: Evaluation, baseline: Evaluation) -> tuple[float, float]:
    """Return a test loss minus another, in nats, with the error of independent test sets.

    If the test sequences are the same, as for two runs of one process and seed, the true error is
    smaller.
    """
    return test.nll - baseline.nll, math.hypot(test.nll_stderr, baseline.nll_stderr)


def steps_to(run: RunSummary, nll: float) -> int | None:
    """Return the first step whose test loss was at most `nll`, or None."""
    return next((step for step, test in run.tests if test.nll <= nll), None)
