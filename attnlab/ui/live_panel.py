"""The part of the Train page that moves: status, curve, pattern and figures of the run."""

import streamlit as st

from attnlab.live import LiveRun
from attnlab.optimum import ladder, optimum
from attnlab.snapshot import Snapshot
from attnlab.ui.figures_panel import draw_figures, draw_headline
from attnlab.ui.inside_panel import NOW, draw_inside, draw_scrubber, draw_sequence_choice
from attnlab.ui.knowledge import ask
from attnlab.ui.loss_panel import draw_loss, draw_reference_choice, draw_target
from attnlab.ui.shown import session_shown
from attnlab.ui.transport import draw_status


def draw_live(run: LiveRun) -> None:
    """Everything that changes while the run trains, four times a second."""
    waiting = _is_waiting(run.snapshot())
    # Below half a second Streamlit does not fade what it draws again.
    st.fragment(_draw, key="live", run_every=0.25 if waiting else None)(run, waiting)


def _is_waiting(snapshot: Snapshot) -> bool:
    """Whether more is to come: from the run, or from those who work out the optimum."""
    experiment = snapshot.experiment
    answers = [ask(f, experiment.generator, experiment.length) for f in (optimum, ladder)]
    return snapshot.active or not all(answer.done() for answer in answers)


def _draw(run: LiveRun, was_waiting: bool) -> None:
    snapshot = run.snapshot()
    if was_waiting and not _is_waiting(snapshot):
        # The buttons outside must hear of the end, and the timer stop.
        st.rerun()
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        draw_status(snapshot)
        if snapshot.latest is not None:
            draw_headline(snapshot)
    # Always there, so that what stands behind it never changes its place.
    with st.container():
        if snapshot.state == "failed":
            st.error(snapshot.message, icon=":material/error:")
    st.progress(snapshot.step / snapshot.experiment.training.steps)
    if snapshot.latest is None:
        _draw_instructions(snapshot)
        return
    # The controls decide what the charts above them show.
    charts = st.container()
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    with left:
        step = draw_scrubber(snapshot)
    with right:
        sequence = draw_sequence_choice(snapshot)
    draw_figures(snapshot)
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        rungs = draw_reference_choice(snapshot)
        draw_target(run, snapshot)
    shown = session_shown()
    shown.rungs, shown.step, shown.sequence = rungs, step, sequence
    left, right = charts.columns([3, 2], gap="medium")
    with left:
        draw_loss(snapshot, rungs, None if step == NOW else step)
    with right:
        draw_inside(snapshot, step, sequence)


def _draw_instructions(snapshot: Snapshot) -> None:
    if snapshot.state == "compiling":
        st.info(
            "Drawing the data and compiling the training program. This happens once for every "
            "shape of model; a long `ndays` or `dotmod` also computes its exact law first.",
            icon=":material/hourglass_top:",
        )
    elif snapshot.state == "idle":
        st.info(
            "Choose a generator and a model in the sidebar, then press **Start** (or the key S) "
            "and watch the model learn. The loss curve and the attention pattern appear here.",
            icon=":material/play_circle:",
        )
