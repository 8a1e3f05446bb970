"""The loss chart of the film, the stop near the floor, and what earlier runs learned."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from attnlab.charts import past_css
from attnlab.comparisons.intervals import FEWEST_FOR_BAND, CurveOverSeeds
from attnlab.configuration.number_text import show_estimate
from attnlab.film import curve_data, curves_of, level_data, scale_in_words, shipped_film
from attnlab.live.live_run import LiveRun
from attnlab.optimum import baselines_of, optimum
from attnlab.runs.run_summary import RunSummary
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.shares import learned_share
from attnlab.ui.core.figures import figure, known_losses
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import current_name
from attnlab.ui.train.repeat import draw_curve_choice

# A run near the floor is stopped when its loss is at most this many times the floor.
TARGET = 1.01
# In nats, for floors near zero: 1 % of zero would never be reached.
_LEAST_TARGET = 0.01
# The most earlier runs whose shares learned are named.
_MOST_EARLIER = 5
# With more seeds, their curves are not drawn.
_MOST_SEEDS = 10
# Dash patterns of earlier runs, which thus differ in more than colour.
_PAST_DASHES = ("9 2", "2 2", "9 2 2 2", "2 5", "14 3")


class LossChoice(NamedTuple):
    """The user's choice for the loss chart: its step axis, its baselines, and the other seeds."""

    logarithmic: bool
    baselines: Sequence[str]
    seeds: CurveOverSeeds | None


def draw_loss_choice(run: LiveRun, snapshot: Snapshot) -> LossChoice:
    """Draw the switches of the loss chart, and the one that pauses the run near the floor."""
    experiment, word = snapshot.experiment, snapshot.experiment.generator.position_word
    logarithmic = st.toggle(
        "logarithmic steps",
        key="log_steps",
        persist_state="session",
        help="Spreads out the first steps, in which most is learned.",
    )
    wanted = st.toggle(
        f"stop within 1 % of the {experiment.generator.best_words.floor}",
        key="stop_at_target",
        persist_state="session",
        help="Pauses the run when its test loss is at most 1 % above that of the "
        + ("true probabilities." if experiment.generator.has_law else "best reference predictor.")
        + " The target loss is never below 0.01 nats.",
    )
    test = None if snapshot.latest is None else snapshot.latest.evaluation
    run.stop_at(target_of(experiment, test) if wanted else None)
    baselines, chosen = figure(baselines_of, experiment.generator, experiment.length), ()
    if baselines is None:
        st.caption(":material/hourglass_top: Computing baselines …")
    else:
        chosen = st.pills(
            "baselines on the loss chart",
            [baseline.name for baseline in baselines[1:-1]],
            selection_mode="multi",
            key="rungs",
            persist_state="session",
            help="Losses of the best predictors with less information. unigram: the distribution "
            f"of the final {word} alone. order-k: the last k {word}s. linear: the best linear "
            f"predictor from all {word}s."
            if experiment.generator.has_law
            else "Losses of reference predictors on the held-out blocks. Processes lists them.",
        )
    seeds = draw_curve_choice(experiment)
    return LossChoice(logarithmic, chosen, seeds)


def target_of(experiment: Experiment, test: Evaluation | None) -> float | None:
    """Return the test loss at which to stop, in nats, or None while the floor is not known.

    The floor here is the loss of the exact predictions on the same test sequences, so that sampling
    noise cancels.
    """
    known = figure(optimum, experiment.generator, experiment.length)
    if known is None:
        return None
    floor = of_test = known.final.nll
    if test is not None and test.excess is not None:
        # Rounded, so that the value is the same at every evaluation.
        of_test = round(test.nll - test.excess, 9)
    return of_test + max((TARGET - 1) * floor, _LEAST_TARGET - floor)


def loss_data(snapshot: Snapshot, choice: LossChoice, past: Sequence[RunSummary]) -> dict[str, Any]:
    """Return the film's loss chart: curves of this run, past runs and other seeds, known losses."""
    history, hidden = snapshot.history, session().hidden_runs
    if snapshot.latest is not None:
        history = dataclasses.replace(
            history,
            tests=tuple(
                (dict(history.tests) | {snapshot.latest.step: snapshot.latest.evaluation}).items()
            ),
        )
    curves = [
        curve_data(run.name, ((step, test.nll) for step, test in run.tests), past_css(run.number))
        for run in past
        if run.number not in hidden
    ]
    dashes = itertools.cycle(_PAST_DASHES)
    curves = [each | {"thin": True, "dash": next(dashes)} for each in curves]
    seeds, bands = seeds_data(choice.seeds) if choice.seeds else ([], [])
    ends = (each["points"][-1][0] for each in curves if each["points"])
    known = known_losses(snapshot.experiment, choice.baselines).items()
    levels = [level_data(name, best) for name, best in known]
    process, length = snapshot.experiment.generator, snapshot.experiment.length
    if figure(optimum, process, length) is None and (film := shipped_film(snapshot.experiment)):
        levels = film["levels"]
    return {
        "curves": [*curves_of(history), *curves, *seeds],
        "bands": bands,
        "levels": levels,
        "changes": [[change.step, str(change)] for change in history.changes],
        "end": max([snapshot.experiment.training.steps, *ends]),
        "log": choice.logarithmic,
        "scale": scale_in_words(snapshot.experiment, figure(baselines_of, process, length)),
        "lossSays": _alternative(snapshot, past),
    }


def runs_beside(experiment: Experiment) -> list[RunSummary]:
    """Return the earlier runs of the session on the same process: other losses do not compare."""
    process = experiment.generator, experiment.length
    return [
        past
        for past in session().past_runs
        if past.experiment != experiment
        and (past.experiment.generator, past.experiment.length) == process
    ]


def seeds_data(seeds: CurveOverSeeds) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the mean curve and that of each seed, and the band of the mean if there are enough.

    With many seeds there are no single curves, since they would hide the mean.
    """
    mean = [(step, each.mean) for step, each in zip(seeds.steps, seeds.intervals, strict=True)]
    few = seeds.each if len(seeds.each) <= _MOST_SEEDS else {}
    each = [
        curve_data(f"seed {seed}", zip(seeds.steps, values, strict=True), "var(--training)")
        for seed, values in few.items()
    ]
    band = {
        "points": list(seeds.steps),
        "low": [each.low for each in seeds.intervals],
        "high": [each.high for each in seeds.intervals],
    }
    curves = [curve_data("mean over seeds", mean, "var(--cursor)"), *each]
    return [each | {"thin": True} for each in curves], [band] * (len(seeds.each) >= FEWEST_FOR_BAND)


def _alternative(snapshot: Snapshot, past: Sequence[RunSummary]) -> str:
    """Return the chart's text alternative."""
    if snapshot.latest is None:
        return "Loss against step."
    experiment, latest = snapshot.experiment, snapshot.latest
    subject = f"Loss against step: {experiment.model.name} on {experiment.generator.name}."
    best = figure(optimum, experiment.generator, experiment.length)
    test = show_estimate(latest.evaluation.nll, latest.evaluation.nll_stderr)
    figures = [f"Test loss {test} nats at step {latest.step:,}."]
    if best is not None:
        floor, estimated = best.final, "" if best.final.exact else " (estimated)"
        name = experiment.generator.best_words.floor
        nll = show_estimate(floor.nll, floor.nll_stderr)
        figures.append(f"The {name} is {nll} nats{estimated}.")
    figures += [
        f"Before: {run.name}, {run.tests[-1][1].nll:.3f} nats." for run in past if run.tests
    ]
    return " ".join([subject, *figures])


def walk_of(run: LiveRun, snapshot: Snapshot, test: Evaluation | None) -> tuple[str, str] | None:
    """Return what each run on the process of the current one learned, and its error, in words.

    `test` is the evaluation of the current run that is shown, if there is one. None for a first
    run.
    """
    current = snapshot.experiment
    process, vocab = (current.generator, current.length), current.generator.vocabulary.size
    best = figure(optimum, *process)
    tests = [
        (past.name, past.evaluation) for past in runs_beside(current) if past.evaluation is not None
    ]
    if best is None or not tests or not snapshot.step:
        return None
    names, errors = [], []
    for name, evaluation in [*tests[-_MOST_EARLIER:], (current_name(run), test)]:
        share = None if evaluation is None else learned_share(evaluation, best.final, vocab)
        percent = ""
        if share is not None:
            percent = f" {100 * share.share:.0f} %".replace("-", "−")
            errors.append(100 * share.stderr)
        names.append(as_text(name) + percent)
    return (
        f"Learned: {' → '.join(names[:-1])} → **{names[-1]}**",
        "Share of what can be learned, by earlier runs of this session and by this one. "
        f"Its largest standard error over the test sequences is {max(errors, default=0):.1f} "
        "percentage points.",
    )
