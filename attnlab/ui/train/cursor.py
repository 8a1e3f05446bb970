"""The one step that every panel of the Train page shows."""

import bisect
from typing import NamedTuple

import streamlit as st

from attnlab.charts import HOVER
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.schedule import schedule

NOW = "now"
LOSS_CHART = "loss_chart"


class Moment(NamedTuple):
    """A run at one step: its test there, and the model that was kept at that step or before.

    `is_now` for the newest step, which moves while the run trains.
    """

    step: int
    evaluation: Evaluation
    model: AbstractModel
    model_step: int
    is_now: bool


def draw_scrubber(snapshot: Snapshot) -> None:
    """The slider through the run: a step that is shown everywhere, or now."""
    # All steps of the plan from the first moment on, so that the slider never jumps.
    planned = schedule(snapshot.experiment.training.steps).checkpoints
    kept = {step for step, _ in snapshot.history.checkpoints}
    options = [*sorted(kept.union(s for s in planned if s > snapshot.step)), NOW]
    st.select_slider(
        "shown step",
        options,
        # Where a slider stands in a browser that has heard nothing else, or at a step that is gone.
        value=NOW,
        key="shown_step",
        persist_state="session",
        format_func=lambda step: step if step == NOW else f"{step:,}",
        help="Scrub through training, or point at a step of the chart: all panels show that step. "
        "At “now” they follow the run.",
    )


def shown_moment(snapshot: Snapshot) -> Moment:
    """The step pointed at, else the one scrubbed to, else now."""
    tests, models = dict(snapshot.history.tests), snapshot.history.checkpoints
    step = _hovered_step()
    if step not in tests:
        step = st.session_state.get("shown_step", NOW)
    if step not in tests or not models:
        latest = snapshot.latest
        return Moment(latest.step, latest.evaluation, latest.model, latest.step, is_now=True)
    place = bisect.bisect_right([kept for kept, _ in models], step) - 1
    model_step, model = models[max(place, 0)]
    return Moment(step, tests[step], model, model_step, is_now=False)


def _hovered_step() -> int | None:
    state = st.session_state.get(LOSS_CHART)
    points = state["selection"].get(HOVER, []) if state else []
    return int(points[0]["step"]) if points else None
