"""The part of the Train page that moves: status, curve, pattern and figures of the run."""

import streamlit as st

from attnlab.live.live_run import LiveRun
from attnlab.optimum import ladder, optimum
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.process_figures import is_answered
from attnlab.ui.train.cursor import draw_scrubber, shown_moment
from attnlab.ui.train.example import about, read_example
from attnlab.ui.train.figures_panel import draw_figures, draw_headline
from attnlab.ui.train.inside_panel import (
    Choice,
    draw_head_choice,
    draw_inside,
    draw_sequence_choice,
    trace_shown,
)
from attnlab.ui.train.loss_panel import draw_loss, draw_reference_choice, draw_target
from attnlab.ui.train.session_past_runs import past_runs
from attnlab.ui.train.transport import draw_status


def draw_live(run: LiveRun, snapshot: Snapshot) -> None:
    """Everything that changes while the run trains, four times a second.

    `snapshot` is what the buttons were drawn by: if the run has ended since, they must hear.
    """
    draw_while(
        lambda: _is_waiting(run.snapshot()),
        lambda: _draw(run),
        key="live",
        seconds=0.25,
        waited=_is_waiting(snapshot),
    )


def _is_waiting(snapshot: Snapshot) -> bool:
    """Whether more is to come: from the run, or from those who work out the optimum."""
    experiment = snapshot.experiment
    generator, length = experiment.generator, experiment.length
    known = [is_answered(each, generator, length) for each in (optimum, ladder)]
    return snapshot.active or not all(known)


def _draw(run: LiveRun) -> None:
    snapshot = run.snapshot()
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        draw_status(snapshot)
        if snapshot.latest is not None:
            draw_headline(snapshot)
    # Always there, so that what stands behind it never changes its place.
    with st.container():
        if snapshot.state == "failed":
            draw_error(snapshot.message)
    st.progress(snapshot.step / snapshot.experiment.training.steps)
    if snapshot.latest is None:
        _draw_instructions(snapshot)
        _draw_example()
        return
    # The controls decide what the charts above them show.
    charts = st.container()
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    with left:
        draw_scrubber(snapshot)
    moment = shown_moment(snapshot)
    with right:
        sequence = draw_sequence_choice(snapshot)
        trace = trace_shown(moment.model, snapshot, sequence)
        choice = Choice(sequence, *draw_head_choice(trace, "inside"))
    draw_figures(snapshot, moment.evaluation)
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        rungs = draw_reference_choice(snapshot)
        draw_target(run, snapshot)
    left, right = charts.columns([3, 2], gap="medium")
    with left:
        draw_loss(snapshot, rungs, None if moment.is_now else moment.step, past_runs())
    with right:
        at_rest = moment.is_now and not snapshot.active
        draw_inside(snapshot, trace, choice, at_rest=at_rest)


def _draw_instructions(snapshot: Snapshot) -> None:
    if snapshot.in_queue:
        st.info(
            "Others came first, and this server trains only so many runs at a time. Yours begins "
            "by itself when its turn comes; keep this page open.",
            icon=":material/hourglass_top:",
        )
        return
    if snapshot.state == "compiling":
        st.info(
            "Drawing the data and compiling the training program. This happens once for every "
            "shape of model; a long `ndays` or `dotmod` also computes its exact law first.",
            icon=":material/hourglass_top:",
        )
        return
    if snapshot.state == "paused":
        st.info(
            "Paused before anything was computed. Press **Start** to go on.",
            icon=":material/pause_circle:",
        )
        return
    st.info(
        "Choose a generator and a model in the sidebar, then press **Start** (or the key S) and "
        f"watch the model learn. Until then, **an example**: {about(read_example())}",
        icon=":material/play_circle:",
    )


def _draw_example() -> None:
    example = read_example()
    left, right = st.columns([3, 2], gap="medium")
    with left:
        draw_loss(example.snapshot, (), None)
    with right:
        draw_inside(example.snapshot, example.trace, Choice(0), at_rest=True)
    draw_figures(example.snapshot, example.snapshot.latest.evaluation)
