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
# `_REPLAYED` is the step that a replay is at, if there is one.
_SHOWN, _REPLAYED = "shown_step", "replayed_step"


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
    # A browser says of a slider that moves by itself where it stood a moment ago, and would take a
    # replay back to there: so that one has no key, and is not the one that a hand moves.
    if is_replaying():
        own = {"value": st.session_state[_REPLAYED], "disabled": True}
    else:
        if st.session_state.get(_SHOWN, NOW) not in options:
            st.session_state[_SHOWN] = NOW
        # The value is where it stands in a browser that has heard nothing else.
        own = {"value": NOW, "key": _SHOWN, "persist_state": "session"}
    with st.container(key="scrubber"):
        st.select_slider(
            "shown step",
            options,
            format_func=lambda step: step if step == NOW else f"{step:,}",
            label_visibility="collapsed",
            help="Scrub through training, or point at a step of the chart: all panels show that "
            "step. At “now” they follow the run.",
            **own,
        )


def draw_replay(snapshot: Snapshot) -> None:
    """The button that plays the run's history through the slider, and pauses it."""
    playing = is_replaying()
    st.button(
        "Stop" if playing else "Replay",
        key="run_replay",
        icon=":material/pause:" if playing else ":material/play_arrow:",
        disabled=snapshot.active or len(snapshot.history.checkpoints) < 2,
        on_click=_stop_replay if playing else _begin_replay,
        width=112,
    )


def is_replaying() -> bool:
    """Whether the shown step moves by itself."""
    return _REPLAYED in st.session_state


def advance_replay(snapshot: Snapshot) -> None:
    """One step of a replay, from each kept model to the next; behind the last one it ends."""
    if not is_replaying():
        return
    kept = [step for step, _ in snapshot.history.checkpoints]
    at = st.session_state[_REPLAYED]
    later = [step for step in kept if at == NOW or step > at]
    if snapshot.active or not later:
        _stop_replay()
        st.session_state[_SHOWN] = NOW
    else:
        st.session_state[_REPLAYED] = later[0]


def _begin_replay() -> None:
    st.session_state[_REPLAYED] = st.session_state.get(_SHOWN, NOW)


def _stop_replay() -> None:
    st.session_state[_SHOWN] = st.session_state.pop(_REPLAYED, NOW)


def shown_moment(snapshot: Snapshot) -> Moment:
    """The step pointed at, else the one scrubbed to, else now."""
    tests, models = dict(snapshot.history.tests), snapshot.history.checkpoints
    if is_replaying():
        step = st.session_state[_REPLAYED]
    elif (step := _hovered_step()) not in tests:
        step = st.session_state.get(_SHOWN, NOW)
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
