"""Inspect: the page of a model of a task."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from attnlab.generators import AbstractTask
from attnlab.live.live_run import LiveRun
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.inspect.cell_panel import draw_cell
from attnlab.ui.inspect.contributions_panel import draw_contributions
from attnlab.ui.inspect.edits_panel import draw_edits
from attnlab.ui.inspect.final_query_panel import draw_step, follows
from attnlab.ui.inspect.tasks.quality_panel import draw_target_quality
from attnlab.ui.inspect.tasks.source_maps_panel import draw_source_maps
from attnlab.ui.inspect.tasks.source_panel import draw_source, source_and_target
from attnlab.ui.inspect.tasks.target_panel import draw_target
from attnlab.ui.inspect.view import draw_task_view
from attnlab.ui.train.cursor import Moment, draw_scrubber, shown_moment

_SECONDS = 1.0


def is_of_task(snapshot: Snapshot) -> bool:
    """Whether the run is one of a task."""
    return isinstance(snapshot.experiment.generator, AbstractTask)


def draw_task(
    run: LiveRun, snapshot: Snapshot, earlier: Mapping[int, AbstractModel], moment: Moment
) -> None:
    """What a model makes of a source, where it looks for it, and how well it does in all."""
    experiment, task = snapshot.experiment, snapshot.experiment.generator
    tokens = source_and_target(task, snapshot.probes)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width="stretch"):
            draw_scrubber(snapshot)
        draw_source(task, snapshot.probes, tokens)
    moving = follows(snapshot, moment)
    draw_while(
        lambda: run.snapshot().active,
        lambda: _draw_target(run, snapshot, tokens),
        key="task_target",
        seconds=_SECONDS,
        waited=snapshot.active,
    )
    if moving:
        st.caption(
            "Maps, single cells, edits and test figures are of a model that stands still: pause, "
            "choose an earlier step, or wait for the end of the run."
        )
        return
    test = np.asarray(run.test_sequences())
    st.header("Target and source", anchor=False, divider="gray")
    draw_source_maps(task, moment.model, test[:, :-1], tokens)
    draw_cell(experiment, moment.model, tokens, draw_task_view(moment.model, tokens))
    draw_contributions(experiment, moment.model, tokens)
    draw_edits(experiment, moment.model, test, earlier)
    draw_target_quality(task, moment.model, test)
    st.caption(
        "Confusion, calibration and the comparison with another run are of processes whose final "
        "day alone is asked; a task is judged by whole targets."
    )


def _draw_target(run: LiveRun, before: Snapshot, tokens: np.ndarray) -> None:
    snapshot = run.snapshot()
    if snapshot.latest is None or snapshot.experiment != before.experiment:
        return
    moment = shown_moment(snapshot)
    draw_step(snapshot, moment)
    draw_target(snapshot.experiment.generator, moment.model, tokens)
