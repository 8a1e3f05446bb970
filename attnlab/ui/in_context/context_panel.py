"""The charts of the In context page: loss by position, heads, and the algorithm that is nearest."""

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.inspection.strategies import has_references
from attnlab.runs.snapshot import Snapshot
from attnlab.training.presets import PRESETS
from attnlab.ui.controls.form_state import read_form
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.in_context.heads_panel import draw_head_map, draw_head_table, draw_heads
from attnlab.ui.in_context.measures import (
    check_can_measure,
    measured_at,
    missing,
    references_for,
)
from attnlab.ui.in_context.strategies_panel import (
    draw_distances,
    draw_loss_by_position,
    draw_mixture,
)
from attnlab.ui.train.bench import Bench
from attnlab.ui.train.cursor import is_replaying, shown_moment, with_starting_point
from attnlab.ui.train.welcome import draw_preset_choice

_SECONDS = 0.5


def draw_in_context(bench: Bench) -> None:
    """Draw the charts; redraw them during training and replays."""
    form = read_form()
    if not isinstance(form, OptionError) and not has_references(form.generator):
        presets = {n: p for n, p in PRESETS.items() if has_references(p.experiment.generator)}
        draw_preset_choice(
            "**In the selected process, all sequences have the same rule.** Choose a process with "
            "a rule for each sequence. The current run stays until you press Start.",
            presets,
        )
        return
    draw_while(
        lambda: _moves(bench.run.snapshot()),
        lambda: _draw(bench.run.snapshot()),
        key="in_context",
        seconds=_SECONDS,
    )


def _moves(snapshot: Snapshot) -> tuple[bool, ...]:
    reasons = snapshot.active, is_replaying(), bool(missing(snapshot))
    return reasons if any(reasons) else ()


def _draw(snapshot: Snapshot) -> None:
    experiment = snapshot.experiment
    if not has_references(experiment.generator):
        st.caption("The current run's sequences all have the same rule. Press **Start** to train.")
        return
    try:
        check_can_measure(experiment)
    except OptionError as error:
        st.caption(str(error))
        return
    with st.spinner("Building the untrained model …"):
        snapshot = with_starting_point(snapshot)
    if snapshot.latest is None or snapshot.probes is None:
        st.caption(":material/hourglass_top: Preparing the run …")
        return
    with st.spinner("Computing the exact predictions …"):
        references = references_for(experiment)
    moment = shown_moment(snapshot)
    step, measured, course = measured_at(snapshot, references, moment)
    word = experiment.generator.position_word
    with st.container(key="in_context_charts"):
        left, right = st.columns(2, gap="medium")
        with left:
            draw_loss_by_position(references, measured, step, word)
        with right:
            draw_heads(measured, course)
        left, right = st.columns(2, gap="medium")
        with left:
            draw_distances(references, course)
        with right:
            draw_mixture(references, measured, course, step)
        left, right = st.columns(2, gap="medium")
        with left:
            draw_head_map(experiment, moment.model, measured, snapshot.probes[0])
        with right:
            draw_head_table(measured, course)
