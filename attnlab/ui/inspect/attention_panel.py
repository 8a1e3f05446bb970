"""The tab “Where it looks”: what a model attends to, depends on, and should depend on."""

from functools import partial

import numpy as np
import streamlit as st

from attnlab.generators import as_task
from attnlab.live.live_run import LiveRun
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.figures import waiting
from attnlab.ui.inspect.cell_panel import draw_cell, draw_contributions
from attnlab.ui.inspect.edits_panel import draw_edits
from attnlab.ui.inspect.ledger_panel import draw_ledger
from attnlab.ui.inspect.lengths_panel import draw_lengths
from attnlab.ui.inspect.maps_panel import choose_sequences, draw_maps, draw_two_runs
from attnlab.ui.inspect.prediction_panel import draw_final_query
from attnlab.ui.inspect.quality_panel import draw_quality, draw_target_quality
from attnlab.ui.inspect.target_panel import draw_source_maps, draw_target
from attnlab.ui.inspect.view import View, draw_view
from attnlab.ui.train.course import draw_over_training, with_model
from attnlab.ui.train.cursor import Moment, models_before, shown_moment
from attnlab.ui.train.inside.sequence_panel import edited_sequence
from attnlab.ui.train.tabs import ATTENTION, TABS
from attnlab.ui.train.training_page import Bench

# Sequences longer than `_LONG` are redrawn less often: every token is replaced, which is slow.
_LONG, _SECONDS, _LONG_SECONDS = 24, 0.5, 2.0


def draw_attention(bench: Bench) -> None:
    """Draw the shown step of a run; while it trains, redraw its prediction alone."""
    is_long = bench.run.experiment.length > _LONG
    draw_over_training(
        bench.run,
        TABS[ATTENTION],
        partial(_draw, bench.run),
        seconds=_LONG_SECONDS if is_long else _SECONDS,
    )


def _draw(run: LiveRun, snapshot: Snapshot) -> None:
    snapshot = with_model(snapshot)
    moment, is_task = shown_moment(snapshot), snapshot.experiment.generator.writes_target
    at_rest = not (snapshot.active and moment.is_now)
    (_draw_task if is_task else _draw_sequence)(run, snapshot, moment, at_rest=at_rest)


def _test_of(run: LiveRun, *, at_rest: bool) -> np.ndarray | None:
    """Return the test sequences if the panels that need them can be drawn, else say when."""
    if not at_rest:
        st.caption(
            "Other queries, single cells, comparisons and test results appear when the run pauses "
            "or ends. Choose an earlier step to see them now."
        )
        return None
    if (test := run.test_sequences()) is None:
        st.caption("Press **Start** to train the model. Then all queries and test results appear.")
    return test


def _draw_sequence(run: LiveRun, snapshot: Snapshot, moment: Moment, *, at_rest: bool) -> None:
    experiment, model = snapshot.experiment, moment.model
    tokens = np.array(edited_sequence(snapshot))
    # The view settings are below the prediction, but are read first.
    prediction = st.container()
    if (test := _test_of(run, at_rest=at_rest)) is not None:
        st.header("What do the other queries look at?", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        sequences = None if test is None else choose_sequences(experiment, test)
        view = draw_view(model, tokens)
    with prediction:
        st.header("What does the prediction depend on?", anchor=False)
        draw_final_query(experiment, model, tokens, view, at_rest=at_rest)
    if test is None:
        return
    with waiting():
        draw_maps(experiment, model, sequences, tokens, view)
    draw_two_runs(experiment, model, tokens)
    if model.has_heads:
        draw_cell(experiment, model, tokens, view)
    if model.logits_are_a_sum:
        draw_contributions(experiment, model, tokens)
    draw_edits(experiment, model, test, models_before(snapshot, moment))
    draw_lengths(experiment, model, test)
    draw_quality(experiment, model, test)
    draw_ledger(experiment, model, moment.step)


def _draw_task(run: LiveRun, snapshot: Snapshot, moment: Moment, *, at_rest: bool) -> None:
    experiment, model = snapshot.experiment, moment.model
    task, tokens = as_task(experiment.generator), draw_target(snapshot, model)
    if (test := _test_of(run, at_rest=at_rest)) is None:
        return
    st.header("Which source tokens does each target token come from?", anchor=False)
    choice = draw_source_maps(task, model, test[:, :-1], tokens)
    if model.has_heads:
        draw_cell(experiment, model, tokens, View(shares=True, choice=choice))
    if model.logits_are_a_sum:
        draw_contributions(experiment, model, tokens)
    draw_edits(experiment, model, test, models_before(snapshot, moment))
    draw_target_quality(task, model, test)
    draw_ledger(experiment, model, moment.step)
