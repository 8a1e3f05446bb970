"""A run of the library as a row of a table."""

import functools
import math
from datetime import timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import streamlit as st

from attnlab.configuration.number_text import show_measured
from attnlab.optimum import Best, optimum
from attnlab.runs.differences import changes_between
from attnlab.runs.library import Entry
from attnlab.training.experiment import Experiment
from attnlab.training.shares import learned_share
from attnlab.ui.core.process_figures import answer_or_none

# As many as a thumbnail has room for.
_POINTS = 40
_MOST_LETTERS = 60
# Of the settings that stand in tables; to work one out takes as long as to read its run.
_MOST_REMEMBERED = 1_000
NOTHING = "–"


def best_of(experiment: Experiment) -> Best | None:
    """The optimum of its process, if that is known already; asked for in any case."""
    known = answer_or_none(optimum, experiment.generator, experiment.length)
    return None if known is None else known.final


def name_of(entry: Entry) -> str:
    """The user's, or its number."""
    return entry.name or f"run {entry.number}"


@functools.lru_cache(_MOST_REMEMBERED)
def own_settings(experiment: Experiment) -> str:
    """What is not at the default of its process and model, other than length and seed."""
    plain = Experiment(
        generator=type(experiment.generator)(),
        model=type(experiment.model)(),
        length=experiment.length,
        seed=experiment.seed,
    )
    return ", ".join(
        f"{change.label} {change.after}"
        if len(change.after) <= _MOST_LETTERS
        else f"own {change.label}"
        for change in changes_between(plain, experiment)
    )


def figures_of(entry: Entry) -> dict[str, str]:
    """Its test figures with their standard errors, by their names."""
    test, experiment = entry.result.evaluation, entry.result.experiment
    if test is None or not math.isfinite(test.nll):
        return dict.fromkeys(("loss (nats)", "accuracy", "learned"), NOTHING)
    best = best_of(experiment)
    learned = best and learned_share(test, best, experiment.generator.vocabulary.size)
    return {
        "loss (nats)": show_measured(test.nll, test.nll_stderr),
        "accuracy": show_measured(test.accuracy, test.accuracy_stderr),
        "learned": f"{show_measured(100 * learned.share, 100 * learned.stderr, most_places=0)} %"
        if learned
        else NOTHING,
    }


def thumbnail_of(entry: Entry) -> list[float] | None:
    """Its test loss at even distances of steps: 1 is a uniform guess, 0 the floor.

    None without two tests, and where the floor is not known yet or nothing can be learned.
    """
    experiment, tests = entry.result.experiment, entry.result.tests
    best, uniform = best_of(experiment), np.log(experiment.generator.vocabulary.size)
    tests = [(step, test) for step, test in tests if math.isfinite(test.nll)]
    if best is None or len(tests) < 2 or learned_share(best, best, _vocab(experiment)) is None:
        return None
    steps = [step for step, _ in tests]
    shares = [(test.nll - best.nll) / (uniform - best.nll) for _, test in tests]
    even = np.interp(np.linspace(0, steps[-1], _POINTS), steps, shares)
    # The browser would stretch what reaches beyond the field to its height.
    return even.clip(0, 1).round(3).tolist()


def _vocab(experiment: Experiment) -> int:
    return experiment.generator.vocabulary.size


def browser_zone() -> ZoneInfo | None:
    """Return the time zone of the browser, or None if it names none that is known here."""
    try:
        return ZoneInfo(st.context.timezone or "")
    except (ZoneInfoNotFoundError, ValueError):
        return None


def ago(past: timedelta) -> str:
    """How long ago that was, in its largest unit."""
    seconds = max(0, past.total_seconds())
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            many = int(seconds // size)
            return f"{many:,} {unit}{'s' if many > 1 else ''} ago"
    return "just now"
