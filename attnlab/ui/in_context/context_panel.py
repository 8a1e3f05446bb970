"""The tab “Which algorithm”: the nearest reference predictor, and the heads that implement it."""

from functools import partial

import streamlit as st

from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import present
from attnlab.inspection.predictions import check_predicts_all
from attnlab.known_results import KNOWN_RESULTS, number_label
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.in_context.ablation_panel import draw_ablations
from attnlab.ui.in_context.clamp_panel import draw_clamp
from attnlab.ui.in_context.heads_panel import draw_head_table, draw_heads
from attnlab.ui.in_context.measures import (
    measured_at,
    missing,
    references_for,
)
from attnlab.ui.in_context.strategies_panel import (
    draw_answer,
    draw_distances,
    draw_mixture,
)
from attnlab.ui.in_context.text_panel import draw_text
from attnlab.ui.train.course import draw_over_training, with_model
from attnlab.ui.train.cursor import shown_moment
from attnlab.ui.train.tabs import ALGORITHM, TABS
from attnlab.ui.train.training_page import Bench


def draw_in_context(bench: Bench) -> None:
    """Draw the charts; redraw them during training and replays."""
    draw_over_training(bench.run, TABS[ALGORITHM], _draw, missing)


def _draw(snapshot: Snapshot) -> None:
    experiment = snapshot.experiment
    check_predicts_all(experiment)
    snapshot = with_model(snapshot)
    tokens = present(snapshot.probes)[0]
    references = references_for(experiment)
    moment = shown_moment(snapshot)
    step, measured, course = measured_at(snapshot, references, moment)
    charts = [
        partial(draw_heads, measured, course),
        partial(draw_distances, references, course),
        partial(draw_mixture, references, measured, course, step),
        partial(draw_head_table, measured, course),
    ]
    with st.container(key="in_context_charts"):
        if not snapshot.step and not snapshot.active:
            st.caption(
                ":material/play_circle: **The model is not trained yet.** Train it to see which "
                "reference predictor it approaches, and what its heads attend to."
            )
        else:
            draw_answer(references, measured.found, step)
        # Curves over training would have one point.
        for at in range(0, len(charts) if len(course.steps) > 1 else 0, 2):
            for column, draw in zip(st.columns(2, gap="medium"), charts[at : at + 2], strict=True):
                with column:
                    draw()
        _draw_over_seeds(experiment)
        if measured.heads:
            at_rest = None if snapshot.active else references
            draw_text(experiment, moment.model, measured, course, tokens, at_rest)
        if measured.heads and moment.is_now and not snapshot.active:
            draw_ablations(references, moment.model, measured, course)
            draw_clamp(snapshot, measured.heads)


def _draw_over_seeds(experiment: Experiment) -> None:
    """Draw the numbers of the known result that has these settings, with more seeds."""
    for known in KNOWN_RESULTS.values():
        if known.study.setting_of(experiment) is None:
            continue
        measure, numbers = known.checks[0].measure, known.shipped_numbers
        found = {name: of[measure].values() for name, of in numbers.items() if of[measure]}
        if not found:
            continue
        # Some numbers are counts of steps.
        places = 3 if max(map(max, found.values())) < 10 else 0
        ranges = (
            f"{name} {show_range(min(each), max(each), places=places)}"
            for name, each in found.items()
        )
        name, seeds = number_label(measure).capitalize(), known.study.seeds
        st.caption(
            f"{name} over {seeds} seeds: {', '.join(ranges)} "
            f"([Known results](known_results#{known.name}))."
        )
